import { clamp } from "../../shared/clamp.js";
import { AXIS_LABEL_SIZE } from "../../shared/labels.js";
import { isWhole, type MapPart, type Room, type Size, wholeOf } from "../../shared/window.js";
import { sourceOf, weightAt } from "../source/source_of.js";
import type { Target } from "../source/target.js";
import type { VisibleMap } from "../source/visible_map.js";

const LARGEST_CELL = 40;
const TALLEST_PLOT = 600;
const LEAST_PLOT = 96;
const READABLE_CELL = 8;
/** Share of the available space that cells of full device pixels must fill. */
const LEAST_SHARE = 2 / 3;
/** Ratio of the axes up to which cells are square. */
const SQUARE_UP_TO = 4;
const GAP = 6;
/** Space next to cells without token names for the frame of a locked row. */
const BARE = 4;
/** Width of the separate column of the first key. */
export const STRIP = 10;
/** Height of the heading above the column labels. */
export const HEADING = 16;
/** Angle of the column labels. */
export const ANGLE = Math.PI / 3;
const EVERY = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
/** Largest label step with token names. Rarer labels are positions, which are more informative. */
const MOST_THINNED = 20;

/** Layout of the cells in CSS pixels of the canvas. */
export interface MatrixLayout {
  x0: number;
  y0: number;
  cellWidth: number;
  cellHeight: number;
  /** Visible part, with its number of rows and columns. */
  part: MapPart;
  rows: number;
  cols: number;
  /** Size of the complete map, and the space for its cells. */
  size: Size;
  room: Room;
  dpr: number;
  width: number;
  height: number;
  /** Space for the row labels, and for the column labels along their slope. */
  rowLabel: number;
  colLabel: number;
  /** Left edge of the separate column of the first key. */
  strip?: number | undefined;
}

interface MatrixRequest {
  room: number;
  rows: number;
  cols: number;
  /** Widths of the widest labels. */
  rowLabel: number;
  colLabel: number;
  dpr: number;
  /** Visible part of a zoomed map. */
  part?: MapPart;
  /** Font size of the labels. */
  size?: number;
  /** Space on the right and below for the names of prompt and generated text. */
  margin?: { right: number; below: number };
  /** Whether the first key has a separate column. */
  apart?: boolean;
}

export function matrixLayout(request: MatrixRequest): MatrixLayout {
  const {
    room,
    rows,
    cols,
    dpr,
    size = AXIS_LABEL_SIZE,
    margin = { right: 0, below: 0 },
    part = wholeOf(request),
    apart = false,
  } = request;
  const large = size / AXIS_LABEL_SIZE;
  const rowLabel = Math.min(request.rowLabel, clamp(room * 0.2, 56, 160) * large);
  const colLabel = Math.min(request.colLabel, 110 * large);
  const rise = Math.ceil(colLabel * Math.sin(ANGLE));
  const overhang = Math.ceil(colLabel * Math.cos(ANGLE)) + GAP + margin.right;
  const snap = (x: number) => Math.round(x * dpr) / dpr;
  const strip = snap(rowLabel + 2 * GAP);
  const x0 = apart ? snap(strip + STRIP + GAP) : strip;
  const y0 = snap(rise + size + HEADING);
  const fits = (space: number, count: number) => Math.min(LARGEST_CELL, space / Math.max(1, count));
  // Keep a smallest map width next to long tokens; a wider figure scrolls.
  const widest = fits(Math.max(Math.min(cols, LEAST_PLOT), room - x0 - overhang), cols);
  const tallest = fits(TALLEST_PLOT, rows);
  const square = Math.min(widest, tallest);
  const oblong = Math.max(rows, cols) > SQUARE_UP_TO * Math.min(rows, cols);
  const cell = oblong ? Math.max(square, READABLE_CELL) : square;
  const crisp = (side: number) => {
    const whole = Math.floor(side * dpr + 1e-6) / dpr;
    return whole >= LEAST_SHARE * side ? whole : side;
  };
  // A zoomed map takes the same space as the complete map, so that nothing next to it moves.
  const across = cols * crisp(Math.min(widest, cell));
  const down = rows * crisp(Math.min(tallest, cell));
  // The name of the first key is below its separate column.
  const below = Math.max(margin.below, apart ? size : 0);
  const [q0, q1, k0, k1] = part;
  const shown = { rows: q1 - q0, cols: k1 - k0 };
  const sides = [
    crisp(across / Math.max(1, shown.cols)),
    crisp(down / Math.max(1, shown.rows)),
  ] as const;
  const zooms = !isWhole(request, part);
  const alike = Math.min(...sides);
  const [cellWidth, cellHeight] = zooms && !oblong ? [alike, alike] : sides;
  return {
    x0,
    y0,
    cellWidth,
    cellHeight,
    ...shown,
    part,
    size: { rows, cols },
    room: { across, down, density: dpr },
    dpr,
    width: Math.ceil(x0 + across + overhang),
    height: Math.ceil(y0 + down) + GAP + below,
    rowLabel,
    colLabel,
    strip: apart ? strip : undefined,
  };
}

/** Return the same cells with labels on some sides only. */
export function withLabels(
  layout: MatrixLayout,
  labeled: Record<"query" | "key", boolean>,
): MatrixLayout {
  const at = { ...layout };
  const before = layout.strip ?? layout.x0;
  if (!labeled.query) {
    at.x0 = layout.x0 - before + BARE;
    at.strip = layout.strip === undefined ? undefined : BARE;
    at.rowLabel = 0;
    at.width = layout.width - before + BARE;
  }
  if (!labeled.key) {
    at.y0 = BARE;
    at.colLabel = 0;
    at.height = layout.height - layout.y0 + BARE;
    at.width = Math.ceil(at.x0 + layout.room.across) + BARE;
  }
  return at;
}

/** Return the start of a row or a column in the visible part. */
export const yOf = ({ y0, cellHeight, part }: MatrixLayout, query: number): number =>
  y0 + (query - part[0]) * cellHeight;
export const xOf = ({ x0, cellWidth, part }: MatrixLayout, key: number): number =>
  x0 + (key - part[2]) * cellWidth;

/**
 * Return the plot size in device pixels, and the size of the image scaled into it, which never has
 * more pixels than cells.
 */
export function pixelSize(
  layout: Pick<MatrixLayout, "rows" | "cols" | "cellWidth" | "cellHeight" | "dpr">,
) {
  const { rows, cols, cellWidth, cellHeight, dpr } = layout;
  const width = Math.max(1, Math.round(cols * cellWidth * dpr));
  const height = Math.max(1, Math.round(rows * cellHeight * dpr));
  return { width, height, across: Math.min(cols, width), down: Math.min(rows, height) };
}

/** Return the label step n: printing every n-th label avoids overlaps. */
export function labelStep(cell: number, needed: number): number {
  return EVERY.find((step) => step * cell >= needed) ?? 10_000;
}

/** Return whether labels at this step are tokens rather than positions. */
export const namesTokens = (step: number): boolean => step <= MOST_THINNED;

/**
 * Return the number of tokens between hairlines; 0 if cells are large enough to count or too small
 * for lines.
 */
export function ruleStep(cell: number): number {
  if (cell >= READABLE_CELL) return 0;
  if (cell >= 3) return 5;
  return 0;
}

/**
 * Return the cell, row label or column label at a point, or the block of cells known there. If
 * cells share a pixel, return the strongest one, which the pixel shows.
 */
export function hitMatrix(layout: MatrixLayout, map: VisibleMap, x: number, y: number): Target {
  const { x0, y0, cellWidth, cellHeight, part, strip = x0 } = layout;
  const [q0, q1, k0, k1] = part;
  const row = q0 + (y - y0) / cellHeight;
  const rowHit = row >= q0 && row < q1;
  if (x < strip) return rowHit ? { query: Math.floor(row) } : {};
  if (y < y0) {
    const col = k0 + (x - (y0 - y) / Math.tan(ANGLE) - x0) / cellWidth;
    return col >= k0 && col < k1 ? { key: Math.floor(col) } : {};
  }
  const col = k0 + (x - x0) / cellWidth;
  if (!rowHit || col < k0 || col >= k1) return {};
  const source = sourceOf(map);
  if (source.isComplete)
    return strongestInPixel(layout, map, { query: Math.floor(row), key: Math.floor(col) });
  const block = source.at({ query: row, key: col });
  return block ? { query: block.query, key: block.key, step: block.step } : {};
}

function strongestInPixel(
  layout: MatrixLayout,
  map: VisibleMap,
  at: { query: number; key: number },
) {
  const { width, height, across, down } = pixelSize(layout);
  if (across < width && down < height) return at;
  const [top, , left] = layout.part.map(Math.floor) as MapPart;
  const pixel = (index: number, pixels: number, count: number) =>
    Math.floor((index * pixels) / count);
  const py = pixel(at.query - top, down, layout.rows);
  const px = pixel(at.key - left, across, layout.cols);
  const size = (r: number, c: number) => Math.abs(weightAt(map, r, c));
  let best = at;
  const reach = (count: number, pixels: number) => Math.ceil(count / pixels);
  const tall = reach(layout.rows, down);
  const wide = reach(layout.cols, across);
  const [bottom, right] = [top + layout.rows, left + layout.cols];
  for (let r = Math.max(top, at.query - tall); r <= at.query + tall && r < bottom; r++) {
    if (pixel(r - top, down, layout.rows) !== py) continue;
    for (let c = Math.max(left, at.key - wide); c <= at.key + wide && c < right; c++) {
      if (pixel(c - left, across, layout.cols) !== px) continue;
      if (!(size(r, c) <= size(best.query, best.key)))
        if (size(r, c) >= 0) best = { query: r, key: c };
    }
  }
  return best;
}
