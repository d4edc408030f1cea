import { clamp } from "../../shared/clamp.js";
import type { Side } from "../../shared/types.js";
import type { MapPart, Position, Size } from "../../shared/window.js";
import type { Target } from "./target.js";

/**
 * Values of blocks and their positions. The block in row r and column c begins at q0 + r * step and
 * k0 + c * step, as positions on the visible axes. With a step of 1, blocks are single cells.
 */
export interface Cells {
  q0: number;
  k0: number;
  step: number;
  rows: number;
  cols: number;
  values: Float32Array;
  /** Values of the first key, which large blocks leave out; absent if it is among the others. */
  first?: Float32Array | undefined;
  /** For overlaid heads, the number of the head with the value. */
  strongest?: Uint8Array | undefined;
  firstStrongest?: Uint8Array | undefined;
}

/** Block of cells, or a single cell if the step is 1. */
interface CellBlock extends Position {
  step: number;
  weight: number;
}

/** Cell of the visible axes. */
export interface Pair extends Position {
  weight: number;
}

/** One query's weights to all keys, as maxima of `step` keys. The first key may be separate. */
export interface QueryRow {
  query: number;
  step: number;
  values: Float32Array;
  first?: number | undefined;
  strongest: Pair[];
}

/** Exact row of a query, or column of a key, that the kernel has sent. */
export interface ChosenRow {
  side: Side;
  /** Position of the selected token; undefined for the mean over all queries. */
  of: number | undefined;
  values: Float32Array;
  /** For a column, the weight of the key under even attention, by query. */
  even: Float32Array | undefined;
}

/** Row or column of a map. */
export interface MapLine {
  values: Float32Array;
  /** For a column, the weight of the key under even attention, by query. */
  even: Float32Array | undefined;
}

/**
 * Source of the values of a map. If the page has every cell, it answers everything immediately.
 * Otherwise it answers from the loaded parts, and finer parts arrive later.
 */
export interface MapSource {
  /** Name of the masked cells, cached after the first use. */
  mask?: string;
  size: Size;
  /** Whether every cell is loaded. */
  isComplete: boolean;
  /** Cells of the complete map, possibly in blocks. */
  overview: Cells;
  /** Return the known cells of a part, coarsest first: later cells cover earlier ones. */
  cells(part: MapPart): Cells[];
  /** Return the smallest known block at a position; undefined outside the map. */
  at(place: Position): CellBlock | undefined;
  /** Return all weights of a query; undefined if they are not loaded. */
  row(query: number): QueryRow | undefined;
  /**
   * Row or column that the kernel has sent to be painted on pictures; undefined if any can be
   * painted.
   */
  chosen: ChosenRow | undefined;
  /**
   * Return a row or a column, or the mean row if `of` is undefined; undefined if it is not loaded.
   */
  line(side: Side, of: number | undefined, isWeights: boolean): MapLine | undefined;
  /** Return the strongest known pairs of the map or of one token, inside the part `within`. */
  strongest(of: Target, count: number, within?: MapPart): Pair[];
  /** Strongest visible pairs, if drawing all lines would need cells that are not loaded. */
  links: Pair[] | undefined;
}

/** Return the block of cells at a position; undefined outside the cells. */
export function blockIn(cells: Cells, { query, key }: Position): CellBlock | undefined {
  const { q0, k0, step, rows, cols, values } = cells;
  const r = Math.floor((query - q0) / step);
  const c = Math.floor((key - k0) / step);
  if (r < 0 || r >= rows || c < 0 || c >= cols) return undefined;
  return {
    query: q0 + r * step,
    key: k0 + c * step,
    step,
    weight: values[r * cols + c] ?? Number.NaN,
  };
}

/** Return the rows and columns of cells that a part touches: [top, bottom, left, right). */
export function touched({ q0, k0, step, rows, cols }: Cells, part: MapPart): MapPart {
  const within = (from: number, start: number, end: number, count: number): [number, number] => {
    const first = Math.min(count, Math.max(0, Math.floor((start - from) / step)));
    return [first, clamp(Math.ceil((end - from) / step), first, count)];
  };
  return [...within(q0, part[0], part[1], rows), ...within(k0, part[2], part[3], cols)];
}

/** Return a rectangle of the cells. */
export function cut(cells: Cells, [top, bottom, left, right]: MapPart): Cells {
  const { q0, k0, step, cols, values, first, strongest, firstStrongest } = cells;
  const rows = bottom - top;
  const width = right - left;
  const kept = <T extends Float32Array | Uint8Array>(of: T, into: T): T => {
    for (let r = 0; r < rows; r++) {
      const start = (top + r) * cols + left;
      into.set(of.subarray(start, start + width), r * width);
    }
    return into;
  };
  return {
    q0: q0 + top * step,
    k0: k0 + left * step,
    step,
    rows,
    cols: width,
    values: kept(values, new Float32Array(rows * width)),
    first: first?.subarray(top, bottom),
    strongest: strongest && kept(strongest, new Uint8Array(rows * width)),
    firstStrongest: firstStrongest?.subarray(top, bottom),
  };
}

/** Collector of the strongest pairs, in order. Weaker pairs create no object. */
export class StrongestPairs {
  readonly pairs: Pair[] = [];
  /** Absolute weight that a pair must exceed to be added. */
  private least = 0;

  constructor(private readonly count: number) {}

  add(query: number, key: number, weight: number) {
    if (!(Math.abs(weight) > this.least)) return;
    this.pairs.push({ query, key, weight });
    this.pairs.sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
    if (this.pairs.length > this.count) this.pairs.pop();
    if (this.pairs.length === this.count) this.least = Math.abs(this.pairs.at(-1)?.weight ?? 0);
  }
}
