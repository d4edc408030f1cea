import type { Direction, RelationsState } from "../shared/relation_types.js";
import type { TextState } from "../shared/text_frame.js";
import type { Head } from "../shared/types.js";
import type { WireArray } from "../shared/wire.js";

/** Sentence of m words, and the shown head's predictions for it. */
export interface DrawnSentence {
  sentence: number;
  name: string;
  words: string[];
  /** Whether a space follows each word; empty if a space follows all words. */
  spaces: boolean[];
  relations: string[];
  /** int32 [m]: governors, counted from 1; 0 for the root. */
  governors: WireArray;
  head: Head | null;
  /**
   * Predictions: int32 [2, m] governors by direction, counted from 1, and a float32 [m, m] map
   * whose rows attend.
   */
  predicted: {
    governors: WireArray;
    map: WireArray;
    root?: WireArray;
    votes?: Votes | null;
  } | null;
  /** Tree of a structural probe, instead of `predicted`. */
  structure?: Structure | null;
  /** Reason why there is nothing to draw. */
  problem: string;
}

/** Tree of m words that a structural probe predicts from a layer. */
export interface Structure {
  layer: number;
  /** int32 [E, 3]: two words, counted from 0, and 1 for an edge of the annotated tree. */
  links: WireArray;
  /**
   * int32 [m]: 1 if a word is linked to its governor or is the correctly predicted root, otherwise
   * 0; -1 for words that are not counted.
   */
  found: WireArray;
  /** Predicted root, counted from 0. */
  root: number;
  /** Number of edges between words: int32 [m, m] annotated, and float32 [m, m] predicted. */
  gold: WireArray;
  distances: WireArray;
  /** float32 [m]: predicted number of edges from the root. */
  depths: WireArray;
}

/** For each of m words, the K heads with the strongest votes for or against its governor. */
export interface Votes {
  /** Number of heads per layer. */
  heads: number;
  /** int32 [m, K]: (layer * heads + head) * 2, plus 1 for attention from governor to dependent. */
  places: WireArray;
  /** float32 [m, K] votes, and [m] sums over all heads. */
  values: WireArray;
  sums: WireArray;
}

/** Answerer, as Python describes it. */
type DescribedAnswerer =
  | { kind: "heads" }
  | { kind: "dependency probe"; name: string }
  | { kind: "structural probe"; name: string; layers: number[] };

export interface ArcsState extends Omit<RelationsState, "direction">, TextState {
  /** Direction of attention; absent for a probe. */
  direction?: Direction;
  sentence: number;
  _drawn: DrawnSentence | null;
  /** How often the shown head is right on the relation, if that was measured. */
  _measured?: { correct: number; n: number; baseline: number; offset: number } | null;
  _source: {
    model: string;
    note: string;
    count: number;
    layers: number;
    /** Layers of a hybrid model without attention. */
    layers_without_attention?: number[];
    relations: string[];
    answerer?: DescribedAnswerer;
  };
  /** Held word of a probe. */
  word?: number | null;
}
