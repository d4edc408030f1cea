import type { Axes, Head } from "../shared/types.js";
import { asFloat32 } from "../shared/wire.js";
import { drawnHeads, isTwo, type Several, severalOf } from "./several.js";
import type { ViewState } from "./state.js";
import { aloneText, ownPart } from "./two_maps.js";
import { maskName, rowSumRange } from "./visible_map.js";

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
    mask: [aloneText(axes), maskName(part.values, part.nKeys)].filter(Boolean).join(" · "),
  };
  return { shown, busy: false };
}

/**
 * The map of the selected head; `last` while the kernel has not answered with one that agrees with
 * selection and axes.
 */
export function shownMap(state: ViewState, head: Head, last: Shown | null) {
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
