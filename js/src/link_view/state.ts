import type { Axes, Head, SharedState } from "../shared/types.js";
import type { WireArray } from "../shared/wire.js";

/** Part of a sum, with its value. */
export type ScorePart = [name: string, value: number];
/** Number and sum of the parts that are not listed. */
export type Rest = [count: number, sum: number];

/** Subject of an answer: a head, and positions of a query, a key and a rival key. */
interface Ends {
  head: Head;
  query: number;
  key: number;
  versus: number | null;
  /** Whether no rival was selected, so that this is the other key with the largest weight. */
  is_runner_up: boolean;
}

/** Answer about a link, or the reason why there is none. */
export interface Answer<T> extends Ends {
  problem: string;
  found: T | null;
}

/** Link that the options select. */
export interface Link extends Ends {
  /** Options from which the link was determined. */
  asked: Pick<LinkState, "selected" | "tokens" | "hidden" | "unit" | "versus">;
  weight: number;
  /** Whether no key was locked, so that this is the key with the largest weight. */
  is_strongest: boolean;
  /** Possible rivals with their weights. */
  rivals: [key: number, weight: number][];
}

/** Factors of the weight of the key, relative to that of the rival. */
export interface Why {
  /** Name, logarithm and text of each factor; the last is the product of the others. */
  factors: [name: string, log: number, text: string][];
  /** The weight, its ratio to the rival and the main reason, as one sentence. */
  finding: string;
  /** Name of the rival in sentences. */
  rival: string;
  /** Number of words that a typical word is the mean of. */
  n_words: number;
  /** Sentence about the earlier heads and the words that they read; "" if they matter little. */
  written: string;
}

/** Parts of the difference between the scores of the key and its rival, by wavelength. */
export interface Wavelengths {
  parts: ScorePart[];
  rest: Rest;
  /** Contributions of bias and soft cap. */
  others: ScorePart[];
  total: number;
  /** Log ratio of the weights; null if a weight is 0 in float32. */
  log_ratio: number | null;
  note: string;
}

/** Score and weight of the key at distances from `first` on, float32. */
export interface Distances {
  first: number;
  /** Distance in the text. */
  distance: number;
  scores: WireArray;
  weights: WireArray;
}

/** Pairs of a writer of the query and a writer of the key. */
export interface Sources {
  pairs: ScorePart[];
  rest: Rest;
  total: number;
  /** Whether the score has neither a bias nor a soft cap, which no writer has. */
  is_whole: boolean;
}

/** Shares of tokens in the output of the head, starting with the key. */
interface Writes {
  tokens: [token: number, share: number, weight: number][];
  rest: [count: number, share: number, weight: number];
  layer_share: number;
  note: string;
}

/** Words that the part of the key promotes and suppresses, with their logits. */
export interface Vocabulary {
  promoted: ScorePart[];
  suppressed: ScorePart[];
  note: string;
}

/** Traits of `LinkView`. */
export interface LinkState extends SharedState {
  versus: number | null;
  distance: number | null;
  _token_axes: Axes;
  _link: Link | null;
  _why: Answer<Why> | null;
  /** Null if nothing rotates. */
  _wavelengths: Answer<Wavelengths> | null;
  _distances: Answer<Distances> | null;
  _sources: Answer<Sources> | null;
  _writes: Answer<Writes> | null;
  _vocabulary: Answer<Vocabulary> | null;
  /** Reason why the answers about the link could not be computed. */
  _problem: string;
}

/** Traits whose changes redraw the figure. */
export const WATCHED: (keyof LinkState)[] = [
  "selected",
  "labels",
  "layer",
  "tokens",
  "hidden",
  "unit",
  "versus",
  "distance",
  "_link",
  "_why",
  "_wavelengths",
  "_distances",
  "_sources",
  "_writes",
  "_vocabulary",
  "_problem",
  "_axes",
  "_token_axes",
  "_stacks",
  "_source",
];

/** Return whether an answer is about the shown link. Most answers do not depend on the rival. */
export function isAbout(answer: Ends, link: Ends, withRival = false): boolean {
  const { head, query, key, versus, is_runner_up } = answer;
  return (
    head.join() === link.head.join() &&
    query === link.query &&
    key === link.key &&
    (!withRival || (versus === link.versus && is_runner_up === link.is_runner_up))
  );
}

/** Return whether the shown link is the one that the options select now. */
export function isAsked({ asked }: Link, state: LinkState): boolean {
  const last = (tokens: LinkState["tokens"]) =>
    ["query", "key"].map((side) => tokens.filter(([where]) => where === side).at(-1)?.[1]);
  const named = ({ selected, tokens, hidden, unit, versus }: Link["asked"]) =>
    JSON.stringify([selected.at(-1), last(tokens), [...hidden].sort(), unit, versus]);
  return named(asked) === named(state);
}
