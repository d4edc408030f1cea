import { diverging, lookup, NO_CHANGE, ramp } from "../color.js";
import { rampTo } from "../color_levels.js";
import type { Raster } from "../pen.js";
import { THEMES, type Theme } from "../theme.js";

/** Opacity of the cover over parts without weight, and over parts that the model does not see. */
const DIMMED = 0.75;
const UNSEEN = 0.92;
/** Share of the cover that the largest weight removes. */
const REVEALED = 0.88;
/** Gray level on which a color bar shows the cover. */
const GREY = 128;

const opaque = (alpha: number) => Math.round(255 * alpha) << 24;

/**
 * Return a cover over a picture in 256 levels (ABGR words with opacity), from a dark cover that
 * leaves a quarter of the picture visible to a light tint.
 */
function cover(table: Uint32Array, signed = false): Uint32Array {
  return table.map((color, i) => {
    const share = signed ? Math.abs(i - NO_CHANGE) / 127 : i / 255;
    return ((color & 0xffffff) | opaque(DIMMED * (1 - REVEALED * Math.min(1, share)))) >>> 0;
  });
}

/**
 * Return the theme of the cover: pictures are dimmed to dark in both themes, unless colors are
 * forced.
 */
const paper = (theme: Theme): Theme => (theme.forced ? theme : { ...theme, dark: true });

const made = new Map<string, Uint32Array>();

function remembered(key: string, make: () => Uint32Array): Uint32Array {
  const known = made.get(key) ?? make();
  made.set(key, known);
  return known;
}

/**
 * Return the cover of weights, of differences, or of weights in the color of one of several heads.
 */
export function coverOf(theme: Theme, signed = false, color?: string): Uint32Array {
  const of = paper(theme);
  const key = [of.forced, of.background, of.text, of.accent, signed, color].join();
  return remembered(key, () => {
    const ground = { ...of, background: theme.forced ? theme.background : THEMES.dark.background };
    if (color) return cover(rampTo(ground, color));
    if (signed) return cover(diverging(of), true);
    return cover(theme.forced ? ramp(theme) : lookup(true));
  });
}

/** Return the cover of regions without a token, or that a query may not see. */
export function unseen(theme: Theme): number {
  const [first = 0] = coverOf(theme);
  return ((first & 0xffffff) | opaque(UNSEEN)) >>> 0;
}

/**
 * Return the background color of a picture, visible before decoding and through transparent parts.
 */
export const groundOf = (theme: Theme): string => (theme.forced ? theme.background : "#808080");

/** Return the color of a cover over a gray picture. */
export function onGrey(word: number, gray = GREY): number {
  const alpha = (word >>> 24) / 255;
  const under = (1 - alpha) * gray;
  const red = Math.round(alpha * (word & 255) + under);
  const green = Math.round(alpha * ((word >> 8) & 255) + under);
  const blue = Math.round(alpha * ((word >> 16) & 255) + under);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

const TICK = 1;

/**
 * Return color scales stacked vertically, with a tick at a level from 0 to 255. A level outside of
 * this range has no tick.
 */
export function tickedBar(tables: Uint32Array[], place: number): Raster {
  const words = new Uint32Array(256 * tables.length);
  for (const [row, table] of tables.entries()) words.set(table, 256 * row);
  const [light, dark] = [0xffffffff, 0xff000000];
  for (let x = place - TICK - 1; x <= place + TICK; x++)
    for (const row of tables.keys())
      if (x >= 0 && x < 256) words[row * 256 + x] = x < place ? dark : light;
  return { across: 256, down: tables.length, words };
}
