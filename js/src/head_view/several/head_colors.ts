import { FADE, mixed, rampTo, type Tables, tables } from "../../shared/color_levels.js";
import type { Theme } from "../../shared/theme.js";
import { type Head, sameHead } from "../../shared/types.js";
import type { VisibleMap } from "../source/visible_map.js";

/** Colors of Okabe and Ito, adjusted to a contrast of 3:1. The seventh is the text color. */
const OKABE_ITO = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#bf8300", "#2b98d2", "", "#948c00"],
  dark: ["#3d9ad6", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "", "#f0e442"],
};
/** Number of entries of a color table. */
export const LEVELS = 256;

/**
 * Return a color for each head. A head keeps the color of its number within the layer unless
 * another head uses it, so that removing a head changes no other color. Heads of several layers
 * take colors in order. Heads without a free color are gray, but never the `last` head.
 */
export function headColors(theme: Theme, heads: Head[], last: number): string[] {
  const palette = OKABE_ITO[theme.dark ? "dark" : "light"].map((color) => color || theme.text);
  if (theme.forced) return heads.map(() => theme.text);
  const shown = heads[last];
  const order = heads.length > palette.length && shown ? [shown, ...heads] : heads;
  const slots = new Map<Head, number>();
  const layer = heads.every((head) => head[0] === heads[0]?.[0]);
  const take = (head: Head, slot: number) => {
    const taken = slot < 0 || [...slots.values()].includes(slot);
    if (!taken && ![...slots.keys()].some((other) => sameHead(other, head))) slots.set(head, slot);
  };
  if (layer) for (const head of order) take(head, head[1] % palette.length);
  for (const head of order)
    take(
      head,
      [...palette.keys()].findIndex((slot) => ![...slots.values()].includes(slot)),
    );
  return heads.map((head) => palette[slots.get(head) ?? -1] ?? theme.muted);
}

/**
 * Return the color tables of overlaid heads, concatenated: each runs from the background to the
 * head's color.
 */
function headTables(theme: Theme, colors: string[]): Tables {
  const whole = new Uint32Array(LEVELS * colors.length);
  for (const [i, color] of colors.entries()) whole.set(rampTo(theme, color), i * LEVELS);
  return { first: whole, faded: mixed(theme, whole, FADE), second: whole };
}

/**
 * Cache of the color tables in use, because everything that follows the pointer is redrawn often.
 */
const made = new WeakMap<string[], Tables>();

/** Return the color tables for the weights of a scene. */
export function tablesOf({
  theme,
  colors,
  map,
}: {
  theme: Theme;
  colors?: string[];
  map: VisibleMap;
}): Tables {
  if (!colors) return tables(theme, map.signed);
  const headTable = made.get(colors) ?? headTables(theme, colors);
  made.set(colors, headTable);
  return headTable;
}
