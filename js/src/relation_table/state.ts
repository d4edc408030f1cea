import type { RelationsState } from "../shared/relation_types.js";
import type { WireArray } from "../shared/wire.js";

/** R relations. */
export interface RelationNumbers {
  stack: string;
  relations: string[];
  /** int32 [R]: words of each. */
  counts: WireArray;
  /** int32 [R]: words that the best fixed offset is right on, and that offset. */
  baseline: WireArray;
  offsets: WireArray;
  /** int32 [R, 3]: layer, head and direction that are best. */
  best: WireArray;
  /** int32 [L, H, 2, R]: words that a head is right on. */
  correct: WireArray;
  /** float32 [L, H, 2, R]: that a head is no better than the offset, corrected. */
  p_values: WireArray;
}

export const COLUMNS = [
  "relation",
  "n",
  "head",
  "direction",
  "accuracy",
  "baseline",
  "gain",
] as Column[];
export type Column = "relation" | "n" | "head" | "direction" | "accuracy" | "baseline" | "gain";

export interface TableState extends RelationsState {
  min_count: number;
  sort: Column;
  descending: boolean;
  /** Rows of a picture at most. */
  picture_rows: number;
  _numbers: RelationNumbers | null;
  _source: { model: string; note: string; layers_without_attention?: number[] };
}
