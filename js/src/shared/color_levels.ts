import { diverging, NO_CHANGE, ramp, transfer } from "./color.js";
import type { Theme } from "./theme.js";
import type { Scale } from "./types.js";

/**
 * Return the table entry of the value 0: the middle entry for signed values, otherwise the first.
 */
export const zeroLevel = (signed = false) => (signed ? NO_CHANGE : 0);

/**
 * Return the function from a weight (or a difference, if `signed`) to an entry 0 to 255 of a color
 * table.
 */
export function levelOf(scale: Scale, maximum: number, signed = false): (weight: number) => number {
  const place = transfer(scale);
  const zero = zeroLevel(signed);
  const steps = signed ? 127 : 255;
  return (weight) => {
    if (!(maximum > 0)) return zero;
    return (
      zero + Math.sign(weight) * Math.round(steps * place(Math.min(1, Math.abs(weight) / maximum)))
    );
  };
}

/** Thickness in pixels of a line at the end of the scale, for example of weight 1. */
const THICKEST = 8;

/**
 * Return the function from a weight to one of 256 steps of thickness, like `levelOf`. On the
 * absolute scale the thickness is linear in the weight, so that the area of a line is proportional
 * to its weight.
 */
export const lineLevelOf = (
  scale: Scale,
  maximum: number,
  signed = false,
): ((weight: number) => number) =>
  levelOf(scale === "absolute" ? "linear" : scale, maximum, signed);

/** Return the thickness in pixels of a line with this level. */
export const thickness = (level: number, signed = false): number =>
  signed ? (THICKEST * Math.abs(level - NO_CHANGE)) / 127 : (THICKEST * level) / 255;

/** Color tables of 256 ABGR words. Each has the background at 0. */
export interface Tables {
  first: Uint32Array;
  /** First scale while something else is highlighted. */
  faded: Uint32Array;
  second: Uint32Array;
}

/** Strength of the first scale next to a highlight. */
export const FADE = 0.3;
const channel = (word: number, shift: number) => (word >> shift) & 255;

function mix(from: number, to: number, t: number): number {
  const at = (shift: number) =>
    Math.round(channel(from, shift) + (channel(to, shift) - channel(from, shift)) * t) << shift;
  return ((255 << 24) | at(16) | at(8) | at(0)) >>> 0;
}

/** Return a color "#rrggbb" as an ABGR word. */
export function word(hex: string): number {
  const rgb = Number.parseInt(hex.slice(1), 16);
  return ((255 << 24) | (channel(rgb, 0) << 16) | (channel(rgb, 8) << 8) | channel(rgb, 16)) >>> 0;
}

/** Return the colors of a table, mixed with the background by `strength`. */
export function mixed(theme: Theme, table: Uint32Array, strength: number): Uint32Array {
  const background = word(theme.background);
  return table.map((color) => mix(background, color, strength));
}

/** Cache of ramps: heads have few colors, and hovering must not recompute their ramps. */
const ramps = new Map<string, Uint32Array>();

/** Return the ramp from the background to a color "#rrggbb". */
export function rampTo(theme: Theme, color: string): Uint32Array {
  const key = `${theme.background} ${color}`;
  const from = word(theme.background);
  const to = word(color);
  const made =
    ramps.get(key) ?? Uint32Array.from({ length: 256 }, (_, i) => mix(from, to, i / 255));
  ramps.set(key, made);
  return made;
}

export function tables(theme: Theme, signed = false): Tables {
  const first = signed ? diverging(theme) : ramp(theme);
  return {
    first,
    faded: mixed(theme, first, FADE),
    second: signed ? first : rampTo(theme, theme.second),
  };
}

export const cssWord = (color = 0) =>
  `rgb(${channel(color, 0)} ${channel(color, 8)} ${channel(color, 16)})`;
