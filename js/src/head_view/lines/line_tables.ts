import { diverging } from "../../shared/color.js";
import { mixed, type Tables, word, zeroLevel } from "../../shared/color_levels.js";
import type { Theme } from "../../shared/theme.js";
import type { Scene } from "../scene.js";
import { LEVELS, tablesOf } from "../several/head_colors.js";

/** Colors of lines, whose thickness encodes the weight. */
const INK = { light: "#241783", dark: "#c9c6ff" };
/** Share of the line color in its mix with the background, which acts as a constant opacity. */
const OPACITY = 0.8;
/** Opacity of the other lines next to highlighted lines. */
const BESIDE = 0.16;
/** Entries of the diverging scale for lines of decreases and increases. */
const LESS = 24;
const MORE = 232;

type Drawn = Pick<Scene, "theme" | "state" | "colors" | "map">;

/** Return a table with one color for every thickness, and the background for thickness 0. */
export function flat(theme: Theme, color: number, less = color): Uint32Array {
  const zero = zeroLevel(less !== color);
  const ground = word(theme.background);
  return Uint32Array.from({ length: LEVELS }, (_, i) =>
    i > zero ? color : i < zero ? less : ground,
  );
}

/** Return the color of lines of weights. */
const inkOf = (theme: Theme): number =>
  word(theme.forced ? theme.text : INK[theme.dark ? "dark" : "light"]);

function differences(theme: Theme): Uint32Array {
  const scale = diverging(theme);
  return flat(theme, scale[MORE] ?? 0, scale[LESS] ?? 0);
}

/** Return the color tables of overlaid heads, one after another. */
function ofHeads(theme: Theme, colors: string[]): Uint32Array {
  const whole = new Uint32Array(LEVELS * colors.length);
  for (const [i, color] of colors.entries()) whole.set(flat(theme, word(color)), i * LEVELS);
  return whole;
}

const made = new WeakMap<object, Map<string, Tables>>();

/** Return the color tables of a scene's lines, cached as long as its colors are in use. */
export function lineTables({ theme, colors, map }: Drawn): Tables {
  const known = made.get(colors ?? theme) ?? new Map<string, Tables>();
  made.set(colors ?? theme, known);
  const key = `${theme.background} ${Boolean(map.signed)}`;
  const tables = known.get(key) ?? tablesFor(theme, colors, map.signed);
  known.set(key, tables);
  return tables;
}

function tablesFor(theme: Theme, colors: string[] | undefined, signed?: boolean): Tables {
  const whole = colors
    ? ofHeads(theme, colors)
    : signed
      ? differences(theme)
      : flat(theme, inkOf(theme));
  // The contrast of forced colors may be low already, so do not mix them with the background.
  const first = theme.forced ? whole : mixed(theme, whole, OPACITY);
  const second = colors || signed ? first : flat(theme, word(theme.second));
  return { first, faded: mixed(theme, whole, BESIDE), second };
}

/** Return the color table for the cells of overlaid heads. */
export const cellTable = (scene: Drawn): Uint32Array => tablesOf(scene).first;
