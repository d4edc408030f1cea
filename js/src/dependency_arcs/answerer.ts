import type { Direction } from "../shared/relation_types.js";
import type { Outcome } from "../shared/verdict.js";
import type { ArcsState, DrawnSentence } from "./state.js";
import type { Distances, Predicted, Tree } from "./tree.js";

/** Text of the figure about a word. */
interface Readout {
  /** Predicted governor, printed after the annotated relation. */
  predicted: string;
  /** Strongest weights from the word, or its distance to a second word. */
  from: string;
  /** Strongest weights to the word, the votes for its governor, or its nearest words. */
  to: string;
  /** Part that is announced to screen readers. */
  spoken: string;
}

/** Answers for one sentence. */
export interface Answers {
  /** Predicted arcs. */
  predicted: Predicted[];
  /** Quantity and scale, for the caption. */
  quantity: string;
  scale: string;
  /** Return the notes of the caption; `rightness` tells how many answers are right. */
  notes(rightness: string): string[];
  /** Return for each counted word of a relation whether the answer is right. */
  outcomes(relation: string, ofRelation: Predicted[]): boolean[];
  /** Return the heights of the bars under all words while a word is active; empty without bars. */
  bars(word: number): number[];
  readout(word: number, other?: number): Readout;
  /** Columns of the table after word, relation and governor, and their cells for a word. */
  columns: string[];
  cells(word: number): string[];
  /** Distances that the two matrices show. */
  distances?: Distances;
}

/** Names of an answerer in the texts of the figure. */
export interface AnswererTexts {
  title: string;
  caption: string;
  /** Subject and verb, for example "L1 H2 predicts". */
  predicts: string;
  /** Description of the drawn arcs, for the title. */
  arcs: string;
}

/** Source of predicted governors: a head or a probe. */
export interface Answerer {
  /** Noun in the names of buttons. */
  noun: "head" | "probe";
  /** Whether the shown head gives the answers, so that a head must be selected. */
  needsHead: boolean;
  /** Whether the kernel uses the held word, and pictures mark it. */
  keepsWord: boolean;
  /** Directions and layers to choose from. */
  directions: readonly Direction[];
  layers: readonly number[];
  /** Hint that is shown until a word is active. */
  hint: string;
  /** Description of the look of right and wrong arcs. */
  legend: readonly (readonly [Outcome, string])[];
  /** Return the meaning of the bars under the words; "" without bars. */
  barsOf(options: Pick<ArcsState, "direction" | "labels">): string;
  named(options: Pick<ArcsState, "direction" | "labels">, drawn: DrawnSentence): AnswererTexts;
  /** Return the answers for a sentence; undefined if there are none. */
  answers(
    drawn: DrawnSentence,
    tree: Tree,
    options: Pick<ArcsState, "direction" | "labels">,
  ): Answers | undefined;
}
