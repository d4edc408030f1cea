import { type Cell, canvasSize, type GridLayout, gridLayout, pitches } from "../shared/cells.js";
import { clamp } from "../shared/clamp.js";
import { endOfScale } from "../shared/colour.js";
import { AXIS_LABEL_SIZE, labelFont, widestLabel } from "../shared/labels.js";
import type { Look as Page } from "../shared/mount.js";
import { printer } from "../shared/quantity.js";
import {
  type Axes,
  type Axis,
  type Head,
  type Side,
  type StackInfo,
  sameHead,
} from "../shared/types.js";
import { asUint8 } from "../shared/wire.js";
import { isHidden, lockedOf } from "./shown_tokens.js";
import type { Lens, LensState } from "./state.js";
import { leastOf, valuesOf } from "./three_digits.js";

/** Room above the cells, and a margin round all of them. */
const HEADER = 20;
const MARGIN = 4;
const LABEL_GAP = 8;
/** Widest and narrowest columns of heads. */
const WIDEST = 40;
const NARROWEST = 3;
/** Rows of tokens, as many as are to be in sight at once, and the lowest ones. */
const HIGHEST = 18;
const LOWEST = 3;
/** More rows than this are taller than a canvas may be, and more than a reader scrolls through. */
const MOST_ROWS = 1024;
export const TALLEST = 560;
/** A square of a head between two tokens: a number fits into it. */
const SQUARE = 46;

/** What a lens shows, as the kernel answered. */
interface Found {
  lens: Lens;
  values: Float32Array;
  goes: Uint8Array | null;
}

export const decode = (lens: Lens): Found => ({
  lens,
  values: valuesOf(lens),
  goes: lens.goes && asUint8(lens.goes),
});

/**
 * All that a lens draws: rows of tokens by columns of heads, or between two tokens rows of layers.
 */
export interface Scene extends Omit<Page, "width"> {
  room: number;
  width: number;
  height: number;
  state: LensState;
  lens: Lens;
  axes: Axes;
  stack: StackInfo | undefined;
  layout: GridLayout;
  /** The locked token alone is on this side; undefined between two tokens. */
  side: Side | undefined;
  /** The tokens of the rows, and their axis; none between two tokens. */
  tokens: number[];
  other: Axis;
  /** Tokens that have no row, for want of room. */
  leftOut: number;
  /** The heads in the order of the columns, or all of them between two tokens. */
  heads: Head[];
  /** rows x columns, NaN where masked. */
  values: Float32Array;
  maximum: number;
  /** The value at the end of the colour scale. */
  end: number;
  /** Whether each head is off: it has no ink, and goes nowhere. */
  off: boolean[];
  /** For two tokens, whether each head goes from the first to the second. */
  goes: Uint8Array | null;
  selected: Cell[];
  print: (value: number) => string;
}

/** Whether the kernel's answer belongs to the current state. */
export function isCurrent(
  { stack, quantity, unit, layer, ...lens }: Lens,
  state: LensState,
): boolean {
  const { query, key } = lockedOf(state, state._axes);
  const none = query === null && key === null;
  const question = none
    ? lens.query === null || lens.key === null
    : lens.query === query && lens.key === key;
  const pair = lens.query !== null && lens.key !== null;
  const last = (state._stacks.find(({ name }) => name === stack)?.n_layers ?? 1) - 1;
  const ofLayer = pair || layer === (state.of === "layer" ? Math.min(state.layer, last) : null);
  const sameHidden = !pair || [...lens.hidden].sort().join() === [...state.hidden].sort().join();
  return (
    stack === state.stack &&
    quantity === state.quantity &&
    unit === state.unit &&
    question &&
    ofLayer &&
    sameHidden
  );
}

/** What is shown of an answer, and where. */
export function sceneOf(state: LensState, { lens, values: all, goes }: Found, page: Page): Scene {
  const { width: room, density, font, ruler } = page;
  const axes = state._axes;
  const stack = state._stacks.find(({ name }) => name === lens.stack);
  const side = lens.query === null ? "key" : lens.key === null ? "query" : undefined;
  const other = side === "key" ? axes.query : axes.key;
  const [nHeads = 1, count = 1] = side ? lens.shape.slice(-2) : lens.shape.slice(-1);
  const layers = lens.layer === null ? (lens.shape[0] ?? 0) : 1;
  const counted = Array.from({ length: layers * nHeads }, (_, i): Head => {
    const layer = lens.layer ?? Math.floor(i / nHeads);
    return [layer, i % nHeads, lens.stack];
  });
  const seen = side ? [...other.text.keys()].filter((i) => !isHidden(other, i, state.hidden)) : [];
  const tokens = seen.length > MOST_ROWS ? strongestOf(seen, all, counted.length, count) : seen;
  const order = side
    ? ordered(all, counted.length, count, tokens, state.sort)
    : [...counted.keys()];
  const heads = order.map((i) => counted[i] as Head);
  const off = heads.map((head) => state.disabled.some((other) => sameHead(other, head)));
  const shown = side
    ? Float32Array.from(tokens.flatMap((token) => order.map((i) => all[i * count + token] ?? 0)))
    : all;
  const values = shown.map((value, i) =>
    off[i % heads.length] && !Number.isNaN(value) ? 0 : value,
  );
  const maximum = largestOf(values);
  const measure = ruler(labelFont(font, true, AXIS_LABEL_SIZE));
  const layout = side
    ? tokenLayout(room, tokens.length, heads.length, widestLabel(measure, other, tokens), density)
    : pairLayout(room, layers, nHeads, density);
  const at = (head: Head) => heads.findIndex((other) => sameHead(other, head));
  const selected = state.selected.flatMap((head): Cell[] => {
    const index = at(head);
    if (index < 0) return [];
    return [side ? [0, index] : [head[0], head[1]]];
  });
  const [width, height] = canvasSize(layout);
  return {
    ...page,
    room,
    width,
    height,
    state,
    lens,
    axes,
    stack,
    layout,
    side,
    tokens,
    other,
    heads,
    values,
    goes: goes?.map((value, i) => (off[i] ? 0 : value)) ?? null,
    selected,
    leftOut: seen.length - tokens.length,
    maximum,
    end: endOfScale(state.scale, lens.quantity, maximum),
    off,
    print: printed(lens),
  };
}

/** Prints a value; of packed ones the smallest are only known to be small. */
function printed({ quantity, decade }: Lens): (value: number) => string {
  const print = printer(quantity);
  const least = decade === null ? 0 : leastOf(decade);
  return (value) =>
    value > 0 && value < 0.9 * least && quantity !== "weights" ? `<${print(least)}` : print(value);
}

/** The largest of values of which some are masked. */
export function largestOf(values: Iterable<number>): number {
  let most = 0;
  for (const value of values) if (value > most) most = value;
  return most;
}

/** Heads as they are counted, or by their largest weight among the tokens shown. */
function ordered(
  all: Float32Array,
  heads: number,
  count: number,
  tokens: number[],
  sort: LensState["sort"],
): number[] {
  const order = Array.from({ length: heads }, (_, i) => i);
  if (sort === "head") return order;
  const largest = order.map((i) =>
    tokens.reduce((most, token) => Math.max(most, all[i * count + token] || 0), 0),
  );
  return order.sort((a, b) => (largest[b] ?? 0) - (largest[a] ?? 0) || a - b);
}

/** The tokens that some head has the largest values of, in their order. */
function strongestOf(tokens: number[], all: Float32Array, heads: number, count: number): number[] {
  const largest = new Map(
    tokens.map((token) => {
      let most = 0;
      for (let i = 0; i < heads; i++) most = Math.max(most, all[i * count + token] || 0);
      return [token, most];
    }),
  );
  const by = (token: number) => largest.get(token) ?? 0;
  return [...tokens]
    .sort((a, b) => by(b) - by(a) || a - b)
    .slice(0, MOST_ROWS)
    .sort((a, b) => a - b);
}

/**
 * Columns of heads and rows of tokens, each as large as there is room for; what has no room is
 * scrolled.
 */
function tokenLayout(
  room: number,
  rows: number,
  cols: number,
  widest: number,
  dpr: number,
): GridLayout {
  const crisp = (size: number) => Math.floor(size * dpr) / dpr;
  const x0 = Math.ceil(Math.min(widest, clamp(room / 4, 64, 160))) + 2 * LABEL_GAP;
  const cell = crisp(clamp((room - x0 - MARGIN) / Math.max(1, cols), NARROWEST, WIDEST));
  const pitch = crisp(clamp(TALLEST / Math.max(1, rows), LOWEST, HIGHEST));
  // Rows are lower than columns are wide: the band under a cell takes away what a square has too
  // much.
  return { x0, y0: HEADER, cell, tall: cell, gap: 0, band: pitch - cell, dpr, rows, cols };
}

/** A square a head; numbers fit in them where there is room. */
function pairLayout(room: number, layers: number, heads: number, density: number): GridLayout {
  const { x0, gap } = gridLayout(room, layers, heads, false, density);
  return gridLayout(
    Math.min(room, x0 + heads * (SQUARE + gap) + MARGIN),
    layers,
    heads,
    false,
    density,
  );
}

/** The head in a cell. */
export const headAt = ({ side, heads, layout }: Scene, [row, col]: Cell): Head | undefined =>
  heads[side ? col : row * layout.cols + col];

export const valueAt = ({ values, layout }: Scene, [row, col]: Cell): number =>
  values[row * layout.cols + col] ?? Number.NaN;

/** The row of a column's largest value. */
export function largestIn({ values, layout: { rows, cols } }: Scene, col: number): number {
  let best = 0;
  for (let row = 1; row < rows; row++) {
    const value = values[row * cols + col] ?? Number.NaN;
    const most = values[best * cols + col] ?? Number.NaN;
    if (value > most || (Number.isNaN(most) && !Number.isNaN(value))) best = row;
  }
  return best;
}

/** The token of a row at a height of the canvas, as a position on its axis. */
export function rowAt({ layout, tokens }: Scene, y: number): number | undefined {
  return tokens[Math.floor((y - layout.y0) / pitches(layout)[1])];
}
