import { type Size, wholeOf } from "../../shared/window.js";
import { lineOf } from "./map_lines.js";
import { blockIn, type MapSource, type Pair, StrongestPairs } from "./map_source.js";
import type { MapParts } from "./tile_types.js";
import { covers } from "./tiled_map.js";
import { maskName, type VisibleMap } from "./visible_map.js";

/** Number of weights listed for a query. */
const OF_ROW = 8;

/** Return the search for the strongest pairs in a complete map. */
function strongestCells(
  { overview: { cols, values } }: MapParts,
  size: Size,
): MapSource["strongest"] {
  return (of, count, within = wholeOf(size)) => {
    const [q0, q1, k0, k1] = within;
    const [top, bottom] = of.query === undefined ? [q0, q1] : [of.query, of.query + 1];
    const [left, right] = of.key === undefined ? [k0, k1] : [of.key, of.key + 1];
    const kept = new StrongestPairs(count);
    for (let query = top; query < bottom; query++)
      for (let key = left; key < right; key++)
        kept.add(query, key, values[query * cols + key] ?? Number.NaN);
    return kept.pairs;
  };
}

/** Return the search for the strongest known pairs in a map that is loaded in parts. */
function strongestKnown({ row, links, strongest }: MapParts): MapSource["strongest"] {
  return (of, count, within) => {
    const fits = ({ query, key }: Pair) =>
      (of.query === undefined || of.query === query) &&
      (of.key === undefined || of.key === key) &&
      (!within || (query >= within[0] && query < within[1] && key >= within[2] && key < within[3]));
    const pairs = new Map<string, Pair>();
    for (const pair of [...(row?.strongest ?? []), ...links, ...strongest]) {
      const key = `${pair.query} ${pair.key}`;
      const known = pairs.get(key);
      const isMore = !known || Math.abs(pair.weight) > Math.abs(known.weight);
      if (isMore && fits(pair)) pairs.set(key, pair);
    }
    const kept = new StrongestPairs(count);
    for (const { query, key, weight } of pairs.values()) kept.add(query, key, weight);
    return kept.pairs;
  };
}

function made(parts: MapParts, size: Size): MapSource {
  const { isComplete, overview, tile, row, chosen, links } = parts;
  const { cols, values } = overview;
  const strongest = isComplete ? strongestCells(parts, size) : strongestKnown(parts);
  return {
    size,
    isComplete,
    overview,
    cells(part) {
      if (!tile) return [overview];
      return covers(tile.tile, part) ? [tile.cells] : [overview, tile.cells];
    },
    at: (place) => (tile && blockIn(tile.cells, place)) ?? blockIn(overview, place),
    row(query) {
      if (!isComplete) return row?.query === query ? row : undefined;
      return {
        query,
        step: 1,
        values: values.subarray(query * cols, (query + 1) * cols),
        strongest: strongest({ query }, OF_ROW),
      };
    },
    chosen,
    line: (side, of, isWeights) => (isComplete ? lineOf(overview, side, of, isWeights) : chosen),
    strongest,
    links: isComplete ? undefined : links,
  };
}

const sources = new WeakMap<MapParts, MapSource>();

/** Return the source of a map's values: complete values, or parts that the kernel sends. */
export function sourceOf({ parts, rows, cols }: VisibleMap): MapSource {
  const source = sources.get(parts) ?? made(parts, { rows: rows.length, cols: cols.length });
  sources.set(parts, source);
  return source;
}

/** Return the name of a map's masked cells. */
export function maskOf(map: VisibleMap): string {
  const source = sourceOf(map);
  source.mask ??= maskName(source.overview.values, source.overview.cols);
  return source.mask;
}

/** Return the weight of a pair of tokens; NaN if it is masked or unknown. */
export function weightAt(map: VisibleMap, query: number, key: number): number {
  const block = sourceOf(map).at({ query, key });
  return block?.step === 1 ? block.weight : Number.NaN;
}
