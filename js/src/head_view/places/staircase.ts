import { clamp } from "../../shared/clamp.js";
import { levelOf } from "../../shared/color_levels.js";
import { AXIS_LABEL_SIZE, labelFont, shorten, write } from "../../shared/labels.js";
import { type Pen, paintRaster, type Raster } from "../../shared/pen.js";
import { type Head, type Side, sameHead } from "../../shared/types.js";
import { asFloat32 } from "../../shared/wire.js";
import type { Scene } from "../scene.js";
import { tablesOf } from "../several/head_colors.js";
import { positionOf } from "../source/window_of.js";
import type { Staircase, ViewState } from "../state.js";
import type { PlacesPanel, Plate } from "./places_layout.js";
import { chosenOf } from "./shown_row.js";

/** Range of row heights, and the height from which a row has its word printed. */
const HIGHEST = 14;
const LOWEST = 4;
const NAMED = 10;
const TALLEST = 400;
const GAP = 5;
const WIDEST_WORD = 120;
/**
 * Share of the largest weight above which a step counts: the word is printed to the right of it.
 */
const BESIDE = 0.25;

/**
 * Row of the staircase: the weights of the query that writes a word, over the time of the sound.
 */
export interface Step {
  side: Side;
  position: number;
  text: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

/**
 * Return the staircase of the shown head; undefined if the kernel has sent that of another head.
 */
export function staircaseOf(state: ViewState, head: Head, unit: string): Staircase | undefined {
  const stairs = state._staircase;
  if (!stairs || state.mode !== "places" || stairs.unit !== unit) return undefined;
  return sameHead(head, [stairs.layer, stairs.head, stairs.stack]) ? stairs : undefined;
}

/** Return the total height of a staircase's rows. */
export const stairsHeight = ({ rows }: Staircase): number => rows.length * rowHeight(rows.length);

const rowHeight = (count: number): number => clamp(Math.floor(TALLEST / count), LOWEST, HIGHEST);

/** Return the rows of a staircase, from the top of a sound's weights on. */
export function stepsOf(scene: Scene, stairs: Staircase, plate: Plate, top: number): Step[] {
  const height = rowHeight(stairs.rows.length);
  return stairs.rows.map((index, i) => ({
    side: "query",
    position: positionOf(scene.map.rows, index),
    text: stairs.words[i] ?? "",
    x: plate.x,
    y: top + i * height,
    width: plate.width,
    height,
  }));
}

/** Return the weights of all words in device pixels, with an empty line below each word. */
function stairsRaster(scene: Scene, stairs: Staircase, plate: Plate, steps: Step[]): Raster {
  const { density, state, map } = scene;
  const { seconds = 1 } = plate.sound ?? {};
  const values = asFloat32(stairs.values);
  const [, count = 1] = stairs.values.shape;
  const level = levelOf(state.scale, map.maximum, false);
  const table = tablesOf(scene).first;
  const across = Math.max(1, Math.round(plate.width * density));
  const row = Math.round((steps[0]?.height ?? 1) * density);
  const words = new Uint32Array(across * row * steps.length).fill(table[0] ?? 0);
  for (const i of steps.keys())
    for (let x = 0; x < across; x++) {
      const time = ((x + 0.5) / across) * seconds;
      const at = Math.min(count - 1, Math.floor(time / stairs.step));
      const word = table[level(values[i * count + at] ?? 0)] ?? 0;
      for (let y = i * row; y < (i + 1) * row - 1; y++) words[y * across + x] = word;
    }
  return { across, down: row * steps.length, words };
}

/** Draw the weights of each word over time, with the word to the right of its largest weight. */
export function paintStaircase(pen: Pen, { scene }: PlacesPanel, plate: Plate): void {
  const { stairs, theme, font } = scene;
  const { steps = [], seconds = 1 } = plate.sound ?? {};
  const [first] = steps;
  if (!stairs || !first) return;
  const height = first.height * steps.length;
  paintRaster(
    pen,
    stairsRaster(scene, stairs, plate, steps),
    plate.x,
    first.y,
    plate.width,
    height,
  );
  const values = asFloat32(stairs.values);
  const [, count = 1] = stairs.values.shape;
  const { of, side } = chosenOf(scene);
  const measure = scene.ruler(labelFont(font, true, AXIS_LABEL_SIZE));
  const xOf = (at: number) =>
    plate.x + plate.width * Math.min(1, (at * stairs.step) / Math.max(1e-9, seconds));
  pen.textBaseline = "middle";
  for (const [i, { position, text, y, height }] of steps.entries()) {
    const isChosen = side === "query" && position === of;
    if (height < NAMED && !isChosen) continue;
    const row = values.subarray(i * count, (i + 1) * count);
    const peak = row.reduce((best, value, at) => (value > (row[best] ?? 0) ? at : best), 0);
    const name = shorten(measure, text, WIDEST_WORD);
    // Place the word to the right of its weights.
    let last = peak;
    while ((row[last + 1] ?? 0) > BESIDE * (row[peak] ?? 0)) last++;
    const end = xOf(last + 1) + GAP;
    const fits = end + measure(name) <= plate.x + plate.width - 2;
    pen.font = labelFont(font, isChosen, AXIS_LABEL_SIZE);
    const color = isChosen ? theme.accent : theme.text;
    write(
      pen,
      name,
      [fits ? end : xOf(peak) - GAP, y + height / 2],
      color,
      fits ? "left" : "right",
    );
  }
  pen.textAlign = "left";
}
