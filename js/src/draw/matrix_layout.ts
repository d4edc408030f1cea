import { isPair, type Target, weightAt } from "./scene.js";
import type { VisibleMap } from "./visible_map.js";

const LARGEST_CELL = 40;
const TALLEST_PLOT = 600;
const READABLE_CELL = 8;
/** Cells are square unless one axis is so many times longer than the other. */
const SQUARE_UP_TO = 4;
const GAP = 6;
/** Column labels rise at this angle. */
export const ANGLE = Math.PI / 3;
const EVERY = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/** Where the cells lie, in CSS pixels of the canvas. */
export interface MatrixLayout {
  x0: number;
  y0: number;
  cellWidth: number;
  cellHeight: number;
  rows: number;
  cols: number;
  dpr: number;
  width: number;
  height: number;
  /** Space for the labels of rows, and for those of columns along their slope. */
  rowLabel: number;
  colLabel: number;
}

interface Request {
  room: number;
  rows: number;
  cols: number;
  /** The widest labels. */
  rowLabel: number;
  colLabel: number;
  dpr: number;
}

export function matrixLayout(request: Request): MatrixLayout {
  const { room, rows, cols, dpr } = request;
  const rowLabel = Math.min(request.rowLabel, Math.max(56, Math.min(160, room * 0.2)));
  const colLabel = Math.min(request.colLabel, 110);
  const rise = Math.ceil(colLabel * Math.sin(ANGLE));
  const overhang = Math.ceil(colLabel * Math.cos(ANGLE)) + GAP;
  const snap = (x: number) => Math.round(x * dpr) / dpr;
  const x0 = snap(rowLabel + 2 * GAP);
  const y0 = snap(rise + 3 * GAP);
  const fits = (space: number, count: number) => Math.min(LARGEST_CELL, space / Math.max(1, count));
  const widest = fits(room - x0 - overhang, cols);
  const tallest = fits(TALLEST_PLOT, rows);
  const square = Math.min(widest, tallest);
  const oblong = Math.max(rows, cols) > SQUARE_UP_TO * Math.min(rows, cols);
  const cell = oblong ? Math.max(square, READABLE_CELL) : square;
  const crisp = (size: number) => (size * dpr >= 1 ? Math.floor(size * dpr) / dpr : size);
  const cellWidth = crisp(Math.min(widest, cell));
  const cellHeight = crisp(Math.min(tallest, cell));
  const height = Math.ceil(y0 + rows * cellHeight) + GAP;
  const width = Math.ceil(x0 + cols * cellWidth + overhang);
  return { x0, y0, cellWidth, cellHeight, rows, cols, dpr, width, height, rowLabel, colLabel };
}

/** Plot size in device pixels, and of the picture scaled into it: never more pixels than there are. */
export function pixelSize({ rows, cols, cellWidth, cellHeight, dpr }: MatrixLayout) {
  const width = Math.max(1, Math.round(cols * cellWidth * dpr));
  const height = Math.max(1, Math.round(rows * cellHeight * dpr));
  return { width, height, across: Math.min(cols, width), down: Math.min(rows, height) };
}

/** Print every so many labels, so that they do not touch. */
export function labelStep(cell: number, needed: number): number {
  return EVERY.find((step) => step * cell >= needed) ?? 1000;
}

/** Draw a hairline every so many tokens; 0 where cells are large enough to count, or too small to rule. */
export function ruleStep(cell: number): number {
  if (cell >= READABLE_CELL) return 0;
  if (cell >= 3) return 5;
  return 0;
}

/** The cell, row label or column label under a point. Where cells share a pixel: the one it shows, the strongest. */
export function hitMatrix(layout: MatrixLayout, map: VisibleMap, x: number, y: number): Target {
  const { x0, y0, cellWidth, cellHeight, rows, cols } = layout;
  const row = Math.floor((y - y0) / cellHeight);
  const rowHit = row >= 0 && row < rows;
  if (x < x0) return rowHit ? { query: row } : {};
  if (y < y0) {
    const col = Math.floor((x - (y0 - y) / Math.tan(ANGLE) - x0) / cellWidth);
    return col >= 0 && col < cols ? { key: col } : {};
  }
  const col = Math.floor((x - x0) / cellWidth);
  if (!rowHit || col >= cols) return {};
  return strongestInPixel(layout, map, { query: row, key: col });
}

function strongestInPixel(layout: MatrixLayout, map: VisibleMap, at: Target): Target {
  const { width, height, across, down } = pixelSize(layout);
  if (!isPair(at) || (across < width && down < height)) return at;
  const pixel = (index: number, pixels: number, count: number) =>
    Math.floor((index * pixels) / count);
  const [py, px] = [pixel(at.query, down, layout.rows), pixel(at.key, across, layout.cols)];
  let best = at;
  const reach = (count: number, pixels: number) => Math.ceil(count / pixels);
  const [tall, wide] = [reach(layout.rows, down), reach(layout.cols, across)];
  for (let r = Math.max(0, at.query - tall); r <= at.query + tall && r < layout.rows; r++) {
    if (pixel(r, down, layout.rows) !== py) continue;
    for (let c = Math.max(0, at.key - wide); c <= at.key + wide && c < layout.cols; c++) {
      if (pixel(c, across, layout.cols) !== px) continue;
      if (!(weightAt(map, r, c) <= weightAt(map, best.query, best.key)))
        if (weightAt(map, r, c) >= 0) best = { query: r, key: c };
    }
  }
  return best;
}
