import type { Cell, GridLayout } from "../shared/cells.js";
import { labelFont } from "../shared/labels.js";
import type { Look } from "../shared/mount.js";
import { aligned } from "../shared/numbers.js";
import { pointsText, shareText } from "../shared/percent_text.js";
import { signedValue } from "../shared/quantity.js";
import { type Head, type StackInfo, sameHead } from "../shared/types.js";
import { asFloat32 } from "../shared/wire.js";
import { type LayerAnswers, layerAnswersOf } from "./layer_answers.js";
import type { Answer, Answered, Effects, PredictionState } from "./state.js";

export const GAP = 8;
/** Space above bars and cells. */
export const HEADER = 20;
const ROW = 22;
/** Height of a row with one bar before and one after heads or links are changed. */
const DOUBLE = 30;
/** Space between the bars and the map. */
const SPACE = 32;
const LOWEST_BARS = 320;
const LONGEST = 320;
/** Space to the left of the cells and above them, below the map's title. */
const NAMES = 48;
/** Space to the right of the cells, for the frame of the last column. */
const EDGE = 4;
export const NUMBERS = 18;
/** Smallest width for the map's title and the ends of its scale. */
const LEAST_MAP = 270;
const LARGEST = 22;
const SMALLEST = 7;
const HIGHEST = 420;
/** Height of the scale under the map. */
const SCALE = 40;

interface Bar extends Answer {
  followed: boolean;
  /** Numbers of the row, from left to right. */
  texts: string[];
}

/** Complete description of the drawing of a state. */
export interface Scene extends Look {
  state: PredictionState;
  stack: StackInfo;
  answered: Answered;
  /** Whether any head is off. */
  off: boolean;
  /** Whether heads are off or links are changed, so that answers have two probabilities. */
  isEdited: boolean;
  bars: Bar[];
  row: number;
  /** Start of the bars, length of 100 %, and right end of each column of numbers. */
  start: number;
  longest: number;
  columns: { name: string; right: number }[];
  map: GridLayout;
  /** Position of the map, and its width with its names. */
  mapLeft: number;
  mapTop: number;
  mapWidth: number;
  effects: Effects | null;
  values: Float32Array | null;
  /** Largest absolute effect. */
  reach: number;
  selected: Cell[];
  disabled: Cell[];
  /** Answers after each layer, below the rest; null if they are not requested. */
  layers: LayerAnswers | null;
  height: number;
}

/** Return a change with its sign; "≈0" for a change that rounds to 0. */
export const signedChange = (change: number): string =>
  Math.abs(change) < 0.0005 ? (change ? "≈0" : "0") : signedValue(pointsText)(change);

/**
 * Return a formatter of effects with signs: changes of a probability, or shares of a logit
 * difference.
 */
export const effectPrinter = ({ effects, reach }: Pick<Scene, "effects" | "reach">) =>
  effects?.versus ? signedValue(aligned(Math.max(reach, 1e-3))) : signedChange;

/** Return the scene of the answers; null if there are none. */
export function sceneOf(state: PredictionState, look: Look): Scene | null {
  const answered = state._predictions;
  const stack = state._stacks.find(({ name }) => name === state.stack) ?? state._stacks[0];
  if (!answered || !stack) return null;
  const { width: room, density: dpr, font, ruler } = look;
  const off = answered.off.length > 0;
  const isEdited = off || answered.links.length > 0;
  const bars = answered.rows.map((row): Bar => {
    const numbers = isEdited
      ? [shareText(row.before), shareText(row.after), signedChange(row.after - row.before)]
      : [shareText(row.before)];
    return { ...row, followed: row.token === answered.followed, texts: numbers };
  });

  const { n_layers: rows, n_heads: cols } = stack;
  const wanted = NAMES + cols * (LARGEST + 1) + EDGE;
  const beside = room - Math.min(wanted, room / 2) - SPACE >= LOWEST_BARS && room >= 640;
  const widestMap = beside ? Math.min(wanted, room / 2) : room;
  const across = Math.floor((widestMap - NAMES - EDGE) / cols) - 1;
  const down = Math.floor(HIGHEST / rows) - 1;
  const cell = Math.max(SMALLEST, Math.min(LARGEST, across, down));
  const mapWidth = Math.max(NAMES + cols * (cell + 1) + EDGE, Math.min(LEAST_MAP, room));

  const regular = ruler(labelFont(font));
  const strong = ruler(labelFont(font, true));
  const names = isEdited ? ["before", "after", "change"] : ["probability"];
  const widths = names.map((name, i) =>
    Math.max(
      regular(name) + (isEdited && i < 2 ? 14 : 0),
      ...bars.map(({ texts }) => strong(texts[i] ?? "")),
    ),
  );
  const space = beside ? room - mapWidth - SPACE : room;
  const numbers = widths.reduce((sum, width) => sum + width + 2 * GAP, 0);
  const widest = Math.max(0, ...bars.map(({ answer }) => strong(answer)));
  const start = Math.ceil(Math.min(widest, Math.max(56, (space - numbers) / 3))) + GAP;
  const longest = Math.max(24, Math.floor(Math.min(LONGEST, space - start - numbers)));
  let right = start + longest;
  const columns = names.map((name, i) => {
    right += (widths[i] ?? 0) + 2 * GAP;
    return { name, right };
  });

  const row = isEdited ? DOUBLE : ROW;
  const barsHeight = HEADER + bars.length * row;
  const mapLeft = beside ? Math.ceil(right) + SPACE : 0;
  const mapTop = beside ? 0 : barsHeight + 2 * GAP;
  const x0 = Math.round(mapLeft + NAMES);
  const y0 = mapTop + HEADER + NUMBERS;
  const map = { x0, y0, cell, tall: cell, gap: 1, band: 0, dpr, rows, cols };
  const effects = state._effects?.stack === stack.name ? state._effects : null;
  const values = effects && asFloat32(effects.values);
  const mapHeight = y0 + rows * (cell + 1) + SCALE;
  const above = Math.max(barsHeight, mapHeight);
  const layers = layerAnswersOf(state, look, above);
  const place = (heads: Head[]) =>
    heads.filter((head) => head[2] === stack.name).map(([layer, head]): Cell => [layer, head]);
  return {
    ...look,
    state,
    stack,
    answered,
    off,
    isEdited,
    bars,
    row,
    start,
    longest,
    columns,
    map,
    mapLeft,
    mapTop,
    mapWidth,
    effects,
    values,
    reach: values?.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 0) ?? 0,
    selected: place(state.selected),
    disabled: place(answered.off),
    width: Math.max(room, x0 + cols * (cell + 1) + EDGE),
    layers,
    height: above + (layers?.height ?? 0),
  };
}

/** Return the head in a cell; undefined in a layer without attention. */
export const headAt = ({ stack, map }: Scene, [row, col]: Cell): Head | undefined => {
  const exists = row < map.rows && col < map.cols && !stack.layers_without_attention?.includes(row);
  return exists ? [row, col, stack.name] : undefined;
};

/** Return the effect of the head in a cell; undefined before it is known. */
export const effectAt = ({ values, map }: Scene, [row, col]: Cell): number | undefined =>
  values?.[row * map.cols + col];

export const isOff = ({ answered }: Scene, head: Head): boolean =>
  answered.off.some((other) => sameHead(other, head));

/** Return the answer whose row is at a position of the canvas. */
export function barAt({ bars, row, columns }: Scene, x: number, y: number): Bar | undefined {
  return x <= (columns.at(-1)?.right ?? 0) && y >= HEADER
    ? bars[Math.floor((y - HEADER) / row)]
    : undefined;
}
