import { FADE, mixed, rampTo, type Tables, tables } from "../../shared/color_levels.js";
import type { Theme } from "../../shared/theme.js";
import { type Head, sameHead } from "../../shared/types.js";
import type { VisibleMap } from "../source/visible_map.js";

/** The colors of Okabe and Ito, as dark or light as 3:1 asks; the seventh is the text's own. */
const OKABE_ITO = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#bf8300", "#2b98d2", "", "#948c00"],
  dark: ["#3d9ad6", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "", "#f0e442"],
};
/** Entries of a table of one color. */
export const LEVELS = 256;

/**
 * A color for each head. A head keeps the color of its number within a layer unless another head
 * has this color, so that removing a head changes no color; heads of several layers have colors
 * in their order. Heads without a free color are gray, but never the `last`.
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
 * The color tables of overlaid heads, one per head, each from the background to the head's color.
 */
function headTables(theme: Theme, colors: string[]): Tables {
  const whole = new Uint32Array(LEVELS * colors.length);
  for (const [i, color] of colors.entries()) whole.set(rampTo(theme, color), i * LEVELS);
  return { first: whole, faded: mixed(theme, whole, FADE), second: whole };
}

/**
 * Tables of colors that are in use: what follows the pointer is drawn with them again and again.
 */
const made = new WeakMap<string[], Tables>();

/** The color table of a scene's weights; each theme has separate tables. */
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
