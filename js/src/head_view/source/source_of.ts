import { wholeOf } from "../../shared/window.js";
import { blockIn, type Cells, type MapSource, StrongestPairs } from "./map_source.js";
import { tiledMap } from "./tiled_map.js";
import { maskName, type VisibleMap } from "./visible_map.js";

/** Weights that are listed of a query. */
const OF_ROW = 8;

/** A map that the page holds: it answers at once, and exactly. */
function wholeMap({ rows, cols, values, strongest }: VisibleMap): MapSource {
  const size = { rows: rows.length, cols: cols.length };
  const cells: Cells = { q0: 0, k0: 0, step: 1, ...size, values, strongest };
  const source: MapSource = {
    size,
    isWhole: true,
    overview: cells,
    cells: () => [cells],
    at: ({ query, key }) => blockIn(cells, { query, key }),
    row: (query) => ({
      query,
      step: 1,
      values: values.subarray(query * size.cols, (query + 1) * size.cols),
      strongest: source.strongest({ query }, OF_ROW),
    }),
    strongest(of, count, within = wholeOf(size)) {
      const [q0, q1, k0, k1] = within;
      const [top, bottom] = of.query === undefined ? [q0, q1] : [of.query, of.query + 1];
      const [left, right] = of.key === undefined ? [k0, k1] : [of.key, of.key + 1];
      const kept = new StrongestPairs(count);
      for (let query = top; query < bottom; query++)
        for (let key = left; key < right; key++)
          kept.add(query, key, values[query * size.cols + key] ?? Number.NaN);
      return kept.pairs;
    },
    links: undefined,
  };
  return source;
}

const made = new WeakMap<VisibleMap, MapSource>();

/** Where the values of a map come from: the page's own, or parts that the kernel sends. */
export function sourceOf(map: VisibleMap): MapSource {
  const source = made.get(map) ?? (map.tiles ? tiledMap(map, map.tiles) : wholeMap(map));
  made.set(map, source);
  return source;
}

/** What a figure should call the masked cells of a map. */
export function maskOf(map: VisibleMap): string {
  const source = sourceOf(map);
  source.mask ??= maskName(source.overview.values, source.overview.cols);
  return source.mask;
}

/** The weight of a pair of tokens; NaN where it is masked, or not known. */
export function weightAt(map: VisibleMap, query: number, key: number): number {
  if (!map.tiles) return map.values[query * map.cols.length + key] ?? Number.NaN;
  const block = sourceOf(map).at({ query, key });
  return block?.step === 1 ? block.weight : Number.NaN;
}
