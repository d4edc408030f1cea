import { clamp } from "../../shared/clamp.js";
import type { Side } from "../../shared/types.js";
import type { MapPart, Position, Size } from "../../shared/window.js";
import type { Target } from "./target.js";

/**
 * Values of blocks with where they are: the block of row r and column c begins at q0 + r step and
 * k0 + c step, as positions on the visible axes; with a step of 1 they are single cells.
 */
export interface Cells {
  q0: number;
  k0: number;
  step: number;
  rows: number;
  cols: number;
  values: Float32Array;
  /** Of the first key, which large blocks leave out; absent where it is among the others. */
  first?: Float32Array | undefined;
  /** Where heads lie over one another: which of them has the value. */
  strongest?: Uint8Array | undefined;
  firstStrongest?: Uint8Array | undefined;
}

/** One block, or one cell at a step of 1. */
interface CellBlock extends Position {
  step: number;
  weight: number;
}

/** A cell of the visible axes. */
export interface Pair extends Position {
  weight: number;
}

/** One query's weights to all keys, as maxima of `step` keys; the first key apart, if it is. */
export interface QueryRow {
  query: number;
  step: number;
  values: Float32Array;
  first?: number | undefined;
  strongest: Pair[];
}

/** The exact row of a query, or column of a key, that the kernel has sent. */
export interface ChosenRow {
  side: Side;
  /** The chosen position; undefined for the mean over all queries. */
  of: number | undefined;
  values: Float32Array;
  /** Of a column: what even attention would give to the key, by query. */
  even: Float32Array | undefined;
}

/** A row or a column of a map, with what even attention would give to the key, by query. */
export interface MapLine {
  values: Float32Array;
  /** Only of a column. */
  even: Float32Array | undefined;
}

/**
 * Where the values of a map come from. If the page has every cell, all questions are answered at
 * once. Otherwise the answers are the parts at hand, and finer parts arrive later.
 */
export interface MapSource {
  /** What a figure calls the masked cells, once it was asked for. */
  mask?: string;
  size: Size;
  /** Whether every single cell is at hand. */
  isComplete: boolean;
  /** All of the map, perhaps in blocks. */
  overview: Cells;
  /** What is known of a part, the coarsest first: later cells cover earlier ones. */
  cells(part: MapPart): Cells[];
  /** The smallest block that is known of a place; nothing beside the map. */
  at(place: Position): CellBlock | undefined;
  /** All of a query's weights; undefined where they are not at hand. */
  row(query: number): QueryRow | undefined;
  /** The row or column that the kernel has sent to be painted on pictures; else any can be. */
  chosen: ChosenRow | undefined;
  /** A row or a column, `of` undefined for the mean row; undefined where it is not at hand. */
  line(side: Side, of: number | undefined, isWeights: boolean): MapLine | undefined;
  /** The strongest pairs that are known of the map, or of one token; `within` a part of it. */
  strongest(of: Target, count: number, within?: MapPart): Pair[];
  /** The strongest pairs in sight, where lines of all would need cells that are not at hand. */
  links: Pair[] | undefined;
}

/** The block of some cells that a place is in; nothing beside them. */
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

/** The rows and columns of some cells that a part touches: [top, bottom, left, right). */
export function touched({ q0, k0, step, rows, cols }: Cells, part: MapPart): MapPart {
  const within = (from: number, start: number, end: number, count: number): [number, number] => {
    const first = Math.min(count, Math.max(0, Math.floor((start - from) / step)));
    return [first, clamp(Math.ceil((end - from) / step), first, count)];
  };
  return [...within(q0, part[0], part[1], rows), ...within(k0, part[2], part[3], cols)];
}

/** Some of the cells alone. */
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

/** The strongest of many pairs, in order. Weaker pairs cost no object. */
export class StrongestPairs {
  readonly pairs: Pair[] = [];
  /** A weight is kept where its size is above this. */
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
