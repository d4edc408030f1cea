import { clamp } from "../../shared/clamp.js";
import { LABEL_SIZE } from "../../shared/labels.js";
import type { Side } from "../../shared/types.js";
import type { MapPart } from "../../shared/window.js";
import type { Target } from "../source/target.js";
import type { Lines, Span } from "./lines_choose.js";

/** Height of the columns beyond which rows move closer together, and then the columns scroll. */
const TALLEST = 540;
/** Height of the headings above the columns. */
export const HEADING = 18;
const WIDEST_AREA = 480;
const LEAST_AREA = 240;
/** Least space between the columns with numbers and bars; below it, only numbers are shown. */
const LEAST_BETWEEN = 160;
/** Least space between the columns with numbers; below it, only bars are shown. */
const LEAST_BESIDE_NUMBERS = 120;
const PADDING = 4;
const GAP = 8;
const SLIM_BAR = 12;
/** Largest width of a bar in free space. */
const FREE_BAR = 80;
const LEAST_PITCH = 4;

/** Return whether columns of this many tokens are higher than the figure. */
export const columnsScroll = (count: number, size: number): boolean => count * (size + 1) > TALLEST;
/** Shape of the lines: 0 is a full S, 1 is straight. */
const STRAIGHTNESS = 0.4;
const CORNERS = 20;

/** Layout of the two columns and the lines between them, in CSS pixels of the visible part. */
export interface LinesLayout {
  rows: number;
  cols: number;
  /** Size of the visible part. */
  width: number;
  height: number;
  /** Height of the complete columns. */
  fullHeight: number;
  scrollTop: number;
  /** Distance between two tokens of a side. */
  pitch: Record<Side, number>;
  /** Position of each side at the top of a map that is zoomed instead of scrolled. */
  from: Record<Side, number>;
  /** Visible part of a zoomed map; absent for columns that scroll. */
  part?: MapPart | undefined;
  labelWidth: number;
  /** Width of the numbers; 0 if there is only room for bars. */
  numberWidth: number;
  /** Width of the bars; 0 if there is only room for numbers. */
  barWidth: number;
  /** Positions of the lines' ends. */
  x0: number;
  x1: number;
}

export function linesLayout(
  room: number,
  scrollTop: number,
  widestLabel: number,
  rows: number,
  cols: number,
  {
    size = LABEL_SIZE,
    whole = false,
    slim = false,
    part,
  }: { size?: number; whole?: boolean; slim?: boolean; part?: MapPart | undefined } = {},
): LinesLayout {
  const count = Math.max(1, rows, cols);
  const even = Math.max(size + 1, Math.min(Math.round(1.5 * size), Math.floor(TALLEST / count)));
  // A zoomed map fills the height in which columns would scroll.
  const fullHeight = part ? TALLEST + 2 * PADDING : Math.max(rows, cols) * even + 2 * PADDING;
  const height = whole ? fullHeight : Math.min(fullHeight, TALLEST + 2 * PADDING);
  const [q0, q1, k0, k1] = part ?? [0, 1, 0, 1];
  const pitch = part
    ? { query: TALLEST / (q1 - q0), key: TALLEST / (k1 - k0) }
    : { query: even, key: even };
  // Use full pixels, so that lines have the same ends on every backend.
  const large = size / LABEL_SIZE;
  const labelWidth = Math.ceil(Math.min(widestLabel, clamp(room * 0.18 * large, 56, 160 * large)));
  const wideBar = Math.round(clamp(room * 0.04, 20, 40));
  const withNumbers = labelWidth + 4 * size + wideBar + 3 * GAP;
  const isSlim = slim || room - 2 * withNumbers < LEAST_BETWEEN;
  const numbersAlone = labelWidth + 4 * size + 2 * GAP;
  const hasNumbers = !isSlim || (!slim && room - 2 * numbersAlone >= LEAST_BESIDE_NUMBERS);
  const leastBar = !isSlim ? wideBar : hasNumbers ? 0 : SLIM_BAR;
  const numberWidth = hasNumbers ? 4 * size : 0;
  const beside = labelWidth + numberWidth + (isSlim ? 2 : 3) * GAP;
  // With few rows and distant columns, every line would be flat.
  const wanted = clamp(height, LEAST_AREA, WIDEST_AREA);
  const area = Math.floor(Math.max(40, Math.min(wanted, room - 2 * (beside + leastBar))));
  const free = Math.floor((room - area) / 2 - beside - leastBar);
  const barWidth = leastBar + (isSlim ? 0 : clamp(free, 0, FREE_BAR));
  const side = beside + barWidth;
  return {
    rows,
    cols,
    width: 2 * side + area,
    height,
    fullHeight,
    scrollTop: clamp(scrollTop, 0, fullHeight - height),
    pitch,
    from: { query: q0, key: k0 },
    part,
    labelWidth,
    numberWidth,
    barWidth,
    x0: side,
    x1: side + area,
  };
}

export const rowCenter = (layout: LinesLayout, side: Side, index: number): number =>
  PADDING + (index - layout.from[side] + 0.5) * layout.pitch[side] - layout.scrollTop;

/** Return the position of a side at a y coordinate. */
const placeOf = (layout: LinesLayout, side: Side, y: number): number =>
  layout.from[side] + (y + layout.scrollTop - PADDING) / layout.pitch[side];

/** Return the area of a zoomed map, without its padding. */
export const zoomRoom = ({ height, x0, x1 }: LinesLayout) => ({
  across: x1 - x0,
  down: height - 2 * PADDING,
  top: PADDING,
});

export function rowsInSight(layout: LinesLayout, side: Side): Span {
  const count = side === "query" ? layout.rows : layout.cols;
  const edge = layout.part ? PADDING : 0;
  const first = Math.floor(placeOf(layout, side, edge) + 1e-6);
  const last = Math.ceil(placeOf(layout, side, layout.height - edge) - 1e-6);
  return { start: Math.max(0, first), end: Math.min(count, last) };
}

/** Return the scroll position that makes a row visible; unchanged for a visible row. */
export function scrollTo(layout: LinesLayout, index: number): number {
  if (layout.part) return 0;
  const { query: pitch } = layout.pitch;
  const top = PADDING + index * pitch;
  return Math.min(Math.max(layout.scrollTop, top + pitch + PADDING - layout.height), top - PADDING);
}

/** Return the scroll position that centers a row; unchanged for a visible row. */
export function scrollToMiddle(layout: LinesLayout, index: number): number {
  const top = scrollTo(layout, index);
  if (top === layout.scrollTop) return top;
  const middle = PADDING + (index + 0.5) * layout.pitch.query - layout.height / 2;
  return Math.round(clamp(middle, 0, layout.fullHeight - layout.height));
}

/**
 * Corners of an eased line: the share of the horizontal distance (0 left, 1 right) and the share of
 * the vertical distance there. Corners are closest where the line bends most. Polylines instead of
 * curves make every engine draw the same pixels.
 */
export const EASED: [across: number, along: number][] = Array.from(
  { length: CORNERS + 1 },
  (_, i) => {
    const t = (2 * i) / CORNERS - 1;
    const across = (1 + Math.sign(t) * Math.abs(t) ** (2 / 3)) / 2;
    const v = 1 - across;
    const lean = STRAIGHTNESS / 3;
    const along = 3 * v * v * across * lean + 3 * v * across ** 2 * (1 - lean) + across ** 3;
    return [across, along];
  },
);
export const STRAIGHT: typeof EASED = EASED.filter((_, i) => i % CORNERS === 0);

/** Return the share of the vertical distance (0 to 1) at a share of the horizontal distance. */
export function alongAt(corners: typeof EASED, u: number): number {
  let i = 1;
  while (i < corners.length - 1 && (corners[i]?.[0] ?? 1) < u) i++;
  const [[u0, s0], [u1, s1]] = [corners[i - 1] ?? [0, 0], corners[i] ?? [1, 1]];
  return s0 + ((u - u0) / (u1 - u0)) * (s1 - s0);
}

/** Return the token or line at a point. */
export function hitLines(layout: LinesLayout, x: number, y: number, lines: Lines): Target {
  if (x <= layout.x0 || x >= layout.x1) {
    const side = x <= layout.x0 ? "query" : "key";
    const index = Math.floor(placeOf(layout, side, y));
    const { start, end } = rowsInSight(layout, side);
    // Tokens that are closer together than this cannot be pointed at.
    return layout.pitch[side] >= LEAST_PITCH && index >= start && index < end
      ? { [side]: index }
      : {};
  }
  return nearestLine(lines, layout, x, y);
}

/** Distances in pixels: the strongest line within NEAR is hit, otherwise the nearest within FAR. */
const NEAR = 3;
const FAR = 6;

/** Return the line that a point between the columns hits. */
function nearestLine(lines: Lines, layout: LinesLayout, x: number, y: number): Target {
  const length = layout.x1 - layout.x0;
  const share = alongAt(EASED, (x - layout.x0) / length);
  let best = FAR;
  let at = -1;
  for (let i = lines.count - 1; i >= 0; i--) {
    const start = rowCenter(layout, "query", lines.query[i] ?? 0);
    const end = rowCenter(layout, "key", lines.key[i] ?? 0);
    const slope = (end - start) / length;
    const away = Math.abs(start + share * (end - start) - y) / Math.hypot(1, slope);
    if (away < best) {
      best = away;
      at = i;
    }
    if (away < NEAR) break;
  }
  return at < 0 ? {} : { query: lines.query[at], key: lines.key[at] };
}
