import { decodedBytes } from "../../shared/page/embedded_maps.js";
import type { Head } from "../../shared/types.js";
import { asFloat32, asUint8, type WireArray } from "../../shared/wire.js";

export const ARRANGEMENTS = ["one", "beside", "overlay"] as const;
export type Arrangement = (typeof ARRANGEMENTS)[number];

/**
 * Maps to draw in a comparison of two attentions: both maps and the difference, or one of these.
 */
export const OF_TWO_MAPS = ["all", "difference", "first", "second"] as const;
export type OfTwoMaps = (typeof OF_TWO_MAPS)[number];

/** Complete maps of one stack, in float32, or in bytes on a page without a kernel. */
export interface Maps {
  complete: true;
  stack: string;
  quantity: string;
  unit: string;
  heads: Head[];
  exact: boolean;
  /** Largest value of each map that is stored in bytes. */
  maxima: number[];
  /** Values, [heads, queries, keys]. */
  values: WireArray;
}

/** Cache of decoded maps: a page may hold many more maps than it shows. */
const known = new WeakMap<Maps, (Float32Array | undefined)[]>();

/** Return a map, row by row, decoded if it is stored in bytes. */
export function mapAt(maps: Maps, place: number): Float32Array {
  const made = known.get(maps) ?? [];
  known.set(maps, made);
  const tables = made[place];
  if (tables) return tables;
  const [, rows = 0, cols = 0] = maps.values.shape;
  // Rounded maps of a comparison have already been decoded to float32.
  const all = maps.values.dtype === "<f4" ? asFloat32(maps.values) : asUint8(maps.values);
  const part = all.subarray(place * rows * cols, (place + 1) * rows * cols);
  const values = part instanceof Float32Array ? part : decodedBytes(part, maps.maxima[place] ?? 0);
  made[place] = values;
  return values;
}
