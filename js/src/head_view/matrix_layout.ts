import { AXIS_LABEL_SIZE } from "../shared/labels.js";
import type { InSight } from "./targets.js";
import { type Target, weightAt } from "./targets.js";
import type { VisibleMap } from "./visible_map.js";

const LARGEST_CELL = 40;
const TALLEST_PLOT = 600;
const LEAST_PLOT = 96;
const READABLE_CELL = 8;
/** Cells are square unless one axis is longer than the other by this factor. */
const SQUARE_UP_TO = 4;
const GAP = 6;
/** Beside cells whose tokens are not named: room for the frame of a locked row. */
const BARE = 4;
/** Over the labels of columns: what they are. */
export const HEADING = 16;
/** Column labels rise at this angle. */
export const ANGLE = Math.PI / 3;
const EVERY = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/** Where the cells lie, in CSS pixels of the canvas. */
export interface MatrixLayout {
  x0: number;
  y0: number;
  cellWidth: number;
  cellHeight: number;
  /** In sight. */
  rows: number;
  cols: number;
  inSight: InSight;
  /** The map that is not zoomed. */
  whole: { rows: number; cols: number; cellWidth: number; cellHeight: number };
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
  /** What is in sight of a zoomed map. */
  inSight?: InSight;
  /** Of the labels' letters. */
  size?: number;
  /** Room at the right and below, for what names parts of the axes. */
  margin?: { right: number; below: number };
}

export function matrixLayout(request: Request): MatrixLayout {
  const {
    room,
    rows,
    cols,
    dpr,
    size = AXIS_LABEL_SIZE,
    margin = { right: 0, below: 0 },
  } = request;
  const large = size / AXIS_LABEL_SIZE;
  const rowLabel = Math.min(request.rowLabel, Math.max(56, Math.min(160, room * 0.2)) * large);
  const colLabel = Math.min(request.colLabel, 110 * large);
  const rise = Math.ceil(colLabel * Math.sin(ANGLE));
  const overhang = Math.ceil(colLabel * Math.cos(ANGLE)) + GAP + margin.right;
  const snap = (x: number) => Math.round(x * dpr) / dpr;
  const x0 = snap(rowLabel + 2 * GAP);
  const y0 = snap(rise + size + HEADING);
  const fits = (space: number, count: number) => Math.min(LARGEST_CELL, space / Math.max(1, count));
  // However little room long tokens leave, there is a map beside them: a wider figure scrolls.
  const widest = fits(Math.max(Math.min(cols, LEAST_PLOT), room - x0 - overhang), cols);
  const tallest = fits(TALLEST_PLOT, rows);
  const square = Math.min(widest, tallest);
  const oblong = Math.max(rows, cols) > SQUARE_UP_TO * Math.min(rows, cols);
  const cell = oblong ? Math.max(square, READABLE_CELL) : square;
  const crisp = (side: number) => (side * dpr >= 1 ? Math.floor(side * dpr + 1e-6) / dpr : side);
  const whole = {
    rows,
    cols,
    cellWidth: crisp(Math.min(widest, cell)),
    cellHeight: crisp(Math.min(tallest, cell)),
  };
  // A zoomed map has the room of the whole one: nothing beside it moves.
  const across = cols * whole.cellWidth;
  const down = rows * whole.cellHeight;
  const height = Math.ceil(y0 + down) + GAP + margin.below;
  const width = Math.ceil(x0 + across + overhang);
  const all = { query: { start: 0, end: rows }, key: { start: 0, end: cols } };
  const { query, key } = request.inSight ?? all;
  const shown = { rows: query.end - query.start, cols: key.end - key.start };
  const sides = [
    crisp(across / Math.max(1, shown.cols)),
    crisp(down / Math.max(1, shown.rows)),
  ] as const;
  const zoomed = shown.rows < rows || shown.cols < cols;
  const [cellWidth, cellHeight] = !zoomed
    ? [whole.cellWidth, whole.cellHeight]
    : oblong
      ? sides
      : [Math.min(...sides), Math.min(...sides)];
  return {
    x0,
    y0,
    cellWidth,
    cellHeight,
    ...shown,
    inSight: { query, key },
    whole,
    dpr,
    width,
    height,
    rowLabel,
    colLabel,
  };
}

/** The same cells with the labels of some sides alone. */
export function withLabels(
  layout: MatrixLayout,
  labelled: Record<"query" | "key", boolean>,
): MatrixLayout {
  const at = { ...layout };
  if (!labelled.query) {
    at.x0 = BARE;
    at.rowLabel = 0;
    at.width = layout.width - layout.x0 + BARE;
  }
  if (!labelled.key) {
    at.y0 = BARE;
    at.colLabel = 0;
    at.height = layout.height - layout.y0 + BARE;
    at.width = Math.ceil(at.x0 + layout.whole.cols * layout.whole.cellWidth) + BARE;
  }
  return at;
}

/**
 * Plot size in device pixels, and of the picture scaled into it: never more pixels than there are.
 */
export function pixelSize(
  layout: Pick<MatrixLayout, "rows" | "cols" | "cellWidth" | "cellHeight" | "dpr">,
) {
  const { rows, cols, cellWidth, cellHeight, dpr } = layout;
  const width = Math.max(1, Math.round(cols * cellWidth * dpr));
  const height = Math.max(1, Math.round(rows * cellHeight * dpr));
  return { width, height, across: Math.min(cols, width), down: Math.min(rows, height) };
}

/** Print every n-th label, so that labels do not overlap. */
export function labelStep(cell: number, needed: number): number {
  return EVERY.find((step) => step * cell >= needed) ?? 1000;
}

/**
 * Draw a hairline every so many tokens; 0 where cells are large enough to count, or too small to
 * rule.
 */
export function ruleStep(cell: number): number {
  if (cell >= READABLE_CELL) return 0;
  if (cell >= 3) return 5;
  return 0;
}

/**
 * The cell, row label or column label under a point. Where cells share a pixel: the one it shows,
 * the strongest.
 */
export function hitMatrix(layout: MatrixLayout, map: VisibleMap, x: number, y: number): Target {
  const { x0, y0, cellWidth, cellHeight, rows, cols, inSight } = layout;
  const top = inSight.query.start;
  const left = inSight.key.start;
  const row = Math.floor((y - y0) / cellHeight);
  const rowHit = row >= 0 && row < rows;
  if (x < x0) return rowHit ? { query: top + row } : {};
  if (y < y0) {
    const col = Math.floor((x - (y0 - y) / Math.tan(ANGLE) - x0) / cellWidth);
    return col >= 0 && col < cols ? { key: left + col } : {};
  }
  const col = Math.floor((x - x0) / cellWidth);
  if (!rowHit || col >= cols) return {};
  const strongest = strongestInPixel(layout, map, { query: row, key: col });
  return { query: top + strongest.query, key: left + strongest.key };
}

function strongestInPixel(
  layout: MatrixLayout,
  map: VisibleMap,
  at: { query: number; key: number },
) {
  const { width, height, across, down } = pixelSize(layout);
  if (across < width && down < height) return at;
  const pixel = (index: number, pixels: number, count: number) =>
    Math.floor((index * pixels) / count);
  const py = pixel(at.query, down, layout.rows);
  const px = pixel(at.key, across, layout.cols);
  const top = layout.inSight.query.start;
  const left = layout.inSight.key.start;
  const size = (r: number, c: number) => Math.abs(weightAt(map, top + r, left + c));
  let best = at;
  const reach = (count: number, pixels: number) => Math.ceil(count / pixels);
  const tall = reach(layout.rows, down);
  const wide = reach(layout.cols, across);
  for (let r = Math.max(0, at.query - tall); r <= at.query + tall && r < layout.rows; r++) {
    if (pixel(r, down, layout.rows) !== py) continue;
    for (let c = Math.max(0, at.key - wide); c <= at.key + wide && c < layout.cols; c++) {
      if (pixel(c, across, layout.cols) !== px) continue;
      if (!(size(r, c) <= size(best.query, best.key)))
        if (size(r, c) >= 0) best = { query: r, key: c };
    }
  }
  return best;
}
