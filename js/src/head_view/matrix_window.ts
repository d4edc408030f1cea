import type { Span } from "./lines_choose.js";
import type { MatrixLayout } from "./matrix_layout.js";
import type { ViewState } from "./state.js";
import type { InSight, Place } from "./targets.js";
import type { VisibleMap } from "./visible_map.js";

type Window = ViewState["window"];
/** Sides of cells that a matrix is zoomed to, in device pixels. */
const SIDES = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96];
/** Fewer rows and columns than this are not zoomed to. */
const FEWEST = 4;

/**
 * The part of a map in a window: the whole map without a window, or if the window contains none of
 * its tokens.
 */
export function inSightOf({ rows, cols }: VisibleMap, window: Window): InSight {
  const whole = { query: { start: 0, end: rows.length }, key: { start: 0, end: cols.length } };
  if (!window) return whole;
  const span = (shown: number[], from: number, to: number): Span => {
    const [start, end] = [from, to].map((at) => shown.findIndex((index) => index >= at));
    return {
      start: start === -1 ? shown.length : (start ?? 0),
      end: end === -1 ? shown.length : (end ?? 0),
    };
  };
  const [q0, q1, k0, k1] = window;
  const spans = { query: span(rows, q0, q1), key: span(cols, k0, k1) };
  const empty = spans.query.start >= spans.query.end || spans.key.start >= spans.key.end;
  return empty ? whole : spans;
}

/** The window that shows these rows and columns; null where they are all. */
export function windowOf({ rows, cols }: VisibleMap, { query, key }: InSight): Window {
  if (query.end - query.start >= rows.length && key.end - key.start >= cols.length) return null;
  const first = (shown: number[], at: number) => shown[at] ?? 0;
  const after = (shown: number[], at: number) => (shown[at - 1] ?? 0) + 1;
  return [
    first(rows, query.start),
    after(rows, query.end),
    first(cols, key.start),
    after(cols, key.end),
  ];
}

/** `count` rows of `all` from `start` on, moved to where there are so many. */
function placed(start: number, count: number, all: number): Span {
  const from = Math.max(0, Math.min(all - count, Math.round(start)));
  return { start: from, end: from + count };
}

/**
 * The rows and columns that fit with cells of this side, `place` being `share` of the way across
 * and down.
 */
function fitting({ whole }: MatrixLayout, side: number, place: Place, share: Place): InSight {
  const span = (at: number, part: number, all: number, cell: number) => {
    const count = Math.max(
      1,
      Math.min(all, Math.floor((all * cell) / Math.max(cell, side) + 1e-6)),
    );
    return placed(at - part * count, count, all);
  };
  return {
    query: span(place.query, share.query, whole.rows, whole.cellHeight),
    key: span(place.key, share.key, whole.cols, whole.cellWidth),
  };
}

/**
 * A step nearer (1) or farther (-1), with `place` where it is; the same where there is no such
 * step.
 */
export function stepped(at: MatrixLayout, by: 1 | -1, place: Place): InSight {
  const { whole, dpr, inSight: now } = at;
  const least = Math.min(whole.cellWidth, whole.cellHeight) * dpr;
  const most =
    (Math.max(whole.rows * whole.cellHeight, whole.cols * whole.cellWidth) * dpr) / FEWEST;
  const sides = [least, ...SIDES.filter((side) => side > least * 1.01 && side <= most)];
  const share = {
    query: (place.query - now.query.start) / (now.query.end - now.query.start),
    key: (place.key - now.key.start) / (now.key.end - now.key.start),
  };
  const cells = ({ query, key }: InSight) => (query.end - query.start) * (key.end - key.start);
  const sidesOf = (by > 0 ? sides : sides.reverse()).map((side) =>
    fitting(at, side / dpr, place, share),
  );
  return sidesOf.find((each) => (cells(each) - cells(now)) * by < 0) ?? now;
}

/** The rows and columns between two positions, with as many neighbours as fit. */
export function framed(at: MatrixLayout, a: Place, b: Place): InSight {
  const { whole, dpr } = at;
  const touched = (side: keyof Place) =>
    [Math.floor(Math.min(a[side], b[side])), Math.ceil(Math.max(a[side], b[side]))] as const;
  const rows = touched("query");
  const cols = touched("key");
  const reach = ([from, to]: typeof rows) => Math.max(FEWEST, to - from);
  const room = Math.min(
    (whole.rows * whole.cellHeight) / reach(rows),
    (whole.cols * whole.cellWidth) / reach(cols),
  );
  const device = room * dpr;
  const side = device >= 1 ? Math.floor(device) / dpr : room;
  const middle = { query: (rows[0] + rows[1]) / 2, key: (cols[0] + cols[1]) / 2 };
  return fitting(at, side, middle, { query: 0.5, key: 0.5 });
}

/** Moved by so many rows and columns. */
export function moved({ whole, inSight }: MatrixLayout, by: Place): InSight {
  const { query, key } = inSight;
  return {
    query: placed(query.start + by.query, query.end - query.start, whole.rows),
    key: placed(key.start + by.key, key.end - key.start, whole.cols),
  };
}

/** Moved no further than a token, or a cell, needs to be in sight. */
export function showing(at: MatrixLayout, target: Partial<Place>): InSight {
  const way = (index: number | undefined, { start, end }: Span) =>
    index === undefined ? 0 : Math.min(0, index - start) + Math.max(0, index + 1 - end);
  return moved(at, {
    query: way(target.query, at.inSight.query),
    key: way(target.key, at.inSight.key),
  });
}

export const same = (a: InSight, b: InSight) =>
  (["query", "key"] as const).every(
    (side) => a[side].start === b[side].start && a[side].end === b[side].end,
  );
