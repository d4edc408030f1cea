import { clamp } from "./clamp.js";
/** The part of a map that is in sight: one model of it for every figure that zooms. */

/**
 * [query from, query to, key from, key to), as positions on the axes that are shown; the start need
 * not be whole while a hand moves it.
 */
export type MapPart = [q0: number, q1: number, k0: number, k1: number];
/** How many positions a map has. */
export interface Size {
  rows: number;
  cols: number;
}
/** A place of a map, which need not be whole. */
export type Position = Record<"query" | "key", number>;
/** Room for cells, in CSS pixels: cells of a device pixel or more are whole pixels. */
export interface Room {
  across: number;
  down: number;
  density: number;
}

/** Fewer positions than this are not zoomed to. */
const FEWEST = 4;
/** Positions round a link that is gone to. */
const AROUND = 32;

export const wholeOf = ({ rows, cols }: Size): MapPart => [0, rows, 0, cols];
export const isWhole = (of: Size, part: MapPart): boolean =>
  wholeOf(of).every((end, i) => end === part[i]);
export const samePart = (a: MapPart, b: MapPart): boolean => a.every((end, i) => end === b[i]);

/** A range of `count` positions from `start`, moved to lie inside the axis. */
function span(start: number, count: number, all: number): [number, number] {
  const from = clamp(start, 0, all - count);
  return [from, from + count];
}

/** As many positions as fit with cells of `side`, in device pixels, where they are that large. */
function fitting(of: Size, { across, down, density }: Room, side: number): Size {
  const count = (room: number, all: number) => {
    const fits = Math.floor((room * density) / side + 1e-6);
    return clamp(fits, 1, all);
  };
  return { rows: count(down, of.rows), cols: count(across, of.cols) };
}

/** Whole device pixels, from one on. */
const crisp = (side: number) => (side >= 1 ? Math.floor(side + 1e-6) : side);

/** The side of a cell, in device pixels: of oblong maps the shorter one. */
const sideOf = ([q0, q1, k0, k1]: MapPart, { across, down, density }: Room) =>
  Math.min(across / (k1 - k0), down / (q1 - q0)) * density;

/**
 * `times` nearer, with `place` where it is, in whole positions; the same part where that is no
 * whole position nearer.
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

/** What lies between two places, with as many neighbors as there is room for. */
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

/** Moved by so many positions. */
export function shifted(of: Size, [q0, q1, k0, k1]: MapPart, by: Position): MapPart {
  return [...span(q0 + by.query, q1 - q0, of.rows), ...span(k0 + by.key, k1 - k0, of.cols)];
}

/** The same size round a place. */
export const centered = (of: Size, part: MapPart, { query, key }: Position): MapPart =>
  shifted(of, part, { query: query - (part[0] + part[1]) / 2, key: key - (part[2] + part[3]) / 2 });

/** Round a cell, near enough to read its tokens. */
export function around(of: Size, place: Position): MapPart {
  const rows = Math.min(AROUND, of.rows);
  const cols = Math.min(AROUND, of.cols);
  return whole([
    ...span(place.query + 0.5 - rows / 2, rows, of.rows),
    ...span(place.key + 0.5 - cols / 2, cols, of.cols),
  ]);
}

/** Moved no further than a token, or a block of cells, needs to be in sight. */
export function showing(of: Size, part: MapPart, target: Partial<Position>, step = 1): MapPart {
  const way = (from: number | undefined, start: number, end: number) =>
    from === undefined ? 0 : Math.min(0, from - start) + Math.max(0, from + step - end);
  return shifted(of, part, {
    query: way(target.query, part[0], part[1]),
    key: way(target.key, part[2], part[3]),
  });
}

/** In whole positions, of as many as before. */
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
