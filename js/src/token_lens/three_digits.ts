import { asFloat32, asUint8 } from "../shared/wire.js";
import type { Lens } from "./state.js";

/** Numbers of three digits in a decade, and the last code of twelve bits: that of 999. */
const STEPS = 900;
const LAST = 4095;

/** A code as a number: 0 is NaN, 1 is 0, and 2 whatever is too small for the others. */
function decoded(code: number, decade: number): number {
  if (code < 2) return code === 0 ? Number.NaN : 0;
  if (code === 2) return leastOf(decade) / 2;
  const rank = code - LAST - 1 + (decade + 1) * STEPS;
  const exponent = Math.floor(rank / STEPS);
  return Number(`${rank - exponent * STEPS + 100}e${exponent - 2}`);
}

/** The smallest number that has a code of its own. */
export const leastOf = (decade: number): number => decoded(3, decade);

/**
 * The numbers that `three_digits` in Python packed, two in three bytes; `decade` is that of the
 * largest.
 */
export function unpacked(bytes: Uint8Array, decade: number, count: number): Float32Array {
  const table = Float32Array.from({ length: LAST + 1 }, (_, code) => decoded(code, decade));
  return Float32Array.from({ length: count }, (_, i) => {
    const at = 3 * (i >> 1);
    const [a = 0, b = 0, c = 0] = [bytes[at], bytes[at + 1], bytes[at + 2]];
    return table[i % 2 ? ((b & 15) << 8) | c : (a << 4) | (b >> 4)] ?? 0;
  });
}

/** The values of a lens as numbers. */
export function valuesOf({
  values,
  shape,
  decade,
}: Pick<Lens, "values" | "shape" | "decade">): Float32Array {
  if (decade === null) return asFloat32(values);
  return unpacked(
    asUint8(values),
    decade,
    shape.reduce((a, b) => a * b, 1),
  );
}
