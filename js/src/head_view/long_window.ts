import type { LongHead, Part, Tile } from "./long_types.js";

/** Fewer tokens than this are not zoomed to. */
const FEWEST = 8;
/** Cells a side that a tile has at most. */
export const TILE = 256;
/** Tokens round a link that is gone to. */
const AROUND = 32;

type Sizes = Pick<LongHead, "n_query" | "n_key">;
/** A place of the map, in tokens. */
export interface Place {
  query: number;
  key: number;
}

export const wholeOf = ({ n_query, n_key }: Sizes): Part => [0, n_query, 0, n_key];
export const isWhole = (of: Sizes, part: Part) => wholeOf(of).every((end, i) => end === part[i]);

/** The window as far as the map has it. */
export function partOf(of: Sizes, window: Part | null): Part {
  if (!window || window[0] >= of.n_query || window[2] >= of.n_key) return wholeOf(of);
  return [window[0], Math.min(of.n_query, window[1]), window[2], Math.min(of.n_key, window[3])];
}

/** A range of `n` tokens from `start`, shifted to lie inside the axis. */
function span(start: number, count: number, all: number): [number, number] {
  const from = Math.max(0, Math.min(all - count, start));
  return [from, from + count];
}

/** `times` nearer, with `place` where it is. Both sides keep their share of the map. */
export function zoomed(of: Sizes, part: Part, times: number, place: Place): Part {
  const [q0, q1, k0, k1] = part;
  const least = Math.max(FEWEST / (q1 - q0), FEWEST / (k1 - k0));
  const shrink = Math.max(least, 1 / times);
  const rows = Math.min(of.n_query, (q1 - q0) * shrink);
  const cols = Math.min(of.n_key, (k1 - k0) * shrink);
  return [
    ...span(place.query - ((place.query - q0) / (q1 - q0)) * rows, rows, of.n_query),
    ...span(place.key - ((place.key - k0) / (k1 - k0)) * cols, cols, of.n_key),
  ];
}

/** Moved by so many tokens. */
export function shifted(of: Sizes, [q0, q1, k0, k1]: Part, by: Place): Part {
  return [...span(q0 + by.query, q1 - q0, of.n_query), ...span(k0 + by.key, k1 - k0, of.n_key)];
}

/** The same size round a place. */
export const centred = (of: Sizes, part: Part, { query, key }: Place): Part =>
  shifted(of, part, { query: query - (part[0] + part[1]) / 2, key: key - (part[2] + part[3]) / 2 });

/** Round a cell, near enough to read its tokens. */
export function around(of: Sizes, place: Place): Part {
  const rows = Math.min(AROUND, of.n_query);
  const cols = Math.min(AROUND, of.n_key);
  return whole([
    ...span(place.query + 0.5 - rows / 2, rows, of.n_query),
    ...span(place.key + 0.5 - cols / 2, cols, of.n_key),
  ]);
}

/** Moved no further than a block of cells needs to be in sight. */
export function showing(of: Sizes, part: Part, { query, key }: Place, step: number): Part {
  const way = (from: number, start: number, end: number) =>
    Math.min(0, from - start) + Math.max(0, from + step - end);
  return shifted(of, part, {
    query: way(query, part[0], part[1]),
    key: way(key, part[2], part[3]),
  });
}

/** In whole tokens, of as many as before. */
export function whole([q0, q1, k0, k1]: Part): Part {
  const ends = (from: number, to: number): [number, number] => {
    const start = Math.round(from);
    return [start, start + Math.max(1, Math.round(to - from))];
  };
  return [...ends(q0, q1), ...ends(k0, k1)];
}

/** The window that a part is, no further than the map; null of all. */
export function windowOf(of: Sizes, part: Part): Part | null {
  const [q0, q1, k0, k1] = whole(part);
  const window: Part = [q0, Math.min(of.n_query, q1), k0, Math.min(of.n_key, k1)];
  return isWhole(of, window) ? null : window;
}

/** Whether a tile has all of a part. */
export const covers = ({ queries, keys }: Tile, [q0, q1, k0, k1]: Part): boolean =>
  queries[0] <= q0 && q1 <= queries[1] && keys[0] <= k0 && k1 <= keys[1];

/**
 * Whether another tile shows a part better: a tile that contains all of it, or has smaller blocks.
 */
export function lacks(tile: Tile | null, part: Part): boolean {
  if (!tile || !covers(tile, part)) return true;
  const [q0, q1, k0, k1] = part;
  return tile.step > 1 && Math.max(q1 - q0, k1 - k0) <= (TILE * tile.step) / 2;
}
