import { inverse } from "./colour.js";
import { digits } from "./numbers.js";
import { type Pen, paintRaster } from "./pen.js";
import type { Scale } from "./types.js";

/** The values at the start, the middle and the end of a colour bar. */
export function barTexts(
  scale: Scale,
  maximum: number,
  print: (x: number) => string = digits,
): [string, string, string] {
  const at = inverse(scale);
  // One digit tells an order of magnitude; three would run into the next label.
  const low = scale === "log" ? `≤${Number((at(0) * maximum).toPrecision(1))}` : "0";
  return [low, print(at(0.5) * maximum), print(maximum)];
}

/** A scale, left to right. */
export function paintBar(
  pen: Pen,
  words: Uint32Array,
  ...box: [number, number, number, number]
): void {
  paintRaster(pen, { across: 256, down: 1, words }, ...box);
}
