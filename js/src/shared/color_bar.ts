import { clamp } from "./clamp.js";
import { inverse } from "./color.js";
import { zeroLevel } from "./color_levels.js";
import { digits } from "./numbers.js";
import { type Pen, paintRaster, type Raster } from "./pen.js";
import type { Scale } from "./types.js";

/** The values at the start, the middle and the end of a color bar. */
export function barTexts(
  scale: Scale,
  maximum: number,
  print: (x: number) => string = digits,
): [string, string, string] {
  const at = inverse(scale);
  // One digit shows the order of magnitude; three would overlap the next label.
  const most = print(maximum);
  const [, percent = ""] = /(\u00a0%)$/.exec(most) ?? [];
  const low = Number((at(0) * maximum * (percent ? 100 : 1)).toPrecision(1));
  return [scale === "log" ? `≤${low}${percent}` : "0", print(at(0.5) * maximum), most];
}

/** Return the values along a wedge, which is linear on the absolute scale. */
export const wedgeTexts = (scale: Scale, maximum: number, print: (x: number) => string) =>
  barTexts(scale === "absolute" ? "linear" : scale, maximum, print);

const strips = new WeakMap<Uint32Array, Raster>();

/** Return a color scale as a raster that runs from left to right. */
export function strip(words: Uint32Array): Raster {
  const made = strips.get(words) ?? { across: 256, down: 1, words };
  strips.set(words, made);
  return made;
}

/** Number of rows of a wedge: one in the middle and the same number above and below. */
const ROWS = 17;

/**
 * Return a scale of line thickness that runs from left to right, in the colors of a table. Lines
 * grow from nothing to the height of the bar. With `signed`, they shrink to nothing in the middle
 * and grow again.
 */
export function wedge(table: Uint32Array, signed = false): Raster {
  const words = new Uint32Array(256 * ROWS);
  const zero = zeroLevel(signed);
  for (let x = 0; x < 256; x++) {
    const size = Math.abs(x - zero) / (signed ? 127 : 255);
    for (let y = 0; y < ROWS; y++) {
      const covered = (size * ROWS) / 2 - Math.abs(y - (ROWS - 1) / 2) + 0.5;
      const alpha = Math.round(255 * clamp(covered, 0, 1));
      if (size > 0) words[y * 256 + x] = (((table[x] ?? 0) & 0xffffff) | (alpha << 24)) >>> 0;
    }
  }
  return { across: 256, down: ROWS, words };
}

/** Draw a color bar in a box. */
export function paintBar(
  pen: Pen,
  bar: Raster,
  ...box: [x: number, y: number, width: number, height: number]
): void {
  paintRaster(pen, bar, ...box);
}
