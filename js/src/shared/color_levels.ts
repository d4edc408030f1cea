import { diverging, NO_CHANGE, ramp, transfer } from "./color.js";
import type { Theme } from "./theme.js";
import type { Scale } from "./types.js";

/** The entry that stands for nothing: the middle of a scale of differences, else the first. */
export const zeroLevel = (signed = false) => (signed ? NO_CHANGE : 0);

/**
 * The entry 0..255 of a color table that a weight is drawn with, or a difference where values are
 * `signed`.
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

/** The thickness of the line of a weight of 1, or of the end of another scale, in pixels. */
const THICKEST = 8;

/**
 * The thickness of a line in 256 steps, as `levelOf`. On the absolute scale the thickness is linear
 * in the weight, so that the area of a line is proportional to its weight.
 */
export const lineLevelOf = (
  scale: Scale,
  maximum: number,
  signed = false,
): ((weight: number) => number) =>
  levelOf(scale === "absolute" ? "linear" : scale, maximum, signed);

/** The thickness of a line of a level, in pixels. */
export const thickness = (level: number, signed = false): number =>
  signed ? (THICKEST * Math.abs(level - NO_CHANGE)) / 127 : (THICKEST * level) / 255;

/** Color tables of 256 ABGR words, all with the background at 0. */
export interface Tables {
  first: Uint32Array;
  /** The first scale where a highlight claims the eye. */
  faded: Uint32Array;
  second: Uint32Array;
}

/** How strong the first scale stays beside a highlight. */
export const FADE = 0.3;
const channel = (word: number, shift: number) => (word >> shift) & 255;

function mix(from: number, to: number, t: number): number {
  const at = (shift: number) =>
    Math.round(channel(from, shift) + (channel(to, shift) - channel(from, shift)) * t) << shift;
  return ((255 << 24) | at(16) | at(8) | at(0)) >>> 0;
}

/** A color as an ABGR word. */
export function word(hex: string): number {
  const rgb = Number.parseInt(hex.slice(1), 16);
  return ((255 << 24) | (channel(rgb, 0) << 16) | (channel(rgb, 8) << 8) | channel(rgb, 16)) >>> 0;
}

/** The colors of a table, so far from the background. */
export function mixed(theme: Theme, table: Uint32Array, strength: number): Uint32Array {
  const background = word(theme.background);
  return table.map((color) => mix(background, color, strength));
}

/** Cached ramps: heads have few colors, and hovering must not recompute the ramps. */
const ramps = new Map<string, Uint32Array>();

/** From the background to a color, "#rrggbb". */
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
