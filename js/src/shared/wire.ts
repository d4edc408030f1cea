/** An array that crossed the comm: little-endian bytes in C order, its dtype and its shape. */
export interface WireArray {
  shape: number[];
  dtype: "|u1" | "<f4" | "<i4";
  view: DataView;
}

const WIDTH = { "|u1": 1, "<f4": 4, "<i4": 4 } as const;

/** The array's own bytes, aligned to its items: hosts may hand over a slice of a larger buffer. */
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

/** State as it was stored, with the bytes of every array in place of what `viewOf` finds them by. */
export function revive(value: unknown, viewOf: (stored: unknown) => DataView): unknown {
  if (Array.isArray(value)) return value.map((item) => revive(item, viewOf));
  if (typeof value !== "object" || value === null) return value;
  const isArray = "dtype" in value && "shape" in value;
  const entries = Object.entries(value).map(([key, inner]) => [
    key,
    isArray && key === "view" ? viewOf(inner) : revive(inner, viewOf),
  ]);
  return Object.fromEntries(entries);
}
