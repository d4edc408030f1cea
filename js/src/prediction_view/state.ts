import type { Head, SharedState } from "../shared/types.js";
import type { WireArray } from "../shared/wire.js";

/** One answer, its probability with all heads on, and with some off. */
export interface Answer {
  answer: string;
  /** As the vocabulary spells it. */
  token: string;
  before: number;
  after: number;
}

/** The model's answers to one question. */
export interface Answered {
  /** The word of the text that was masked, with "" as the token of several pieces; null without. */
  own: Answer | null;
  /** Which piece of its word is predicted, from 1, and the number of pieces. */
  piece: [number: number, count: number];
  task: "masked" | "next" | "label" | "class" | "span";
  /** What a class is the class of. */
  reads: "text" | "picture" | "sound";
  /** Of the token that is predicted; the number of tokens for the next one, -1 for a class. */
  position: number;
  /** The answer behind the effects, in the spelling of the vocabulary and as readers see it. */
  followed: string;
  name: string;
  model: string;
  rows: Answer[];
  /** Heads that were off, and what stood in their place. */
  off: Head[];
  method: string;
  /** Whether the token, which is no mask, was masked to be predicted. */
  masks: boolean;
}

/**
 * By how much an answer's probability changes without each head, the share of each head in the
 * difference of two logits, or the change of this difference in a second text by the outputs of
 * each head, float32 [layers, heads].
 */
export interface Effects {
  stack: string;
  name: string;
  /** The answer in the spelling of the vocabulary. */
  followed: string;
  /** Exact effects on further answers, float32 [answers, layers, heads]; null where unknown. */
  others: { tokens: string[]; values: WireArray } | null;
  /** The other answer of direct effects and of patching; "" for changes of a probability. */
  versus: string;
  /** The second text of patching, and the logit difference in it and in this text. */
  patched?: { text: string; differences: [number, number] } | null;
  /** What stands in the place of a head that is off, such as "zero". */
  method: string;
  /** By one backward pass, and not by a pass a head. */
  estimate: boolean;
  values: WireArray;
}

/** The likeliest answer after each layer, or why there is none. */
interface Lens {
  rows: { layer: string; answer: string; probability: number; followed: number }[];
  problem: string;
}

/** The traits of `PredictionView`. */
export interface PredictionState extends SharedState {
  stack: string;
  position: number | null;
  answer: string | null;
  effects_by: "passes" | "gradient" | "direct" | "patch";
  /** The second text of patching. */
  corrupted: string;
  /** Whether the answers after each layer are shown. */
  lens: boolean;
  _lens: Lens | null;
  _predictions: Answered | null;
  _effects: Effects | null;
  /** What to do where there is no question; why there are no effects. */
  _message: string;
  _problem: string;
}

/** Those that are drawn. */
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
  "_message",
  "_problem",
  "_axes",
  "_stacks",
  "_source",
];
