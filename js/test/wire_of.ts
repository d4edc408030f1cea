import type { WireArray } from "../src/shared/wire.js";

/** Return an array in the form in which it crosses the comm. */
export function wireOf(array: Uint8Array | Float32Array | Int32Array, shape: number[]): WireArray {
  const dtype = array instanceof Uint8Array ? "|u1" : array instanceof Float32Array ? "<f4" : "<i4";
  return { shape, dtype, view: new DataView(array.buffer as ArrayBuffer) };
}
