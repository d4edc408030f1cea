import { zeroLevel } from "../../shared/color_levels.js";
import type { Pair } from "../source/map_source.js";
import type { VisibleMap } from "../source/visible_map.js";

/** Lines to draw, weakest first. `level` is their thickness and their entry of the color table. */
export interface Lines {
  count: number;
  query: Int32Array;
  key: Int32Array;
  level: Uint8Array | Uint16Array;
  /** Number of weaker lines in sight that were left out for speed. */
  leftOut: number;
}

export interface Span {
  start: number;
  end: number;
}

/** Largest number of drawn lines. More lines cannot be told apart and take longer than a frame. */
export const MOST_LINES = 12_000;

/**
 * Return the lines of a complete map with at least one visible end. With `focus`, only the lines of
 * its tokens.
 */
export function linesInView(
  map: VisibleMap,
  view: Span,
  toLevel: (weight: number) => number,
  focus?: { query: Set<number>; key: Set<number> },
): Lines {
  const found = collector(map.signed, toLevel);
  const width = map.cols.length;
  const { values } = map.parts.overview;
  const add = (r: number, c: number, cutoff: number) => {
    const weight = values[r * width + c] ?? 0;
    const size = Math.abs(weight);
    if (size > 0 && size >= cutoff) found.add(r, c, weight);
  };
  for (let r = 0; r < map.rows.length; r++) {
    const cutoff = map.least?.[r] ?? 0;
    const inSight = r >= view.start && r < view.end;
    const [start, end] = inSight ? [0, width] : [view.start, Math.min(view.end, width)];
    if (!focus || focus.query.has(r)) for (let c = start; c < end; c++) add(r, c, cutoff);
    else for (const c of focus.key) if (c >= start && c < end) add(r, c, cutoff);
  }
  return found.strongestLast();
}

/**
 * Return the lines of the known pairs of an incomplete map. With `focus`, only the lines of its
 * tokens.
 */
export function linesOfPairs(
  pairs: Pair[],
  { signed = false, least }: Pick<VisibleMap, "signed" | "least">,
  toLevel: (weight: number) => number,
  focus?: { query: Set<number>; key: Set<number> },
): Lines {
  const found = collector(signed, toLevel);
  for (const { query, key, weight } of pairs) {
    if (focus && !focus.query.has(query) && !focus.key.has(key)) continue;
    if (Math.abs(weight) >= (least?.[query] ?? 0)) found.add(query, key, weight);
  }
  return found.strongestLast();
}

/** Return a collector of pairs with a line. A weight at the level of 0 has no line. */
function collector(signed: boolean | undefined, toLevel: (weight: number) => number) {
  const [queries, keys, levels]: [number[], number[], number[]] = [[], [], []];
  const counts = new Int32Array(257);
  const zero = zeroLevel(signed);
  return {
    add(query: number, key: number, weight: number): void {
      const level = toLevel(weight);
      if (level === zero) return;
      queries.push(query);
      keys.push(key);
      levels.push(level);
      const strength = Math.abs(level - zero);
      counts[strength + 1] = (counts[strength + 1] ?? 0) + 1;
    },
    strongestLast: () => strongestLast(queries, keys, levels, counts, zero),
  };
}

/**
 * Sort lines by the distance of their level from `zero` with a counting sort, and drop the weakest
 * beyond MOST_LINES.
 */
function strongestLast(
  query: number[],
  key: number[],
  level: number[],
  counts: Int32Array,
  zero: number,
): Lines {
  for (let i = 1; i < counts.length; i++) counts[i] = (counts[i] ?? 0) + (counts[i - 1] ?? 0);
  const leftOut = Math.max(0, query.length - MOST_LINES);
  const count = query.length - leftOut;
  const lines: Lines = {
    count,
    query: new Int32Array(count),
    key: new Int32Array(count),
    level: new Uint8Array(count),
    leftOut,
  };
  for (let i = 0; i < query.length; i++) {
    const at = level[i] ?? 0;
    const strength = Math.abs(at - zero);
    const place = (counts[strength] ?? 0) - leftOut;
    counts[strength] = (counts[strength] ?? 0) + 1;
    if (place < 0) continue;
    lines.query[place] = query[i] ?? 0;
    lines.key[place] = key[i] ?? 0;
    lines.level[place] = at;
  }
  return lines;
}
