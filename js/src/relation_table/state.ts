import type { RelationsState } from "../shared/relation_types.js";
import type { WireArray } from "../shared/wire.js";

/** Numbers of R relations. */
export interface RelationNumbers {
  stack: string;
  relations: string[];
  /** int32 [R]: number of words. */
  counts: WireArray;
  /** int32 [R]: number of words on which the best fixed offset is right, and that offset. */
  baseline: WireArray;
  offsets: WireArray;
  /** int32 [R, 3]: layer, head and direction of the best head. */
  best: WireArray;
  /** int32 [L, H, 2, R]: number of words on which a head is right. */
  correct: WireArray;
  /**
   * float32 [L, H, 2, R]: corrected p-value of the hypothesis that a head is no better than the
   * offset.
   */
  p_values: WireArray;
  /** Accuracies of the best heads on a corpus of other texts; null or missing without them. */
  other_texts?: {
    corpus: string;
    description: string;
    /**
     * float32 [R]: accuracy of the head, and of the corpus's best fixed offset; NaN for relations
     * that the corpus does not have.
     */
    accuracy: WireArray;
    baseline: WireArray;
  } | null;
}

export const COLUMNS = [
  "relation",
  "n",
  "head",
  "direction",
  "accuracy",
  "other_texts",
  "baseline",
  "gain",
] as Column[];
export type Column =
  | "relation"
  | "n"
  | "head"
  | "direction"
  | "accuracy"
  | "other_texts"
  | "baseline"
  | "gain";

export interface TableState extends RelationsState {
  min_count: number;
  sort: Column;
  descending: boolean;
  /** Largest number of rows in a picture. */
  picture_rows: number;
  _numbers: RelationNumbers | null;
  _source: { model: string; note: string; layers_without_attention?: number[] };
}
