import { diverging } from "../../shared/colour.js";
import { mixed, type Tables, word, zeroLevel } from "../../shared/colour_levels.js";
import type { Theme } from "../../shared/theme.js";
import type { Scene } from "../scene.js";
import { LEVELS, tablesOf } from "../several/head_colours.js";

/** The colours of lines, whose thickness says how large a weight is. */
const INK = { light: "#241783", dark: "#c9c6ff" };
/** How far the colours of all lines are from the background: as a constant opacity. */
const OPACITY = 0.8;
/** The opacity of other lines beside highlighted lines. */
const BESIDE = 0.16;
/** Entries of the diverging scale for the lines of differences. */
const LESS = 24;
const MORE = 232;

type Drawn = Pick<Scene, "theme" | "state" | "colours" | "map">;

/** A table of lines has the same colour for every thickness, and the background for none. */
export function flat(theme: Theme, colour: number, less = colour): Uint32Array {
  const zero = zeroLevel(less !== colour);
  const ground = word(theme.background);
  return Uint32Array.from({ length: LEVELS }, (_, i) =>
    i > zero ? colour : i < zero ? less : ground,
  );
}

/** The colour of lines of weights. */
const inkOf = (theme: Theme): number =>
  word(theme.forced ? theme.text : INK[theme.dark ? "dark" : "light"]);

function differences(theme: Theme): Uint32Array {
  const scale = diverging(theme);
  return flat(theme, scale[MORE] ?? 0, scale[LESS] ?? 0);
}

/** The colours of overlaid heads, one after another. */
function ofHeads(theme: Theme, colours: string[]): Uint32Array {
  const whole = new Uint32Array(LEVELS * colours.length);
  for (const [i, colour] of colours.entries()) whole.set(flat(theme, word(colour)), i * LEVELS);
  return whole;
}

const made = new WeakMap<object, Map<string, Tables>>();

/** The colour tables of the lines of a scene, kept as long as its colours are in use. */
export function lineTables({ theme, colours, map }: Drawn): Tables {
  const known = made.get(colours ?? theme) ?? new Map<string, Tables>();
  made.set(colours ?? theme, known);
  const key = `${theme.background} ${Boolean(map.signed)}`;
  const tables = known.get(key) ?? tablesFor(theme, colours, map.signed);
  known.set(key, tables);
  return tables;
}

function tablesFor(theme: Theme, colours: string[] | undefined, signed?: boolean): Tables {
  const whole = colours
    ? ofHeads(theme, colours)
    : signed
      ? differences(theme)
      : flat(theme, inkOf(theme));
  // The system's colours may have no contrast to spare.
  const first = theme.forced ? whole : mixed(theme, whole, OPACITY);
  const second = colours || signed ? first : flat(theme, word(theme.second));
  return { first, faded: mixed(theme, whole, BESIDE), second };
}

/** The colours of the cells of overlaid heads. */
export const cellTable = (scene: Drawn): Uint32Array => tablesOf(scene).first;
