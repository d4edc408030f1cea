import { clamp } from "./clamp.js";
import type { Pen } from "./pen.js";

/**
 * Position of the cells of a grid in CSS pixels of its canvas. Every edge falls on a device pixel.
 */
export interface GridLayout {
  x0: number;
  y0: number;
  cell: number;
  /** Height of a cell; `cell` is its width. */
  tall: number;
  gap: number;
  /** Height of the strip under each cell for its metric and its name. */
  band: number;
  /** Height of the texts under the last row; 0 if it is missing. */
  foot?: number;
  dpr: number;
  rows: number;
  cols: number;
}
export type Cell = readonly [row: number, col: number];

/** Width of the scroll bar of a box whose grid is larger. */
export const SCROLL_BAR = 16;
const LABELS = 48;
const NUMBERS = 20;
const BANDS = 6;
const GAP = 2;
/** Room for the outlines of the last row and column. */
const MARGIN = 4;
/** Share of the smallest size to which cells may shrink if the complete grid then fits. */
const NEARLY = 0.9;

/** Width from which a cell shows words. Narrower cells show a strip with one column per word. */
export const WITH_WORD = 28;

/** Limits on the size of cells, in pixels. */
export interface CellLimits {
  /** Largest height of the canvas. */
  highest: number;
  /** Sizes of the smallest and the largest cells. */
  least: number;
  largest: number;
  /** Largest ratio of width to height: words need wider cells than maps. */
  widest: number;
  /**
   * Height `tall` of cells at least `from` pixels wide, if the canvas has room: lines of text need
   * it.
   */
  written: { from: number; tall: number };
  /** Width of the row labels. */
  margin: number;
  /** Height of the texts under the last row. */
  foot: number;
}
const LIMITS: CellLimits = {
  highest: 780,
  least: 22,
  largest: 64,
  widest: 2.2,
  written: { from: Number.POSITIVE_INFINITY, tall: 0 },
  margin: LABELS,
  foot: 0,
};
/** Height of a bar, without and with a line of text. */
const BAR = 5;
const BAR_AND_TEXT = 20;
/** Height of a line of text without a bar. */
const LABEL = 14;
/** Cell size from which a number is printed, and the smaller size from which a name is. */
const PRINTED = 40;
const NAMED = 29;

/** Return the width of a grid with cells of this width. */
export const gridWidth = (cols: number, cell: number): number =>
  LABELS + cols * (cell + GAP) + MARGIN;

/**
 * Return the layout with the largest cells that fit `width` and the visible height. Cells are wider
 * than high if height is scarce. A grid whose smallest cells do not fit is larger and scrolls.
 * `below` adds a bar, a bar and a name, or a label under each cell if the cells stay large enough.
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
  const { highest, least, largest, widest, written, margin, ...others } = { ...LIMITS, ...limits };
  const snap = (x: number) => Math.round(x * dpr) / dpr;
  const x0 = snap(margin);
  const foot = snap(others.foot);
  const y0 = snap(NUMBERS + (banded ? BANDS : 0));
  const gap = snap(GAP);
  const smallest = below === "name" ? NAMED : least;
  const across = (width - x0 - MARGIN) / Math.max(cols, 1) - gap;
  const crisp = (x: number) => Math.floor(x * dpr) / dpr;
  const high = highest - y0 - foot - MARGIN;
  const downOver = (band: number) => high / Math.max(rows, 1) - gap - band;
  const heightOver = (band: number) => {
    const size = Math.min(largest, across, downOver(band));
    // Slightly smaller cells are better than a scroll bar for a few pixels.
    return crisp(size >= NEARLY * smallest ? size : Math.max(smallest, size));
  };
  const over = (band: number): GridLayout => {
    const side = heightOver(band);
    const cell = Math.max(side, crisp(Math.min(largest, across, widest * side)));
    const lines = Math.ceil(written.tall * dpr) / dpr;
    const isWritten = cell >= written.from && downOver(band) >= lines;
    const tall = isWritten ? Math.max(side, lines) : side;
    return { x0, y0, cell, tall, gap, band, foot, dpr, rows, cols };
  };
  if (below === "label") {
    return over(heightOver(LABEL) >= PRINTED ? snap(LABEL) : 0);
  }
  const text = below === "name" || (below === "bar" && heightOver(BAR_AND_TEXT) >= PRINTED);
  const band = below === "nothing" ? 0 : snap(text ? BAR_AND_TEXT : BAR);
  return over(band);
}

/**
 * Return the row at a vertical position, or the column at a horizontal position of the canvas;
 * undefined outside of the cells.
 */
export function lineAt(layout: GridLayout, side: "row" | "column", at: number): number | undefined {
  const [across, down] = pitches(layout);
  const [start, pitch, count] =
    side === "row" ? [layout.y0, down, layout.rows] : [layout.x0, across, layout.cols];
  const line = Math.floor((at - start) / pitch);
  return line >= 0 && line < count ? line : undefined;
}

/**
 * Return how many rows are completely visible in a box of this height that is scrolled to `top`.
 */
export function rowsInSight(layout: GridLayout, top: number, height: number): number {
  const [, down] = pitches(layout);
  return wholeInSight(layout.rows, down, top, height - layout.y0 + layout.gap);
}

/**
 * Return how many columns are completely visible in a box of this width that is scrolled to `left`.
 */
export function columnsInSight(layout: GridLayout, left: number, width: number): number {
  const [across] = pitches(layout);
  return wholeInSight(layout.cols, across, left, width - layout.x0 + layout.gap);
}

/** Return how many of `count` cells are completely visible in `room` pixels from `start` on. */
function wholeInSight(count: number, pitch: number, start: number, room: number): number {
  const first = Math.max(0, Math.ceil((start - 1) / pitch));
  const end = Math.floor((start + room + 1) / pitch);
  return Math.max(0, Math.min(count, end) - first);
}

/** Return whether the layout has a line of text under the cells. */
export const hasText = ({ band }: GridLayout) => band > BAR + 1;

/** Distances from one cell to the next, horizontally and vertically. */
export const pitches = ({ cell, tall, gap, band }: GridLayout): [number, number] => [
  cell + gap,
  tall + band + gap,
];

/** Return the top left corner of a cell. */
export function corner(layout: GridLayout, [row, col]: Cell): [x: number, y: number] {
  const [across, down] = pitches(layout);
  return [layout.x0 + col * across, layout.y0 + row * down];
}

/** Return the width and the height of the canvas. */
export function canvasSize(layout: GridLayout): [width: number, height: number] {
  const [x, y] = corner(layout, [layout.rows, layout.cols]);
  return [x + MARGIN, y + MARGIN + (layout.foot ?? 0)];
}

/**
 * Return the cell at a point. A gap belongs to the cell before it, so that the highlight does not
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

/** Return the nearest cell inside the grid. */
export const inside = ([row, col]: Cell, rows: number, cols: number): Cell => [
  clamp(row, 0, rows - 1),
  clamp(col, 0, cols - 1),
];

/** Row and column steps of the navigation keys. Page Up and Page Down move by four rows. */
const STEPS: Record<string, Cell> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  PageUp: [-4, 0],
  PageDown: [4, 0],
};

/** Return the cell that a key moves to from `cell`, or undefined if the key does not move. */
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

/** Draw a frame around a cell. The middle of its line is `away` pixels outside the cell's edge. */
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

/** Pointer and scroll state over the cells of a page. */
export interface Hand {
  hovered: Cell | undefined;
  focused: Cell | undefined;
  /** Scroll offset of the box, which keeps the labels visible. */
  scrolled: [x: number, y: number];
}
/** Pointer state of a static picture. */
export const NOWHERE: Hand = { hovered: undefined, focused: undefined, scrolled: [0, 0] };
