/** Where the cells of a grid lie, in CSS pixels inside its canvas; every edge falls on a device pixel. */
export interface GridLayout {
  x0: number;
  y0: number;
  cell: number;
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
const SMALLEST = 28;
const LARGEST = 64;
/** A bar alone, and with a line of text. */
const BAR = 5;
const BAR_AND_TEXT = 20;
/** From this size on a cell has its number printed; a name needs a little less. */
const PRINTED = 40;
const NAMED = 36;

/**
 * Cells as large as `width` allows; a grid whose smallest cells do not fit is wider than `width`. `below` each cell can
 * be a bar, or a bar and a name.
 */
export function gridLayout(
  width: number,
  rows: number,
  cols: number,
  banded: boolean,
  dpr: number,
  below: "nothing" | "bar" | "name" = "nothing",
): GridLayout {
  const snap = (x: number) => Math.round(x * dpr) / dpr;
  const [x0, y0, gap] = [snap(LABELS), snap(NUMBERS + (banded ? BANDS : 0)), snap(GAP)];
  const smallest = below === "name" ? NAMED : SMALLEST;
  const room = (width - x0 - MARGIN) / Math.max(cols, 1) - gap;
  const cell = Math.floor(Math.max(smallest, Math.min(LARGEST, room)) * dpr) / dpr;
  const text = below === "name" || (below === "bar" && cell >= PRINTED);
  const band = below === "nothing" ? 0 : snap(text ? BAR_AND_TEXT : BAR);
  return { x0, y0, cell, gap, band, dpr, rows, cols };
}

/** Whether there is a line of text under the cells. */
export const hasText = ({ band }: GridLayout) => band > BAR + 1;

/** Distances from one cell to the next, across and down. */
export const pitches = ({ cell, gap, band }: GridLayout): [number, number] => [
  cell + gap,
  cell + band + gap,
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

/** The cell under a point; a gap belongs to the cell before it, so that the hovered cell does not flicker. */
export function cellAt(layout: GridLayout, x: number, y: number): Cell | undefined {
  const [across, down] = pitches(layout);
  const row = Math.floor((y - layout.y0) / down);
  const col = Math.floor((x - layout.x0) / across);
  const inside = row >= 0 && row < layout.rows && col >= 0 && col < layout.cols;
  return inside ? [row, col] : undefined;
}

export const sameCell = (a: Cell | undefined, b: Cell | undefined) =>
  a?.[0] === b?.[0] && a?.[1] === b?.[1];

/** Rows that Page Up and Page Down jump over. */
const PAGE = 4;

/** The cell that a key moves to from `cell`, or undefined where the key is not one that moves. */
export function moved(
  key: string,
  ends: boolean,
  [row, col]: Cell,
  rows: number,
  cols: number,
): Cell | undefined {
  const at = (r: number, c: number): Cell => [
    Math.max(0, Math.min(rows - 1, r)),
    Math.max(0, Math.min(cols - 1, c)),
  ];
  switch (key) {
    case "ArrowLeft":
      return at(row, col - 1);
    case "ArrowRight":
      return at(row, col + 1);
    case "ArrowUp":
      return at(row - 1, col);
    case "ArrowDown":
      return at(row + 1, col);
    case "PageUp":
      return at(row - PAGE, col);
    case "PageDown":
      return at(row + PAGE, col);
    case "Home":
      return at(ends ? 0 : row, 0);
    case "End":
      return at(ends ? rows - 1 : row, cols - 1);
    default:
      return undefined;
  }
}
