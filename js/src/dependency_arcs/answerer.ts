import type { Direction } from "../shared/relation_types.js";
import type { Outcome } from "../shared/verdict.js";
import type { ArcsState, DrawnSentence } from "./state.js";
import type { Distances, Predicted, Tree } from "./tree.js";

/** The figure's text about a word. */
interface Readout {
  /** The predicted governor; follows the annotated relation. */
  predicted: string;
  /** The strongest weights from the word, or its distance to a second word. */
  from: string;
  /** The strongest weights to the word, the votes for its governor, or its nearest words. */
  to: string;
  /** The part that assistive technology reads. */
  spoken: string;
}

/** The answers for one sentence. */
export interface Answers {
  /** The predicted arcs. */
  predicted: Predicted[];
  /** The quantity and the scale, for the caption. */
  quantity: string;
  scale: string;
  /** Notes of the caption; `rightness` says how many answers are right. */
  notes(rightness: string): string[];
  /** For the counted words of a relation: whether the answer is right. */
  outcomes(relation: string, ofRelation: Predicted[]): boolean[];
  /** The heights of the bars under all words while a word is active; empty without bars. */
  bars(word: number): number[];
  readout(word: number, other?: number): Readout;
  /** Columns of the table beside word, relation and governor, and their cells for a word. */
  columns: string[];
  cells(word: number): string[];
  /** The distances that two matrices show. */
  distances?: Distances;
}

/** The names of an answerer in the texts of the figure. */
export interface AnswererTexts {
  title: string;
  caption: string;
  /** Subject and verb: "L1 H2 predicts". */
  predicts: string;
  /** The arcs that are drawn, for the title. */
  arcs: string;
}

/** Something that answers which word governs each word: heads, or a probe. */
export interface Answerer {
  /** In the names of buttons. */
  noun: "head" | "probe";
  /** Whether the shown head answers: without a head there is nothing to answer. */
  needsHead: boolean;
  /** Whether the kernel uses the held word, and pictures mark it. */
  keepsWord: boolean;
  /** The directions and the layers that a reader chooses from. */
  directions: readonly Direction[];
  layers: readonly number[];
  /** Shown until a word is active. */
  hint: string;
  /** The look of right and wrong arcs, in words. */
  legend: readonly (readonly [Outcome, string])[];
  /** The meaning of the bars under the words; "" without bars. */
  barsOf(options: Pick<ArcsState, "direction" | "labels">): string;
  named(options: Pick<ArcsState, "direction" | "labels">, drawn: DrawnSentence): AnswererTexts;
  /** The answers for a sentence; undefined without answers. */
  answers(
    drawn: DrawnSentence,
    tree: Tree,
    options: Pick<ArcsState, "direction" | "labels">,
  ): Answers | undefined;
}
