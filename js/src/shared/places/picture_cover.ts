import { diverging, lookup, NO_CHANGE, ramp } from "../color.js";
import { rampTo } from "../color_levels.js";
import type { Raster } from "../pen.js";
import { THEMES, type Theme } from "../theme.js";

/** How much of a picture is covered where no weight falls, and where the model sees nothing. */
const DIMMED = 0.75;
const UNSEEN = 0.92;
/** The share of the cover that the largest weight takes away. */
const REVEALED = 0.88;
/** The gray on which the bar shows the cover. */
const GREY = 128;

const opaque = (alpha: number) => Math.round(255 * alpha) << 24;

/**
 * A cover over a picture in 256 levels, ABGR words with their opacity: from a dark ground, which
 * leaves a quarter of the picture, to a light tint, through which the picture is seen.
 */
function cover(table: Uint32Array, signed = false): Uint32Array {
  return table.map((color, i) => {
    const share = signed ? Math.abs(i - NO_CHANGE) / 127 : i / 255;
    return ((color & 0xffffff) | opaque(DIMMED * (1 - REVEALED * Math.min(1, share)))) >>> 0;
  });
}

/** Pictures are dimmed to dark in both themes; the reader's own colors come first. */
const paper = (theme: Theme): Theme => (theme.forced ? theme : { ...theme, dark: true });

const made = new Map<string, Uint32Array>();

function remembered(key: string, make: () => Uint32Array): Uint32Array {
  const known = made.get(key) ?? make();
  made.set(key, known);
  return known;
}

/** The covers of weights, of differences, or of weights in the color of one of several heads. */
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

/** The cover of parts of a picture that no token is made of, or that a query may not see. */
export function unseen(theme: Theme): number {
  const [first = 0] = coverOf(theme);
  return ((first & 0xffffff) | opaque(UNSEEN)) >>> 0;
}

/** The ground behind a picture with transparent parts, and before it is decoded. */
export const groundOf = (theme: Theme): string => (theme.forced ? theme.background : "#808080");

/** A cover on a gray picture. */
export function onGrey(word: number, gray = GREY): number {
  const alpha = (word >>> 24) / 255;
  const under = (1 - alpha) * gray;
  const red = Math.round(alpha * (word & 255) + under);
  const green = Math.round(alpha * ((word >> 8) & 255) + under);
  const blue = Math.round(alpha * ((word >> 16) & 255) + under);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

const TICK = 1;

/** Color scales under each other, with a tick at a place of 0 to 255; none outside of it. */
export function tickedBar(tables: Uint32Array[], place: number): Raster {
  const words = new Uint32Array(256 * tables.length);
  for (const [row, table] of tables.entries()) words.set(table, 256 * row);
  const [light, dark] = [0xffffffff, 0xff000000];
  for (let x = place - TICK - 1; x <= place + TICK; x++)
    for (const row of tables.keys())
      if (x >= 0 && x < 256) words[row * 256 + x] = x < place ? dark : light;
  return { across: 256, down: tables.length, words };
}
