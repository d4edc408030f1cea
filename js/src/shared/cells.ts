import { clamp } from "./clamp.js";
import type { Pen } from "./pen.js";

/**
 * Where the cells of a grid lie, in CSS pixels inside its canvas; every edge falls on a device
 * pixel.
 */
export interface GridLayout {
  x0: number;
  y0: number;
  /** Width of a cell. */
  cell: number;
  /** Height of a cell. */
  tall: number;
  gap: number;
  /** Height under each cell for its metric and its name. */
  band: number;
  dpr: number;
  rows: number;
  cols: number;
}
export type Cell = readonly [row: number, col: number];

const LABELS = 48;
const NUMBERS = 20;
const BANDS = 6;
const GAP = 2;
/** Room for the outlines of the last row and column. */
const MARGIN = 4;
/** Cells may shrink to this share of the smallest size if the whole grid then fits. */
const NEARLY = 0.9;

/** From this width on a cell has words; narrower cells have a strip with a column for each word. */
export const WITH_WORD = 28;

/** The sizes between which cells are made, in pixels. */
export interface CellLimits {
  /** Height of the whole canvas. */
  highest: number;
  /** Smallest and largest cells. */
  least: number;
  largest: number;
  /** Largest width of a cell as a multiple of its height: words need more room than maps. */
  widest: number;
  /** Height that cells from a width on have where the canvas has room: lines of text need it. */
  written: { from: number; tall: number };
}
const LIMITS: CellLimits = {
  highest: 780,
  least: 22,
  largest: 64,
  widest: 2.2,
  written: { from: Number.POSITIVE_INFINITY, tall: 0 },
};
/** A bar alone, and with a line of text. */
const BAR = 5;
const BAR_AND_TEXT = 20;
/** A line of text alone. */
const LABEL = 14;
/** From this size on a cell has its number printed; a name needs less. */
const PRINTED = 40;
const NAMED = 29;

/** Width of a grid whose cells have this width. */
export const gridWidth = (cols: number, cell: number): number =>
  LABELS + cols * (cell + GAP) + MARGIN;

/**
 * Cells as large as `width` and the height in sight allow, and wider than high where the height is
 * short; a grid whose smallest cells do not fit is larger, and scrolls. `below` each cell can be a
 * bar, a bar and a name, or a label if the cells stay large enough for one.
 */
export function gridLayout(
  width: number,
  rows: number,
  cols: number,
  banded: boolean,
  dpr: number,
  below: "nothing" | "bar" | "name" | "label" = "nothing",
  limits: Partial<CellLimits> = {},
): GridLayout {
  const { highest, least, largest, widest, written } = { ...LIMITS, ...limits };
  const snap = (x: number) => Math.round(x * dpr) / dpr;
  const x0 = snap(LABELS);
  const y0 = snap(NUMBERS + (banded ? BANDS : 0));
  const gap = snap(GAP);
  const smallest = below === "name" ? NAMED : least;
  const across = (width - x0 - MARGIN) / Math.max(cols, 1) - gap;
  const crisp = (x: number) => Math.floor(x * dpr) / dpr;
  const downOver = (band: number) => (highest - y0 - MARGIN) / Math.max(rows, 1) - gap - band;
  const heightOver = (band: number) => {
    const size = Math.min(largest, across, downOver(band));
    // A little smaller cells are better than a scroll bar for a few pixels.
    return crisp(size >= NEARLY * smallest ? size : Math.max(smallest, size));
  };
  const over = (band: number): GridLayout => {
    const side = heightOver(band);
    const cell = Math.max(side, crisp(Math.min(largest, across, widest * side)));
    const lines = Math.ceil(written.tall * dpr) / dpr;
    const isWritten = cell >= written.from && downOver(band) >= lines;
    const tall = isWritten ? Math.max(side, lines) : side;
    return { x0, y0, cell, tall, gap, band, dpr, rows, cols };
  };
  if (below === "label") {
    return over(heightOver(LABEL) >= PRINTED ? snap(LABEL) : 0);
  }
  const text = below === "name" || (below === "bar" && heightOver(BAR_AND_TEXT) >= PRINTED);
  const band = below === "nothing" ? 0 : snap(text ? BAR_AND_TEXT : BAR);
  return over(band);
}

/** Number of rows of a grid that are whole in sight, scrolled to `top` in a box of this height. */
export function rowsInSight(layout: GridLayout, top: number, height: number): number {
  const [, down] = pitches(layout);
  return wholeInSight(layout.rows, down, top, height - layout.y0 + layout.gap);
}

/** Number of columns that are whole in sight, scrolled to `left` in a box of this width. */
export function columnsInSight(layout: GridLayout, left: number, width: number): number {
  const [across] = pitches(layout);
  return wholeInSight(layout.cols, across, left, width - layout.x0 + layout.gap);
}

/** Number of whole cells among `count` cells, where `room` pixels are seen from `start` on. */
function wholeInSight(count: number, pitch: number, start: number, room: number): number {
  const first = Math.max(0, Math.ceil((start - 1) / pitch));
  const end = Math.floor((start + room + 1) / pitch);
  return Math.max(0, Math.min(count, end) - first);
}

/** Whether there is a line of text under the cells. */
export const hasText = ({ band }: GridLayout) => band > BAR + 1;

/** Distances from one cell to the next, across and down. */
export const pitches = ({ cell, tall, gap, band }: GridLayout): [number, number] => [
  cell + gap,
  tall + band + gap,
];

/** Top-left corner of a cell. */
export function corner(layout: GridLayout, [row, col]: Cell): [x: number, y: number] {
  const [across, down] = pitches(layout);
  return [layout.x0 + col * across, layout.y0 + row * down];
}

/** Width and height of the whole canvas. */
export function canvasSize(layout: GridLayout): [width: number, height: number] {
  const [x, y] = corner(layout, [layout.rows, layout.cols]);
  return [x + MARGIN, y + MARGIN];
}

/**
 * The cell under a point; a gap belongs to the cell before it, so that the highlight does not
 * flicker.
 */
export function cellAt(layout: GridLayout, x: number, y: number): Cell | undefined {
  const [across, down] = pitches(layout);
  const row = Math.floor((y - layout.y0) / down);
  const col = Math.floor((x - layout.x0) / across);
  const inside = row >= 0 && row < layout.rows && col >= 0 && col < layout.cols;
  return inside ? [row, col] : undefined;
}

export const sameCell = (a: Cell | undefined, b: Cell | undefined) =>
  a?.[0] === b?.[0] && a?.[1] === b?.[1];

/** The nearest cell that a grid has. */
export const inside = ([row, col]: Cell, rows: number, cols: number): Cell => [
  clamp(row, 0, rows - 1),
  clamp(col, 0, cols - 1),
];

/** Page Up and Page Down jump over rows. */
const STEPS: Record<string, Cell> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  PageUp: [-4, 0],
  PageDown: [4, 0],
};

/** The cell that a key moves to from `cell`, or undefined for keys that do not move. */
export function moved(
  key: string,
  ends: boolean,
  [row, col]: Cell,
  rows: number,
  cols: number,
): Cell | undefined {
  if (key === "Home") return inside([ends ? 0 : row, 0], rows, cols);
  if (key === "End") return inside([ends ? rows - 1 : row, cols - 1], rows, cols);
  const step = STEPS[key];
  return step && inside([row + step[0], col + step[1]], rows, cols);
}

/** A frame of lines `width` wide round a cell, its middle `away` from the cell's edge. */
export function outline(
  pen: Pen,
  layout: GridLayout,
  cell: Cell,
  color: string,
  width: number,
  away = width / 2,
): void {
  const [x, y] = corner(layout, cell);
  pen.strokeStyle = color;
  pen.lineWidth = width;
  pen.strokeRect(x - away, y - away, layout.cell + 2 * away, layout.tall + 2 * away);
}

/** What follows the reader's hand over the cells of a page. */
export interface Hand {
  hovered: Cell | undefined;
  focused: Cell | undefined;
  /** How far the box is scrolled: labels stay in sight. */
  scrolled: [x: number, y: number];
}
/** The hand over a picture. */
export const NOWHERE: Hand = { hovered: undefined, focused: undefined, scrolled: [0, 0] };
