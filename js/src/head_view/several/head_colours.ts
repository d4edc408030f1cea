import { FADE, mixed, rampTo, type Tables, tables } from "../../shared/colour_levels.js";
import type { Theme } from "../../shared/theme.js";
import { type Head, sameHead } from "../../shared/types.js";
import type { VisibleMap } from "../source/visible_map.js";

/** The colours of Okabe and Ito, as dark or light as 3:1 asks; the seventh is the text's own. */
const OKABE_ITO = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#bf8300", "#2b98d2", "", "#948c00"],
  dark: ["#3d9ad6", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "", "#f0e442"],
};
/** Entries of a table of one colour. */
export const LEVELS = 256;

/**
 * A colour for each head. A head keeps the colour of its number within a layer unless another head
 * has this colour, so that removing a head changes no colour; heads of several layers have colours
 * in their order. Heads without a free colour are grey, but never the `last`.
 */
export function headColours(theme: Theme, heads: Head[], last: number): string[] {
  const palette = OKABE_ITO[theme.dark ? "dark" : "light"].map((colour) => colour || theme.text);
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
 * The colour tables of overlaid heads, one per head, each from the background to the head's colour.
 */
function headTables(theme: Theme, colours: string[]): Tables {
  const whole = new Uint32Array(LEVELS * colours.length);
  for (const [i, colour] of colours.entries()) whole.set(rampTo(theme, colour), i * LEVELS);
  return { first: whole, faded: mixed(theme, whole, FADE), second: whole };
}

/**
 * Tables of colours that are in use: what follows the pointer is drawn with them again and again.
 */
const made = new WeakMap<string[], Tables>();

/** The colour table of a scene's weights; each theme has separate tables. */
export function tablesOf({
  theme,
  colours,
  map,
}: {
  theme: Theme;
  colours?: string[];
  map: VisibleMap;
}): Tables {
  if (!colours) return tables(theme, map.signed);
  const headTable = made.get(colours) ?? headTables(theme, colours);
  made.set(colours, headTable);
  return headTable;
}
