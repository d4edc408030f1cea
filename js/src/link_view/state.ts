import type { Axes, Head, SharedState } from "../shared/types.js";
import type { WireArray } from "../shared/wire.js";

/** A part of a sum, with its value. */
export type ScorePart = [name: string, value: number];
/** Parts that are not listed: their number and their sum. */
export type Rest = [count: number, sum: number];

/** What an answer is about: a head, and places of a query, a key and a rival key. */
interface Ends {
  head: Head;
  query: number;
  key: number;
  versus: number | null;
}

/** An answer about a link, or the reason why there is none. */
export interface Answer<T> extends Ends {
  problem: string;
  found: T | null;
}

/** The link that the options name. */
export interface Link extends Ends {
  /** The options that named it. */
  asked: Pick<LinkState, "selected" | "tokens" | "hidden" | "unit" | "versus">;
  weight: number;
  /** Whether the key was not locked: it is the key with most weight. */
  is_strongest: boolean;
  /** Whether the rival was not chosen: it is the other key with most weight. */
  is_runner_up: boolean;
  /** Keys that can be rivals, with their weights. */
  rivals: [key: number, weight: number][];
}

/** Parts of the difference between the scores of the key and its rival. */
export interface Why {
  parts: ScorePart[];
  rest: Rest;
  /** Bias and soft cap. */
  others: ScorePart[];
  by: "wavelength" | "dimension";
  total: number;
  /** Null where a weight is 0 in float32. */
  log_ratio: number | null;
  note: string;
}

/** Score and weight of the key at distances from `first` on, float32. */
export interface Distances {
  first: number;
  /** The distance in the text. */
  distance: number;
  scores: WireArray;
  weights: WireArray;
}

/** Pairs of a writer of the query and a writer of the key. */
export interface Sources {
  pairs: ScorePart[];
  rest: Rest;
  total: number;
}

/** Shares of tokens in the output of the head, the key first. */
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

/** The traits of `LinkView`. */
export interface LinkState extends SharedState {
  versus: number | null;
  distance: number | null;
  _token_axes: Axes;
  _link: Link | null;
  _why: Answer<Why> | null;
  _distances: Answer<Distances> | null;
  _sources: Answer<Sources> | null;
  _writes: Answer<Writes> | null;
  _vocabulary: Answer<Vocabulary> | null;
  /** Why the answers about the link could not be found. */
  _problem: string;
}

/** The traits that are drawn. */
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

/** Whether an answer is about the shown link; of most answers whatever the rival is. */
export function isAbout(answer: Ends, link: Ends, withRival = false): boolean {
  const { head, query, key, versus } = answer;
  return (
    head.join() === link.head.join() &&
    query === link.query &&
    key === link.key &&
    (!withRival || versus === link.versus)
  );
}

/** Whether the shown link is the link that the options name now. */
export function isAsked({ asked }: Link, state: LinkState): boolean {
  const last = (tokens: LinkState["tokens"]) =>
    ["query", "key"].map((side) => tokens.filter(([where]) => where === side).at(-1)?.[1]);
  const named = ({ selected, tokens, hidden, unit, versus }: Link["asked"]) =>
    JSON.stringify([selected.at(-1), last(tokens), [...hidden].sort(), unit, versus]);
  return named(asked) === named(state);
}
