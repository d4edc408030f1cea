import type { MapSource } from "./map_source.js";
import { tiledMap } from "./tiled_map.js";
import type { VisibleMap } from "./visible_map.js";
import { wholeMap } from "./whole_map.js";

const made = new WeakMap<VisibleMap, MapSource>();

/** Where the values of a map come from: the page's own, or parts that the kernel sends. */
export function sourceOf(map: VisibleMap): MapSource {
  const source = made.get(map) ?? (map.tiles ? tiledMap(map, map.tiles) : wholeMap(map));
  made.set(map, source);
  return source;
}

/** The weight of a pair of tokens; NaN where it is masked, or not known. */
export function weightAt(map: VisibleMap, query: number, key: number): number {
  if (!map.tiles) return map.values[query * map.cols.length + key] ?? Number.NaN;
  const block = sourceOf(map).at({ query, key });
  return block?.step === 1 ? block.weight : Number.NaN;
}
