import { clamp } from "./clamp.js";
/** Visible part of a map, shared by all figures that zoom. */

/**
 * Ranges [query from, query to, key from, key to) of positions on the visible axes. The start may
 * be fractional during a drag.
 */
export type MapPart = [q0: number, q1: number, k0: number, k1: number];
/** Number of positions on each axis of a map. */
export interface Size {
  rows: number;
  cols: number;
}
/** Position on a map, which may be fractional. */
export type Position = Record<"query" | "key", number>;
/**
 * Space for cells in CSS pixels. Cells of at least one device pixel take an integer number of
 * pixels.
 */
export interface Room {
  across: number;
  down: number;
  density: number;
}

/** Smallest number of positions to zoom to. */
const FEWEST = 4;
/** Number of positions shown around the link after a jump. */
const AROUND = 32;

export const wholeOf = ({ rows, cols }: Size): MapPart => [0, rows, 0, cols];
export const isWhole = (of: Size, part: MapPart): boolean =>
  wholeOf(of).every((end, i) => end === part[i]);
export const samePart = (a: MapPart, b: MapPart): boolean => a.every((end, i) => end === b[i]);

/** Return a range of `count` positions from `start`, shifted to lie inside the axis. */
function span(start: number, count: number, all: number): [number, number] {
  const from = clamp(start, 0, all - count);
  return [from, from + count];
}

/** Return the number of positions that fit with cells of `side` device pixels. */
function fitting(of: Size, { across, down, density }: Room, side: number): Size {
  const count = (room: number, all: number) => {
    const fits = Math.floor((room * density) / side + 1e-6);
    return clamp(fits, 1, all);
  };
  return { rows: count(down, of.rows), cols: count(across, of.cols) };
}

/** Round down to an integer number of device pixels, if there is at least one. */
const crisp = (side: number) => (side >= 1 ? Math.floor(side + 1e-6) : side);

/** Return the side of a cell in device pixels, which is the shorter side for oblong maps. */
const sideOf = ([q0, q1, k0, k1]: MapPart, { across, down, density }: Room) =>
  Math.min(across / (k1 - k0), down / (q1 - q0)) * density;

/**
 * Zoom in by a factor of `times` around `place`, in integer positions. Return the same part if the
 * change is less than a position.
 */
export function zoomed(
  of: Size,
  part: MapPart,
  times: number,
  place: Position,
  room: Room,
): MapPart {
  const [q0, q1, k0, k1] = part;
  const most =
    (Math.max(room.across, room.down) * room.density) /
    Math.min(FEWEST, Math.max(of.rows, of.cols));
  const wanted = Math.min(most, sideOf(part, room) * times);
  const { rows, cols } = fitting(of, room, wanted >= 1 ? Math.max(1, Math.round(wanted)) : wanted);
  const start = (from: number, to: number, at: number, count: number, all: number) => {
    const share = (at - from) / (to - from);
    const [first] = span(Math.round(at - share * count), count, all);
    return [first, first + count] as const;
  };
  return [...start(q0, q1, place.query, rows, of.rows), ...start(k0, k1, place.key, cols, of.cols)];
}

/** Return the part between two positions, with as many neighbors as there is room for. */
export function framed(of: Size, a: Position, b: Position, room: Room): MapPart {
  const touched = (side: keyof Position) =>
    [Math.floor(Math.min(a[side], b[side])), Math.ceil(Math.max(a[side], b[side]))] as const;
  const rows = touched("query");
  const cols = touched("key");
  const reach = ([from, to]: typeof rows) => Math.max(FEWEST, to - from);
  const side = Math.min(room.down / reach(rows), room.across / reach(cols)) * room.density;
  const count = fitting(of, room, crisp(side));
  const middle = ([from, to]: typeof rows, n: number, all: number) =>
    span(Math.round((from + to - n) / 2), n, all);
  return [...middle(rows, count.rows, of.rows), ...middle(cols, count.cols, of.cols)];
}

/** Shift a part by a number of positions. */
export function shifted(of: Size, [q0, q1, k0, k1]: MapPart, by: Position): MapPart {
  return [...span(q0 + by.query, q1 - q0, of.rows), ...span(k0 + by.key, k1 - k0, of.cols)];
}

/** Center a part on a position without changing its size. */
export const centered = (of: Size, part: MapPart, { query, key }: Position): MapPart =>
  shifted(of, part, { query: query - (part[0] + part[1]) / 2, key: key - (part[2] + part[3]) / 2 });

/** Return the part around a cell, close enough to read its tokens. */
export function around(of: Size, place: Position): MapPart {
  const rows = Math.min(AROUND, of.rows);
  const cols = Math.min(AROUND, of.cols);
  return whole([
    ...span(place.query + 0.5 - rows / 2, rows, of.rows),
    ...span(place.key + 0.5 - cols / 2, cols, of.cols),
  ]);
}

/** Shift a part by the smallest distance that makes a token or a block of cells visible. */
export function showing(of: Size, part: MapPart, target: Partial<Position>, step = 1): MapPart {
  const way = (from: number | undefined, start: number, end: number) =>
    from === undefined ? 0 : Math.min(0, from - start) + Math.max(0, from + step - end);
  return shifted(of, part, {
    query: way(target.query, part[0], part[1]),
    key: way(target.key, part[2], part[3]),
  });
}

/** Round a part to integer positions without changing its size. */
export function whole([q0, q1, k0, k1]: MapPart): MapPart {
  const ends = (from: number, to: number): [number, number] => {
    const start = Math.round(from);
    return [start, start + Math.max(1, Math.round(to - from))];
  };
  return [...ends(q0, q1), ...ends(k0, k1)];
}

export const middleOf = ([q0, q1, k0, k1]: MapPart): Position => ({
  query: (q0 + q1) / 2,
  key: (k0 + k1) / 2,
});
