import { inLine } from "../shared/in_line.js";
import { type Axes, type Head, sameHead } from "../shared/types.js";
import { isTogether, type Several, severalOf } from "./several/several.js";
import { aloneText, ownPart } from "./several/two_maps.js";
import { mapsTogether, ownMap } from "./source/complete_maps.js";
import type { BlockMaps } from "./source/tile_types.js";
import type { Tiled } from "./source/tiled_map.js";
import { maskName, rowSumRange } from "./source/visible_map.js";
import type { ViewState } from "./state.js";

/** Maps with matching axes, from the last consistent state. */
export interface Shown {
  head: Head;
  quantity: string;
  unit: string;
  axes: Axes;
  /** Complete map of each drawn head, row by row; empty if the maps are loaded in parts. */
  values: Float32Array[];
  /** Loaded parts of the maps, instead of complete maps. */
  tiled?: Tiled | undefined;
  exact: boolean;
  highlighted: ViewState["_highlighted"];
  rowSums: [number, number];
  mask: string;
  /** Heads that are drawn together; absent for a single head. */
  several?: Several | undefined;
  /** Note about a head previewed by another figure; empty for a selected head. */
  peek?: string;
  /** Values from which this object was computed, to detect changes. */
  source: unknown[];
}

/** Return the complete map of the shown head; empty if only parts of it are loaded. */
export const valuesOfHead = ({ values, several }: Shown): Float32Array =>
  values[several?.last ?? 0] ?? new Float32Array();

/** Maps to draw for a state. */
interface Drawn extends Pick<Shown, "values" | "tiled" | "exact" | "source"> {
  several: Several | undefined;
}

/** Return whether maps in blocks match the state's options and these heads. */
function areOf(maps: BlockMaps, state: ViewState, heads: Head[]): boolean {
  const { _axes: axes, quantity, unit, hidden, sentences } = state;
  return (
    axes?.stack === maps.stack &&
    axes.unit === maps.unit &&
    maps.quantity === quantity &&
    maps.unit === unit &&
    String(maps.hidden) === String(hidden) &&
    maps.sentences === sentences &&
    heads.length === maps.heads.length &&
    heads.every((head, i) => sameHead(head, maps.heads[i] as Head))
  );
}

function drawnMaps(state: ViewState, head: Head): Drawn | undefined {
  const { _maps: maps, _tile: tile, _row: row } = state;
  const several = isTogether(state) ? severalOf(state) : undefined;
  const heads = several?.heads ?? [head];
  if (maps?.complete === false) {
    if (!areOf(maps, state, heads)) return undefined;
    const source = [maps, tile, row, heads.join()];
    return { several, values: [], tiled: { maps, tile, row }, exact: true, source };
  }
  const own = several ? undefined : ownMap(state, head);
  const values = several ? mapsTogether(state, heads) : own && [own];
  const from = several ? maps : tile;
  if (!values || !from) return undefined;
  return { several, values, exact: from.exact, source: [from, heads.join()] };
}

/**
 * Return the selected head's map, or the maps of all heads that are drawn together. Return `last`
 * while the loaded maps do not match the state.
 */
export function shownHeads(state: ViewState, head: Head, last: Shown | null) {
  const drawn = drawnMaps(state, head);
  if (!drawn) return { shown: last, busy: true };
  const { _axes: axes, _highlighted: highlighted, quantity, unit } = state;
  const { several, values, tiled, exact } = drawn;
  const { arrangement, wanted, names } = several ?? {};
  const source = [...drawn.source, axes, highlighted, arrangement, wanted, several?.last];
  source.push(names?.join());
  if (last && source.every((value, i) => value === last.source[i]))
    return { shown: last, busy: false };
  const shown: Shown = {
    head,
    quantity,
    unit,
    axes,
    values,
    tiled,
    exact,
    highlighted,
    several,
    source,
    rowSums: [1, 1],
    mask: aloneText(axes),
  };
  if (tiled) return { shown, busy: false };
  const isSame = last && drawn.source.every((value, i) => value === last.source[i]);
  return { shown: { ...shown, ...(isSame ? factsOf(last) : facts(shown)) }, busy: false };
}

const factsOf = ({ rowSums, mask }: Shown) => ({ rowSums, mask });

/** Return the facts about the values of complete maps that a caption needs. */
function facts(shown: Shown): Pick<Shown, "rowSums" | "mask"> {
  const { values, axes, several, mask } = shown;
  const nKeys = axes.key.text.length;
  const own = valuesOfHead(shown);
  const part = several?.names ? ownPart(own, axes) : { values: own, nKeys };
  const sums = values.map((of) => rowSumRange(of, nKeys));
  return {
    rowSums: [Math.min(...sums.map(([low]) => low)), Math.max(...sums.map(([, high]) => high))],
    mask: inLine([mask, maskName(part.values, part.nKeys)]),
  };
}
