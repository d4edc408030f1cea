import type { Scale } from "../model/types.js";
import anchors from "./scale.json" with { type: "json" };

/** Decades that the log scale spans below the largest weight. */
export const LOG_DECADES = 3;

function build(points: number[][]): Uint32Array {
  const table = new Uint32Array(256);
  for (let i = 0; i < 256; i++) {
    const at = (i / 255) * (points.length - 1);
    const low = Math.min(Math.floor(at), points.length - 2);
    const mix = (channel: number) => {
      const a = points[low]?.[channel] ?? 0;
      const b = points[low + 1]?.[channel] ?? 0;
      return Math.round(a + (b - a) * (at - low));
    };
    // ImageData is read as bytes R, G, B, A: little-endian words hold them backwards.
    table[i] = ((255 << 24) | (mix(2) << 16) | (mix(1) << 8) | mix(0)) >>> 0;
  }
  return table;
}

const TABLES = { light: build(anchors.light), dark: build(anchors.dark) };

/** The sequential scale as 256 pixels (ABGR words); entry 0 is the background. */
export const lookup = (dark: boolean) => (dark ? TABLES.dark : TABLES.light);

/** The scale's colour at t in 0..1 for CSS and canvas. */
export function css(dark: boolean, t: number): string {
  const word = lookup(dark)[Math.round(255 * Math.max(0, Math.min(1, t)))] ?? 0;
  return `rgb(${word & 255} ${(word >> 8) & 255} ${(word >> 16) & 255})`;
}

/** Where a share of the maximum (0..1) lies on the colour scale (0..1). */
export function transfer(scale: Scale): (x: number) => number {
  if (scale === "linear") return (x) => x;
  if (scale === "sqrt") return Math.sqrt;
  return (x) => (x > 0 ? Math.max(0, 1 + Math.log10(x) / LOG_DECADES) : 0);
}

/** The inverse of `transfer`: the share of the maximum at a place on the scale. */
export function inverse(scale: Scale): (t: number) => number {
  if (scale === "linear") return (t) => t;
  if (scale === "sqrt") return (t) => t * t;
  return (t) => 10 ** ((t - 1) * LOG_DECADES);
}
