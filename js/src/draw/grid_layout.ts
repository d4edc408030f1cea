/** Where the cells of a grid lie, in CSS pixels inside its canvas; every edge falls on a device pixel. */
export interface GridLayout {
  x0: number;
  y0: number;
  cell: number;
  gap: number;
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

/** Cells as large as `width` allows; a grid whose smallest cells do not fit is wider than `width`. */
export function gridLayout(
  width: number,
  rows: number,
  cols: number,
  banded: boolean,
  dpr: number,
): GridLayout {
  const snap = (x: number) => Math.round(x * dpr) / dpr;
  const [x0, y0, gap] = [snap(LABELS), snap(NUMBERS + (banded ? BANDS : 0)), snap(GAP)];
  const room = (width - x0 - MARGIN) / Math.max(cols, 1) - gap;
  const cell = Math.floor(Math.max(SMALLEST, Math.min(LARGEST, room)) * dpr) / dpr;
  return { x0, y0, cell, gap, dpr, rows, cols };
}

/** Top-left corner of a cell. */
export function corner(layout: GridLayout, [row, col]: Cell): [x: number, y: number] {
  const pitch = layout.cell + layout.gap;
  return [layout.x0 + col * pitch, layout.y0 + row * pitch];
}

/** Width and height of the whole canvas. */
export function canvasSize(layout: GridLayout): [width: number, height: number] {
  const [x, y] = corner(layout, [layout.rows, layout.cols]);
  return [x + MARGIN, y + MARGIN];
}

/** The cell under a point; a gap belongs to the cell before it, so that the hovered cell does not flicker. */
export function cellAt(layout: GridLayout, x: number, y: number): Cell | undefined {
  const pitch = layout.cell + layout.gap;
  const row = Math.floor((y - layout.y0) / pitch);
  const col = Math.floor((x - layout.x0) / pitch);
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
