import { clamp } from "./clamp.js";
import palette from "./palette.json" with { type: "json" };
import anchors from "./scale.json" with { type: "json" };
import type { Theme } from "./theme.js";
import type { Scale } from "./types.js";

/**
 * Exponent of the absolute scale. With 0.5, even attention is a visible wash. With 1, a weight of
 * 0.2 is hardly visible.
 */
const INK = 0.6;

/** Decades that the log scale spans below the largest weight. */
const LOG_DECADES = 3;

/** Return the color channels at `at` (0 to 1) between equally spaced colors. */
export function blend(points: number[][], at: number): number[] {
  const place = at * (points.length - 1);
  const low = Math.min(Math.floor(place), points.length - 2);
  const [from = [], to = []] = points.slice(low);
  return from.map((value, i) => Math.round(value + ((to[i] ?? 0) - value) * (place - low)));
}

function build(points: number[][], place = (i: number) => i / 255): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, i) => {
    const [red = 0, green = 0, blue = 0] = blend(points, place(i));
    // ImageData is read as bytes R, G, B, A: little-endian words hold them backwards.
    return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  });
}

const TABLES = { light: build(anchors.light), dark: build(anchors.dark) };

/** The sequential scale as 256 pixels (ABGR words); entry 0 is the background. */
export const lookup = (dark: boolean) => (dark ? TABLES.dark : TABLES.light);

const forced = new Map<string, Uint32Array>();

/**
 * Return the sequential scale of a theme. With forced colors, it runs from the system's background
 * to its text color.
 */
export function ramp(theme: Theme): Uint32Array {
  if (!theme.forced) return lookup(theme.dark);
  const key = `${theme.background} ${theme.text}`;
  const known = forced.get(key);
  if (known) return known;
  const made = build([theme.background, theme.text].map(channels));
  forced.set(key, made);
  return made;
}

/** Entry of no change, in the middle of the scale of differences: as far from 1 as from 255. */
export const NO_CHANGE = 128;

/**
 * Return the scale of differences, from decreases over gray to increases. With forced colors, it
 * runs from the highlight color over the background to the text color.
 */
export function diverging({ dark, forced, accent, background, text }: Theme): Uint32Array {
  const points = forced ? [accent, background, text] : palette[dark ? "dark" : "light"].diverging;
  return build(points.map(channels), (i) => (Math.max(i, 1) - 1) / 254);
}

/** Return red, green and blue of "#rrggbb". */
export const channels = (hex: string) =>
  [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));

/** Return the scale's color at `t` (0 to 1) as CSS text. */
export function css(theme: Theme, t: number): string {
  const word = ramp(theme)[Math.round(255 * clamp(t, 0, 1))] ?? 0;
  return `rgb(${word & 255} ${(word >> 8) & 255} ${(word >> 16) & 255})`;
}

/**
 * Return the function from a share of the largest value (0 to 1) to a position on the color scale
 * (0 to 1).
 */
export function transfer(scale: Scale): (x: number) => number {
  if (scale === "absolute") return (x) => x ** INK;
  if (scale === "linear") return (x) => x;
  if (scale === "sqrt") return Math.sqrt;
  return (x) => (x > 0 ? Math.max(0, 1 + Math.log10(x) / LOG_DECADES) : 0);
}

/**
 * Return the inverse of `transfer`, from a position on the color scale to a share of the largest
 * value.
 */
export function inverse(scale: Scale): (t: number) => number {
  if (scale === "absolute") return (t) => t ** (1 / INK);
  if (scale === "linear") return (t) => t;
  if (scale === "sqrt") return (t) => t * t;
  return (t) => 10 ** ((t - 1) * LOG_DECADES);
}

/**
 * Return the value at the end of a scale: 1 for weights on the absolute scale, otherwise the
 * largest value of everything that shares the scale.
 */
export const endOfScale = (scale: Scale, quantity: string, largest: number): number =>
  scale === "absolute" && quantity === "weights" ? 1 : largest;
