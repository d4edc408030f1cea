import type { LongScene } from "./long_scene.js";
import type { Part } from "./long_types.js";
import type { Place } from "./long_window.js";

const LARGEST_PLOT = 560;
/**
 * As many pixels as a tile has cells: none is lost where there is little room, the figure scrolls
 * then.
 */
const LEAST_PLOT = 256;
/** The column of the first key, beside the others. */
export const STRIP = 10;
export const GAP = 6;
/** Above the plot: the name of the side, and the slanted tokens of the columns. */
const HEADING = 16;
const RISE = 48;
export const MINIMAP = 128;
/** The row of a locked query: its heading, its bars, and what marks the part in sight. */
export const CURVE = { heading: 20, bars: 48, mark: 8 };

/** Where the plot lies, in CSS pixels of the canvas. */
export interface LongLayout {
  x0: number;
  y0: number;
  /** Of the plot, whose width and height show as many tokens whatever is zoomed to. */
  across: number;
  down: number;
  /** From here on the column of the first key; none in lines. */
  strip: number | undefined;
  width: number;
  height: number;
  /** Room for labels of rows. */
  label: number;
}

export function longLayout({
  room,
  density,
  state: { mode },
}: Pick<LongScene, "room" | "density" | "state">): LongLayout {
  const label = Math.round(Math.max(44, Math.min(110, room * 0.14)));
  const snap = (x: number) => Math.round(x * density) / density;
  const lines = mode === "lines";
  const x0 = snap(label + GAP + (lines ? GAP : STRIP + 2 * GAP));
  const y0 = snap(HEADING + (lines ? GAP : RISE));
  const after = lines ? label + 2 * GAP : Math.round(RISE / 2);
  const side = snap(Math.max(LEAST_PLOT, Math.min(LARGEST_PLOT, room - x0 - after)));
  return {
    x0,
    y0,
    across: side,
    down: side,
    label,
    strip: lines ? undefined : label + 2 * GAP,
    width: Math.ceil(x0 + side + after),
    // Under the column of the first key there is its name.
    height: Math.ceil(y0 + side + (lines ? GAP : HEADING)),
  };
}

export const yOf = ({ y0, down }: LongLayout, [q0, q1]: Part, query: number) =>
  y0 + ((query - q0) / (q1 - q0)) * down;
export const xOf = ({ x0, across }: LongLayout, [, , k0, k1]: Part, key: number) =>
  x0 + ((key - k0) / (k1 - k0)) * across;

/** The place under a point of the canvas, and whether it lies on the plot. */
export function placeAt(
  { x0, y0, across, down }: LongLayout,
  [q0, q1, k0, k1]: Part,
  x: number,
  y: number,
) {
  const right = (x - x0) / across;
  const below = (y - y0) / down;
  const inside = right >= 0 && right < 1 && below >= 0 && below < 1;
  return { query: q0 + below * (q1 - q0), key: k0 + right * (k1 - k0), inside };
}

/** Sizes of a cell of this many tokens. */
export const cellOf = ({ across, down }: LongLayout, [q0, q1, k0, k1]: Part) => ({
  width: across / (k1 - k0),
  height: down / (q1 - q0),
});

/** So many tokens as so many pixels are. */
export const tokensOf = (
  { across, down }: LongLayout,
  [q0, q1, k0, k1]: Part,
  dx: number,
  dy: number,
): Place => ({
  query: (dy / down) * (q1 - q0),
  key: (dx / across) * (k1 - k0),
});
