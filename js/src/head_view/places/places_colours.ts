import { diverging, lookup, NO_CHANGE, ramp, transfer } from "../../shared/colour.js";
import { rampTo } from "../../shared/colour_levels.js";
import type { Raster } from "../../shared/pen.js";
import { THEMES, type Theme } from "../../shared/theme.js";
import type { Scene } from "../scene.js";
import { tablesOf } from "../several/head_colours.js";

/** How much of a picture is covered where no weight falls, and where the model sees nothing. */
const DIMMED = 2 / 3;
const UNSEEN = 0.88;
/** The share of the cover that the largest weight takes away. */
const REVEALED = 3 / 4;
/** The grey on which the bar shows the cover. */
const GREY = 128;

const opaque = (alpha: number) => Math.round(255 * alpha) << 24;

/**
 * A cover over a picture in 256 levels, ABGR words with their opacity: from a dark ground, which
 * leaves a third of the picture, to a light tint, through which the picture is seen.
 */
function cover(table: Uint32Array, signed = false): Uint32Array {
  return table.map((colour, i) => {
    const share = signed ? Math.abs(i - NO_CHANGE) / 127 : i / 255;
    return ((colour & 0xffffff) | opaque(DIMMED * (1 - REVEALED * Math.min(1, share)))) >>> 0;
  });
}

/** Pictures are dimmed to dark in both themes; the reader's own colours come first. */
const paper = (theme: Theme): Theme => (theme.forced ? theme : { ...theme, dark: true });

const made = new Map<string, Uint32Array>();

function remembered(key: string, make: () => Uint32Array): Uint32Array {
  const known = made.get(key) ?? make();
  made.set(key, known);
  return known;
}

/** The covers of weights, of differences, or of weights in the colour of one of several heads. */
export function coverOf(theme: Theme, signed = false, colour?: string): Uint32Array {
  const of = paper(theme);
  const key = [of.forced, of.background, of.text, of.accent, signed, colour].join();
  return remembered(key, () => {
    const ground = { ...of, background: theme.forced ? theme.background : THEMES.dark.background };
    if (colour) return cover(rampTo(ground, colour));
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

/** A cover on a grey picture. */
function onGrey(word: number): number {
  const alpha = (word >>> 24) / 255;
  const mixed = [0, 8, 16].map(
    (shift) => Math.round(alpha * ((word >> shift) & 255) + (1 - alpha) * GREY) << shift,
  );
  return ((255 << 24) | (mixed[0] ?? 0) | (mixed[1] ?? 0) | (mixed[2] ?? 0)) >>> 0;
}

const bars = new Map<string, Raster>();
const ROWS = 2;
const TICK = 1;

/**
 * The scale of what is painted: above on a picture, below on tokens beside it. A tick in the colour
 * of the text stands at the even share, if there is one.
 */
export function placesBar(scene: Scene, even: number | undefined, signed = false): Raster {
  const { theme, state, map, colours } = scene;
  const colour = colours && theme.text;
  const hasPictures = (state._media?.pictures.length ?? 0) > 0;
  const above = coverOf(theme, signed, colour && !theme.forced ? THEMES.dark.text : colour);
  const below = signed
    ? diverging(theme)
    : colours
      ? rampTo(theme, theme.text)
      : tablesOf({ theme, map: { ...map, signed: false } }).first;
  const share = even !== undefined && map.maximum > 0 ? even / map.maximum : undefined;
  const place = signed || share === undefined ? -9 : Math.round(255 * transfer(state.scale)(share));
  const key = [
    theme.dark,
    theme.forced,
    theme.text,
    theme.background,
    signed,
    !!colours,
    place,
    hasPictures,
  ];
  const known = bars.get(key.join());
  if (known) return known;
  const words = new Uint32Array(256 * ROWS);
  for (let x = 0; x < 256; x++) {
    words[x] = hasPictures ? onGrey(above[x] ?? 0) : (below[x] ?? 0);
    words[256 + x] = below[x] ?? 0;
  }
  const [light, dark] = [0xffffffff, 0xff000000];
  for (let x = place - TICK - 1; x <= place + TICK; x++)
    for (let y = 0; y < ROWS; y++)
      if (x >= 0 && x < 256) words[y * 256 + x] = x < place ? dark : light;
  const bar = { across: 256, down: ROWS, words };
  bars.set(key.join(), bar);
  return bar;
}
