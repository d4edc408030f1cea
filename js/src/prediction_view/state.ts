import type { Head, SharedState } from "../shared/types.js";
import type { WireArray } from "../shared/wire.js";

/** Answer with its probability in the whole model, and with heads off or links changed. */
export interface Answer {
  answer: string;
  /** Spelling in the vocabulary. */
  token: string;
  before: number;
  after: number;
}

/** Link whose weights were multiplied; ends are positions, or a group such as "all before". */
export interface ScaledLink {
  query: number[] | string;
  key: number[] | string;
  factor: number;
  /** Heads: "L2 H11", "L2" or "all heads", after the stack if there are several. */
  scope: string;
  /** Words of the link, for example "he→that". */
  name: string;
}

/** Link between two locked words, from the word that the model is asked about. */
export interface LockedLink {
  /** Query and key, as locked in `unit`. */
  of: [query: number, key: number];
  unit: string;
  stack: string;
  /** Positions of the tokens of both words. */
  query: number[];
  key: number[];
}

/** Probabilities of A answers when the link between the locked words is cut. */
export interface LinkCuts extends Pick<LockedLink, "of" | "unit" | "stack"> {
  /** Answers, as spelled in the vocabulary. */
  tokens: string[];
  /** With all links, and cut in all heads; float32 [A]. */
  before: WireArray;
  everywhere: WireArray;
  /** Cut in one layer, float32 [L, A]. */
  layers: WireArray;
  /** Cut in one head, float32 [L, H, A]; null until it is computed. */
  heads: WireArray | null;
  /** Median change of the first answer with another word cut in all heads; null without words. */
  others: number | null;
  /** Weight of the link in each head in the pass that answers, float32 [L, H]. */
  weights: WireArray;
}

/** Answers of the model to one question. */
export interface Answered {
  /**
   * Word of the text that was masked, with "" as the token if it has several pieces; null if there
   * is none.
   */
  own: Answer | null;
  /** Number of the predicted piece of its word, from 1, and the number of pieces. */
  piece: [number: number, count: number];
  task: "masked" | "next" | "label" | "class" | "span";
  /** Kind of input that is classified. */
  reads: "text" | "picture" | "sound";
  /** Position of the predicted token: the number of tokens for the next one, -1 for a class. */
  position: number;
  /** Answer whose effects are shown, as spelled in the vocabulary, and its name for readers. */
  followed: string;
  name: string;
  model: string;
  rows: Answer[];
  /** Disabled heads, and their replacement method. */
  off: Head[];
  method: string;
  /** Links whose weights were multiplied. */
  links: ScaledLink[];
  /** Whether a token other than a mask token was masked to be predicted. */
  masks: boolean;
}

/**
 * Change of an answer's probability without each head, share of each head in a logit difference, or
 * change of this difference in a second text when each head's outputs are patched in; float32
 * [layers, heads].
 */
export interface Effects {
  stack: string;
  name: string;
  /** Answer, as spelled in the vocabulary. */
  followed: string;
  /** Exact effects on further answers, float32 [answers, layers, heads]; null if unknown. */
  others: { tokens: string[]; values: WireArray } | null;
  /** Other answer of direct effects and of patching; "" for changes of a probability. */
  versus: string;
  /** Second text of patching, with the logit differences in that text and in this text. */
  patched?: { text: string; differences: [number, number] } | null;
  /** Replacement method of heads, for example "zero". */
  method: string;
  /** Whether effects are estimated with one backward pass instead of a pass per head. */
  estimate: boolean;
  values: WireArray;
}

/** Most probable answer after each layer, or the reason why there is none. */
interface Lens {
  rows: { layer: string; answer: string; probability: number; followed: number }[];
  problem: string;
}

/** Attention to each word and need of it, or the reason why they are not measured. */
interface Needs {
  problem: string;
  /** Question and unit of the measurement, and the heads that were off. */
  position: number;
  followed: string;
  unit: string;
  off: Head[];
  /** Entries of the words in the axis, float32 shares and losses; undefined with a problem. */
  entries?: number[];
  attention: WireArray;
  need: WireArray;
  compared: boolean[];
  probability: number;
  agreement: number | null;
  control: number | null;
  heads: number;
  masked: boolean;
}

/** Traits of `PredictionView`. */
export interface PredictionState extends SharedState {
  stack: string;
  position: number | null;
  answer: string | null;
  effects_by: "passes" | "gradient" | "direct" | "patch";
  /** Second text of patching. */
  corrupted: string;
  /** Whether the answers after each layer are shown. */
  lens: boolean;
  _lens: Lens | null;
  _predictions: Answered | null;
  _effects: Effects | null;
  /** Whether an explorer shows the words that the answer needs, and these words. */
  _needs_asked: boolean;
  _needs: Needs | null;
  /** Link between the locked words that can be cut, and the answers without it. */
  _link: LockedLink | null;
  _cuts: LinkCuts | null;
  /** Message if there is no question, and the reason if there are no effects. */
  _message: string;
  _problem: string;
}

/** Traits whose changes redraw the figure. */
export const WATCHED: (keyof PredictionState)[] = [
  "selected",
  "layer",
  "disabled",
  "method",
  "labels",
  "stack",
  "position",
  "answer",
  "effects_by",
  "corrupted",
  "lens",
  "_lens",
  "_predictions",
  "_effects",
  "_link",
  "_cuts",
  "_message",
  "_problem",
  "_axes",
  "_stacks",
  "_source",
];
