import { diverging, ramp } from "../../shared/colour.js";
import { rampTo, type Tables, zeroLevel } from "../../shared/colour_levels.js";
import type { Scene } from "../scene.js";
import { LEVELS, tablesOf } from "../several/head_colours.js";

/** Places on the colour scale below this are lifted for lines in a dark theme, by an exponent. */
const WEAK = 0.4;
const LIFT = 0.5;

type Drawn = Pick<Scene, "theme" | "state" | "colours" | "map">;

/**
 * Whether lines need more contrast than cells: a thin dark line on a dark ground is not seen, where
 * a cell of its colour is.
 */
const isLifted = ({ theme, state }: Drawn) => state.mode === "lines" && theme.dark && !theme.forced;

const liftedPlace = (t: number) => (t < WEAK ? WEAK * (t / WEAK) ** LIFT : t);

/** A colour table whose weak entries are farther from the background; its ends stay. */
function lifted(table: Uint32Array, signed = false): Uint32Array {
  const zero = zeroLevel(signed);
  const steps = signed ? 127 : 255;
  return table.map((_, i) => {
    const away = (i % LEVELS) - zero;
    const place = Math.round(steps * liftedPlace(Math.min(1, Math.abs(away) / steps)));
    return table[i - (i % LEVELS) + zero + Math.sign(away) * place] ?? 0;
  });
}

const made = new WeakMap<Uint32Array, Tables>();

/** The colour tables of the lines of a scene. */
export function lineTables(scene: Drawn): Tables {
  const tables = tablesOf(scene);
  if (!isLifted(scene)) return tables;
  const known = scene.colours && made.get(tables.first);
  if (known) return known;
  const { signed } = scene.map;
  const result: Tables = {
    first: lifted(tables.first, signed),
    faded: lifted(tables.faded, signed),
    second: lifted(tables.second, signed),
  };
  made.set(tables.first, result);
  return result;
}

/** The colours of the colour bar of weights: those of cells, or of lines. */
export function barTable(scene: Drawn): Uint32Array {
  const { theme, colours } = scene;
  const table = colours ? rampTo(theme, theme.text) : ramp(theme);
  return isLifted(scene) ? lifted(table) : table;
}

/** The colours of the colour bar of differences. */
export function differenceTable(scene: Drawn): Uint32Array {
  const table = diverging(scene.theme);
  return isLifted(scene) ? lifted(table, true) : table;
}
