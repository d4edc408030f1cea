/** Array that was sent over the comm: little-endian bytes in C order, with dtype and shape. */
export interface WireArray {
  shape: number[];
  dtype: "|u1" | "<f4" | "<i4";
  view: DataView;
}

/** Bytes per item. */
export const WIDTH = { "|u1": 1, "<f4": 4, "<i4": 4 } as const;

/**
 * Return the array's own bytes, aligned to its items: hosts may pass a slice of a larger buffer.
 */
function bytes(array: WireArray, dtype: WireArray["dtype"]): [ArrayBuffer, number, number] {
  const count = array.shape.reduce((a, b) => a * b, 1);
  const length = count * WIDTH[dtype];
  if (array.dtype !== dtype) throw new Error(`expected ${dtype}, got ${array.dtype}`);
  const { buffer, byteOffset, byteLength } = array.view;
  if (byteLength !== length) throw new Error(`expected ${length} bytes, got ${byteLength}`);
  if (byteOffset % WIDTH[dtype] === 0) return [buffer as ArrayBuffer, byteOffset, count];
  return [buffer.slice(byteOffset, byteOffset + length) as ArrayBuffer, 0, count];
}

export const asUint8 = (array: WireArray) => new Uint8Array(...bytes(array, "|u1"));
export const asFloat32 = (array: WireArray) => new Float32Array(...bytes(array, "<f4"));
export const asInt32 = (array: WireArray) => new Int32Array(...bytes(array, "<i4"));

/** Unchecked shape and type of a stored array. */
interface StoredArray {
  shape: unknown;
  dtype: unknown;
}

/** Return stored state with the bytes of every array, as returned by `viewOf`. */
export function revive(
  value: unknown,
  viewOf: (stored: unknown, array: StoredArray) => DataView,
): unknown {
  if (Array.isArray(value)) return value.map((item) => revive(item, viewOf));
  if (typeof value !== "object" || value === null) return value;
  const array = "dtype" in value && "shape" in value ? value : null;
  const entries = Object.entries(value).map(([key, inner]) => [
    key,
    array && key === "view" ? viewOf(inner, array) : revive(inner, viewOf),
  ]);
  return Object.fromEntries(entries);
}
