import type { Direction, RelationsState } from "../shared/relation_types.js";
import type { TextState } from "../shared/text_frame.js";
import type { Head } from "../shared/types.js";
import type { WireArray } from "../shared/wire.js";

/** A sentence of m words, and what the shown head predicts for it. */
export interface DrawnSentence {
  sentence: number;
  name: string;
  words: string[];
  /** Whether a space follows each word; empty = everywhere. */
  spaces: boolean[];
  relations: string[];
  /** int32 [m], from 1; 0 is the root's. */
  governors: WireArray;
  head: Head | null;
  /** int32 [2, m], from 1, by direction; and float32 [m, m], rows attend. */
  predicted: {
    governors: WireArray;
    map: WireArray;
    root?: WireArray;
    votes?: Votes | null;
  } | null;
  /** Of a structural probe, in place of `predicted`. */
  structure?: Structure | null;
  /** Why there is nothing to draw. */
  problem: string;
}

/** The tree of m words that a structural probe reads out of a layer. */
export interface Structure {
  layer: number;
  /** int32 [E, 3]: two words, from 0, and 1 for an edge of the annotated tree. */
  links: WireArray;
  /**
   * int32 [m]: 1 where a word is linked to its governor, or is the root that was found, 0 where
   * not; -1 is not counted.
   */
  found: WireArray;
  /** The word, from 0, that is taken for the root. */
  root: number;
  /** Edges between words: int32 [m, m], annotated, and float32 [m, m], predicted. */
  gold: WireArray;
  distances: WireArray;
  /** float32 [m]: predicted edges from the root. */
  depths: WireArray;
}

/** For each of m words, the K heads with the strongest votes for or against its governor. */
export interface Votes {
  /** Of a layer. */
  heads: number;
  /** int32 [m, K]: (layer · heads + head) · 2, and 1 more from governor to dependent. */
  places: WireArray;
  /** float32 [m, K], and [m], the sum over all heads. */
  values: WireArray;
  sums: WireArray;
}

/** What answers, as Python describes it. */
type DescribedAnswerer =
  | { kind: "heads" }
  | { kind: "dependency probe"; name: string }
  | { kind: "structural probe"; name: string; layers: number[] };

export interface ArcsState extends Omit<RelationsState, "direction">, TextState {
  /** A probe has no direction. */
  direction?: Direction;
  sentence: number;
  _drawn: DrawnSentence | null;
  /** How often the shown head is right on the relation, where that was measured. */
  _measured?: { correct: number; n: number; baseline: number; offset: number } | null;
  _source: {
    model: string;
    note: string;
    count: number;
    layers: number;
    /** The layers of a hybrid model that have no attention. */
    layers_without_attention?: number[];
    relations: string[];
    answerer?: DescribedAnswerer;
  };
  /** The held word of a probe. */
  word?: number | null;
}
