import { decodedBytes } from "../../shared/page/embedded_maps.js";
import type { Head } from "../../shared/types.js";
import { asFloat32, asUint8, type WireArray } from "../../shared/wire.js";

export const ARRANGEMENTS = ["one", "beside", "overlay"] as const;
export type Arrangement = (typeof ARRANGEMENTS)[number];

/** What is drawn of a head in two attentions: both maps and the difference, or one of these. */
export const OF_TWO_MAPS = ["all", "difference", "first", "second"] as const;
export type OfTwoMaps = (typeof OF_TWO_MAPS)[number];

/**
 * The drawn maps of one stack, every cell of each: float32, or bytes as a page without a kernel
 * holds them.
 */
export interface Maps {
  complete: true;
  stack: string;
  quantity: string;
  unit: string;
  heads: Head[];
  exact: boolean;
  /** The largest value of each that is in bytes. */
  maxima: number[];
  /** [heads, queries, keys] */
  values: WireArray;
}

/** Maps that were read from their bytes: a page may hold many more than it shows. */
const known = new WeakMap<Maps, (Float32Array | undefined)[]>();

/** The map at a place, row by row: its own values, or the values that its bytes stand for. */
export function mapAt(maps: Maps, place: number): Float32Array {
  const made = known.get(maps) ?? [];
  known.set(maps, made);
  const tables = made[place];
  if (tables) return tables;
  const [, rows = 0, cols = 0] = maps.values.shape;
  // Rounded maps of two that are compared have been read from their bytes already.
  const all = maps.values.dtype === "<f4" ? asFloat32(maps.values) : asUint8(maps.values);
  const part = all.subarray(place * rows * cols, (place + 1) * rows * cols);
  const values = part instanceof Float32Array ? part : decodedBytes(part, maps.maxima[place] ?? 0);
  made[place] = values;
  return values;
}
