import type { Theme } from "../model/theme.js";
import type { Scale } from "../model/types.js";
import { lookup, transfer } from "./colour.js";

/** The entry 0..255 of a colour table that a weight is drawn with. */
export function levelOf(scale: Scale, maximum: number): (weight: number) => number {
  const place = transfer(scale);
  return (weight) => (maximum > 0 ? Math.round(255 * place(Math.min(1, weight / maximum))) : 0);
}

/** Colour tables of 256 ABGR words, all with the background at 0. */
export interface Tables {
  first: Uint32Array;
  /** The first scale where a highlight claims the eye. */
  faded: Uint32Array;
  second: Uint32Array;
}

const FADE = 0.35;
const channel = (word: number, shift: number) => (word >> shift) & 255;

function mix(from: number, to: number, t: number): number {
  const at = (shift: number) =>
    Math.round(channel(from, shift) + (channel(to, shift) - channel(from, shift)) * t) << shift;
  return ((255 << 24) | at(16) | at(8) | at(0)) >>> 0;
}

function word(hex: string): number {
  const rgb = Number.parseInt(hex.slice(1), 16);
  return ((channel(rgb, 0) << 16) | (channel(rgb, 8) << 8) | channel(rgb, 16)) >>> 0;
}

export function tables(theme: Theme): Tables {
  const background = word(theme.background);
  const first = lookup(theme.dark);
  const second = word(theme.second);
  return {
    first,
    faded: first.map((colour) => mix(background, colour, FADE)),
    second: Uint32Array.from({ length: 256 }, (_, i) => mix(background, second, i / 255)),
  };
}

export const cssWord = (colour = 0) =>
  `rgb(${channel(colour, 0)} ${channel(colour, 8)} ${channel(colour, 16)})`;
