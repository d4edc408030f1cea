import { clamp } from "../../shared/clamp.js";
import { LABEL_SIZE } from "../../shared/labels.js";
import type { Side } from "../../shared/types.js";
import type { MapPart } from "../../shared/window.js";
import type { Target } from "../source/target.js";
import type { Lines, Span } from "./lines_choose.js";

/** Rows come closer before the columns grow beyond this; when they cannot, the columns scroll. */
const TALLEST = 540;
/** Over the columns: what they are. */
export const HEADING = 18;
const WIDEST_AREA = 480;
const LEAST_AREA = 240;
/** Numbers with bars leave at least so much to the lines; else there are numbers alone. */
const LEAST_BETWEEN = 160;
/** Numbers alone leave at least so much to the lines; else there are bars alone. */
const LEAST_BESIDE_NUMBERS = 120;
const PADDING = 4;
const GAP = 8;
const SLIM_BAR = 12;
/** The free width that a bar beside weights takes at most. */
const FREE_BAR = 80;
const LEAST_PITCH = 4;

/** Whether columns of so many tokens are higher than the figure. */
export const columnsScroll = (count: number, size: number): boolean => count * (size + 1) > TALLEST;
/** 0 is a full S, 1 straight. */
const STRAIGHTNESS = 0.4;
const CORNERS = 20;

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
  /** From one token of a side to the next. */
  pitch: Record<Side, number>;
  /** The position of a side at the top, of a map that is not scrolled but zoomed. */
  from: Record<Side, number>;
  /** In sight of a zoomed map; absent of columns that scroll. */
  part?: MapPart | undefined;
  labelWidth: number;
  /** 0 where there is only room for bars. */
  numberWidth: number;
  /** 0 where there is only room for numbers. */
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
  {
    size = LABEL_SIZE,
    whole = false,
    slim = false,
    part,
  }: { size?: number; whole?: boolean; slim?: boolean; part?: MapPart | undefined } = {},
): LinesLayout {
  const count = Math.max(1, rows, cols);
  const even = Math.max(size + 1, Math.min(Math.round(1.5 * size), Math.floor(TALLEST / count)));
  // A zoomed map fills the height, which columns would scroll in.
  const fullHeight = part ? TALLEST + 2 * PADDING : Math.max(rows, cols) * even + 2 * PADDING;
  const height = whole ? fullHeight : Math.min(fullHeight, TALLEST + 2 * PADDING);
  const [q0, q1, k0, k1] = part ?? [0, 1, 0, 1];
  const pitch = part
    ? { query: TALLEST / (q1 - q0), key: TALLEST / (k1 - k0) }
    : { query: even, key: even };
  // Whole pixels, so that lines have the same ends on every backend.
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
  // Few rows between far columns would make every line flat.
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

/** The place of a side at a height. */
const placeOf = (layout: LinesLayout, side: Side, y: number): number =>
  layout.from[side] + (y + layout.scrollTop - PADDING) / layout.pitch[side];

/** The room of a zoomed map, without what is above and below it. */
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

/** Scroll position that makes a row visible; unchanged for a visible row. */
export function scrollTo(layout: LinesLayout, index: number): number {
  if (layout.part) return 0;
  const { query: pitch } = layout.pitch;
  const top = PADDING + index * pitch;
  return Math.min(Math.max(layout.scrollTop, top + pitch + PADDING - layout.height), top - PADDING);
}

/** Scroll position with a row in the middle; unchanged for a visible row. */
export function scrollToMiddle(layout: LinesLayout, index: number): number {
  const top = scrollTo(layout, index);
  if (top === layout.scrollTop) return top;
  const middle = PADDING + (index + 0.5) * layout.pitch.query - layout.height / 2;
  return Math.round(clamp(middle, 0, layout.fullHeight - layout.height));
}

/**
 * The corners of an eased line: the share of the way across (0 left, 1 right), and the share of the
 * way up or down there. They stand closest where the line bends most. Corners, and no curve: every
 * engine draws these in the same places.
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

/** How far along a line is, 0 to 1, at a share of the way across. */
export function alongAt(corners: typeof EASED, u: number): number {
  let i = 1;
  while (i < corners.length - 1 && (corners[i]?.[0] ?? 1) < u) i++;
  const [[u0, s0], [u1, s1]] = [corners[i - 1] ?? [0, 0], corners[i] ?? [1, 1]];
  return s0 + ((u - u0) / (u1 - u0)) * (s1 - s0);
}

/** The token or line under a point. */
export function hitLines(layout: LinesLayout, x: number, y: number, lines: Lines): Target {
  if (x <= layout.x0 || x >= layout.x1) {
    const side = x <= layout.x0 ? "query" : "key";
    const index = Math.floor(placeOf(layout, side, y));
    const { start, end } = rowsInSight(layout, side);
    // Of tokens that lie closer nobody can point at one.
    return layout.pitch[side] >= LEAST_PITCH && index >= start && index < end
      ? { [side]: index }
      : {};
  }
  return nearestLine(lines, layout, x, y);
}

/** Within so many pixels the strongest line is meant, else the nearest up to FAR. */
const NEAR = 3;
const FAR = 6;

/** The line that a point between the tokens means. */
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
