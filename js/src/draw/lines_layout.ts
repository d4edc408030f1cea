import type { Lines, Span } from "./lines_choose.js";
import type { Target } from "./scene.js";

export const ROW_HEIGHT = 18;
/** Rows in sight before the columns scroll; the half one shows that there are more. */
const MOST_ROWS = 25.5;
const WIDEST_AREA = 480;
const LEAST_AREA = 240;
const PADDING = 4;
const GAP = 8;
export const NUMBER_WIDTH = 48;
/** Within so many pixels the strongest line is meant, else the nearest up to FAR. */
const NEAR = 3;
const FAR = 6;
/** 0 is a full S, 1 straight. */
const STRAIGHTNESS = 0.4;

/** Where the two columns and the lines between them lie, in CSS pixels of the part in sight. */
export interface LinesLayout {
  rows: number;
  cols: number;
  /** Of the part in sight. */
  width: number;
  height: number;
  /** Of everything, in sight or not. */
  fullHeight: number;
  scrollTop: number;
  labelWidth: number;
  barWidth: number;
  /** The lines' ends. */
  x0: number;
  x1: number;
}

export function linesLayout(
  room: number,
  scrollTop: number,
  widestLabel: number,
  rows: number,
  cols: number,
): LinesLayout {
  const fullHeight = Math.max(rows, cols) * ROW_HEIGHT + 2 * PADDING;
  const height = Math.min(fullHeight, MOST_ROWS * ROW_HEIGHT + 2 * PADDING);
  const labelWidth = Math.min(widestLabel, Math.max(56, Math.min(160, room * 0.18)));
  const barWidth = Math.max(20, Math.min(40, room * 0.04));
  const side = labelWidth + NUMBER_WIDTH + barWidth + 3 * GAP;
  // Few rows between far columns would make every line flat.
  const wanted = Math.max(LEAST_AREA, Math.min(WIDEST_AREA, height));
  const area = Math.max(40, Math.min(wanted, room - 2 * side));
  return {
    rows,
    cols,
    width: 2 * side + area,
    height,
    fullHeight,
    scrollTop: Math.max(0, Math.min(scrollTop, fullHeight - height)),
    labelWidth,
    barWidth,
    x0: side,
    x1: side + area,
  };
}

export const rowCentre = (layout: LinesLayout, index: number) =>
  PADDING + (index + 0.5) * ROW_HEIGHT - layout.scrollTop;

export function rowsInSight(layout: LinesLayout): Span {
  const first = Math.floor((layout.scrollTop - PADDING) / ROW_HEIGHT);
  const last = Math.ceil((layout.scrollTop + layout.height - PADDING) / ROW_HEIGHT);
  return { start: Math.max(0, first), end: Math.min(Math.max(layout.rows, layout.cols), last) };
}

/** Scroll position that brings a row into sight, the present one if it is. */
export function scrollTo(layout: LinesLayout, index: number): number {
  const top = PADDING + index * ROW_HEIGHT;
  return Math.min(
    Math.max(layout.scrollTop, top + ROW_HEIGHT + PADDING - layout.height),
    top - PADDING,
  );
}

/** Control points a third and two thirds of the way make x run evenly: `curveHeight` is then exact. */
export function controlHeights(from: number, to: number): [number, number] {
  const lean = ((to - from) * STRAIGHTNESS) / 3;
  return [from + lean, to - lean];
}

/** The height of a line at u (0 left, 1 right). */
export function curveHeight(from: number, to: number, u: number): number {
  const [a, b] = controlHeights(from, to);
  const v = 1 - u;
  return v * v * v * from + 3 * v * v * u * a + 3 * v * u * u * b + u * u * u * to;
}

/** The token or line under a point. */
export function hitLines(layout: LinesLayout, x: number, y: number, lines: Lines): Target {
  const index = Math.floor((y + layout.scrollTop - PADDING) / ROW_HEIGHT);
  if (x <= layout.x0) return index >= 0 && index < layout.rows ? { query: index } : {};
  if (x >= layout.x1) return index >= 0 && index < layout.cols ? { key: index } : {};
  const u = (x - layout.x0) / (layout.x1 - layout.x0);
  let [best, at] = [FAR, -1];
  for (let i = lines.count - 1; i >= 0; i--) {
    const from = rowCentre(layout, lines.query[i] ?? 0);
    const to = rowCentre(layout, lines.key[i] ?? 0);
    const slope = (to - from) / (layout.x1 - layout.x0);
    const away = Math.abs(curveHeight(from, to, u) - y) / Math.hypot(1, slope);
    if (away < best) [best, at] = [away, i];
    if (away < NEAR) break;
  }
  return at < 0 ? {} : { query: lines.query[at], key: lines.key[at] };
}
