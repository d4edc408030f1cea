import { inLine } from "../shared/in_line.js";
import { type Axes, type Head, sameHead } from "../shared/types.js";
import { asFloat32 } from "../shared/wire.js";
import { drawnHeads, isTwo, type Several, severalOf, severalTiled } from "./several/several.js";
import { aloneText, ownPart } from "./several/two_maps.js";
import type { Tiled } from "./source/tiled_map.js";
import { maskName, rowSumRange } from "./source/visible_map.js";
import type { ViewState } from "./state.js";

/** A map with the axes it belongs to, as last seen to agree. */
export interface Shown {
  head: Head;
  quantity: string;
  unit: string;
  axes: Axes;
  values: Float32Array;
  exact: boolean;
  highlighted: ViewState["_highlighted"];
  rowSums: [number, number];
  mask: string;
  /** The heads that are drawn together; absent for a single head. */
  several?: Several | undefined;
  /** A note about a head that another figure points at; empty for a selected head. */
  peek?: string;
  /** Of a long input, in place of values: the parts that are there. */
  tiled?: Tiled;
  /** What it was made from: to know the next one from it. */
  source: unknown[];
}

const isTogether = (state: ViewState) =>
  isTwo(state) ||
  state.arrangement === "overlay" ||
  (state.arrangement === "beside" && drawnHeads(state).heads.length > 1);

/**
 * The selected head's map, or the maps of all heads that are drawn together; `last` while they are
 * not there.
 */
export function shownHeads(state: ViewState, head: Head, last: Shown | null) {
  if (state._long) return shownTiled(state, head, last);
  if (!isTogether(state)) return shownMap(state, head, last);
  const {
    _maps: maps,
    _axes: axes,
    _highlighted: highlighted,
    quantity,
    unit,
    arrangement,
  } = state;
  const several = severalOf(state, maps, axes);
  if (!maps || !several) return { shown: last, busy: true };
  const source = [
    maps,
    axes,
    highlighted,
    arrangement,
    several.wanted,
    several.last,
    several.heads.join(),
    several.names?.join(),
  ];
  if (last && source.every((value, i) => value === last.source[i]))
    return { shown: last, busy: false };
  const nKeys = axes.key.text.length;
  const values = several.values[several.last] ?? new Float32Array();
  const part = several.names ? ownPart(values, axes) : { values, nKeys };
  const sums = several.values.map((of) => rowSumRange(of, nKeys));
  const shown: Shown = {
    head,
    quantity,
    unit,
    axes,
    values,
    exact: maps.exact,
    highlighted,
    several,
    source,
    rowSums: [Math.min(...sums.map(([low]) => low)), Math.max(...sums.map(([, high]) => high))],
    mask: inLine([aloneText(axes), maskName(part.values, part.nKeys)]),
  };
  return { shown, busy: false };
}

/** Parts of the maps of a long input; `last` while those that are there are of other choices. */
function shownTiled(state: ViewState, head: Head, last: Shown | null) {
  const { _long: long, _tile: tile, _row: row, _axes: axes, _highlighted: highlighted } = state;
  const { quantity, unit, arrangement, sentences } = state;
  const before = { shown: last, busy: true };
  if (!long || !("values" in long) || axes?.stack !== long.stack || axes.unit !== long.unit)
    return before;
  const agrees =
    long.quantity === quantity &&
    long.unit === unit &&
    String(long.hidden) === String(state.hidden) &&
    long.sentences === sentences;
  const together = isTogether(state);
  const several = together ? severalTiled(state, long) : undefined;
  const isThere = together
    ? several !== undefined
    : long.heads.length === 1 && sameHead(long.heads[0] as Head, head);
  if (!agrees || !isThere) return before;
  const names = several?.names?.join();
  const exact = state._exact ?? null;
  const source = [
    long,
    tile,
    row,
    exact,
    axes,
    highlighted,
    arrangement,
    several?.heads.join(),
    names,
  ];
  if (last && source.every((value, i) => value === last.source[i]))
    return { shown: last, busy: false };
  const shown: Shown = {
    head,
    quantity,
    unit,
    axes,
    values: new Float32Array(),
    exact: true,
    highlighted,
    several,
    tiled: { long, tile, row, exact },
    source,
    rowSums: [1, 1],
    mask: several?.names ? aloneText(axes) : "",
  };
  return { shown, busy: false };
}

/**
 * The map of the selected head; `last` while the kernel has not answered with one that agrees with
 * selection and axes.
 */
function shownMap(state: ViewState, head: Head, last: Shown | null) {
  const { _map: map, _axes: axes, unit, quantity } = state;
  const agrees =
    map?.layer === head[0] &&
    map.head === head[1] &&
    map.stack === head[2] &&
    map.unit === unit &&
    map.quantity === quantity &&
    axes?.stack === map.stack &&
    axes.unit === unit &&
    map.values.shape[0] === axes.query.text.length &&
    map.values.shape[1] === axes.key.text.length;
  if (!agrees) return { shown: last, busy: true };
  const highlighted = state._highlighted;
  const source = [map, axes, highlighted];
  if (last && source.every((value, i) => value === last.source[i]))
    return { shown: last, busy: false };
  const kept = last && last.source[0] === map ? last : undefined;
  const values = kept?.values ?? asFloat32(map.values);
  const nKeys = axes.key.text.length;
  const shown: Shown = {
    head,
    quantity,
    unit,
    axes,
    values,
    exact: map.exact,
    highlighted,
    rowSums: kept?.rowSums ?? rowSumRange(values, nKeys),
    mask: kept?.mask ?? maskName(values, nKeys),
    source,
  };
  return { shown, busy: false };
}
