import type { HeadsState } from "../shared/head_types.js";
import type { Head, HeadLabel } from "../shared/types.js";
import type { WireArray } from "../shared/wire.js";

export const COLUMNS = ["head", "name", "strength", "held out", "outcome"] as const;
export type Column = (typeof COLUMNS)[number];
export const KINDS = [
  "strongest",
  "heaviest",
  "top tenth",
  "middle",
  "right",
  "wrong",
  "missed",
] as const;
export type Kind = (typeof KINDS)[number];
/** Kinds of examples of a name. */
export const OF_NAME = ["right", "wrong", "missed"] as const satisfies readonly Kind[];
/** Outcomes from the strongest evidence to none. */
export const OUTCOMES: readonly string[] = [
  "primary cause",
  "secondary cause",
  "correlate",
  "interferer",
  "null",
];

/** Rows of all heads, layer by layer; numbers of heads without a name are NaN. */
export interface HeadNumbers {
  layers: number;
  heads: number;
  name: string[];
  runner_up: string[];
  outcome: string[];
  /** Outcomes in words for readers. */
  losing: string[];
  strength: WireArray;
  held_out: WireArray;
}

/** Score of one behavior on the card of a head; null for numbers that are not finite. */
export interface Score {
  behavior: string;
  description: string;
  control_name: string;
  score: number;
  control: number;
  /** 95 % interval of score minus control. */
  low: number | null;
  high: number | null;
  adjusted: number | null;
  /** Whether the behavior may name the head. */
  names: boolean;
  n: number;
  unit: string;
  held_out: number | null;
  held_out_control: number | null;
  auc: number | null;
  source: string;
}

/** Rise of the loss without the head, in nats. */
export interface Effect {
  /** Whether losing the head hurts, in words for readers. */
  losing: string;
  effect: number | null;
  low: number | null;
  high: number | null;
  /** Effect at other positions of the same texts. */
  matched: number | null;
  /** Effects without other heads of the layer, by head name. */
  random: [head: string, effect: number | null][];
  n_texts: number;
  n_places: number;
}

/** Change of the loss in nats: mean, and ends of its 95 % interval over texts. */
export type LossChange = [mean: number | null, low: number | null, high: number | null];

/** Losses of one group of predictions with the head off, with its rule, and with a wrong rule. */
export interface RuleGroup {
  group: string;
  /** What the rule recovers, as the rest of a sentence. */
  verdict: string;
  n_texts: number;
  n_predictions: number;
  off: LossChange;
  rule: LossChange;
  wrong: LossChange;
}

/** Coverage of the rule of a name, and losses with the rule in the place of the head. */
export interface Rule {
  /** Sentence about the attention that the rule predicts. */
  coverage: string;
  /** Description of the texts, or "". */
  texts: string;
  groups: RuleGroup[];
}

/** Shares of what decides where a head looks; negative shares of held-out sentences are noise. */
export interface Shares {
  parts: [name: string, share: number | null][];
  /** Description of the texts. */
  texts: string;
}

/** Link in a text. A piece with a leading space begins a word. */
export interface Example {
  pieces: string[];
  query: number;
  key: number;
  weight: number;
}

/** Share of the attention of a head at each distance, from earlier to later tokens. */
export type Distances = [name: string, share: number | null][];

/** Links that the name of a head predicts in the reader's own text. */
export interface InText {
  /** Number of tokens with a predicted link. */
  predictions: number;
  /** "likely " if the tokens of the text do not determine the links, else "". */
  likelihood: string;
  /** For each kind: number of links, and the first links. */
  kinds: [kind: string, count: number, examples: Example[]][];
}

export interface Card {
  head: Head;
  /** Name of the head, or "". */
  name: string;
  runner_up: string;
  /** Index of the score that names the head. */
  named_by: number | null;
  /** Scores, strongest first. */
  scores: Score[];
  effect: Effect | null;
  examples: Partial<Record<Kind, Example[]>>;
  /** Empty if the distances were not measured. */
  distances: Distances;
  /** Null without a text, or if the name has no rule for its tokens. */
  in_text: InText | null;
  writes: [source: string, promoted: string[], suppressed: string[]][];
  feeds: [head: Head, fed: string, score: number][];
  /** Measured rule of the name; null without a rule or measurement. */
  rule: Rule | null;
  /** Null if the shares were not measured. */
  shares: Shares | null;
}

export interface AtlasState extends HeadsState {
  /** Whether the table of heads is shown. */
  table: boolean;
  search: string;
  sort: Column;
  descending: boolean;
  all_scores: boolean;
  examples: Kind;
  n_examples: number;
  /** Opened example of the shown kind. */
  example: number | null;
  notes: HeadLabel[];
  /** `no_effects`: Reason why the atlas has no effects, or "". */
  _source: { model: string; note: string; no_effects: string };
  _heads: HeadNumbers | null;
  _card: Card | null;
}

/** Traits whose changes redraw the figure. */
export const WATCHED: (keyof AtlasState)[] = [
  "selected",
  "layer",
  "table",
  "search",
  "sort",
  "descending",
  "all_scores",
  "examples",
  "n_examples",
  "example",
  "notes",
  "_source",
  "_heads",
  "_card",
];
