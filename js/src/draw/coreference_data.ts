import type { HeadsState } from "../model/head_types.js";
import type { Head } from "../model/types.js";
import { asFloat32, asInt32, type WireArray } from "../model/wire.js";

/** What a head chooses among. */
export const VARIANTS = ["words", "mentions"] as const;
export type Variant = (typeof VARIANTS)[number];

/** A mention; its words are counted from the window's first. */
export interface Mention {
  mention: number;
  words: number[];
  head: number;
  /** From 1; 0 for what the window mentions once. */
  cluster: number;
  kind: string;
}

export interface Evaluated {
  mention: number;
  antecedents: number[];
  /** The mention that each rule chooses, -1 = nothing. */
  baselines: Record<string, number>;
}

/** The text of one window, and what the shown head chooses for its E evaluated mentions. */
export interface DrawnWindow {
  document: number;
  window: number;
  windows: number;
  name: string;
  /** The window's first word in its document. */
  start: number;
  /** Words of the whole document. */
  length: number;
  words: string[];
  mentions: Mention[];
  evaluated: Evaluated[];
  head: Head | null;
  /** int32 [2, E], float32 [2, E], and how many are right in all documents, by variant. */
  chosen: { words: WireArray; weights: WireArray; correct: number[] } | null;
  /** Why there is nothing to draw, on a page that holds a part of the documents. */
  problem?: string;
}

export interface CoreferenceState extends HeadsState {
  document: number;
  window: number;
  mention: number | null;
  variant: Variant;
  _drawn: DrawnWindow | null;
  _source: {
    model: string;
    count: number;
    layers: number;
    n: number;
    baselines: Record<string, number>;
  };
  _jump: { n?: number; outcome?: string; step?: number };
  /** `where`: " on this page" of a page that holds a part. */
  _jumped: { n?: number; found?: boolean; where?: string };
}

/** The word that the head chooses for a mention. */
export interface Choice {
  word: number;
  weight: number;
  right: boolean;
}

export interface Passage {
  drawn: DrawnWindow;
  /** By index in the document. */
  mentions: Map<number, Mention>;
  /** Those of clusters of several, in the order of the text: what can be asked about. */
  asked: Mention[];
  evaluated: Map<number, Evaluated>;
  choice(mention: number, variant: Variant): Choice | undefined;
}

export function decodeWindow(drawn: DrawnWindow): Passage {
  const mentions = new Map(drawn.mentions.map((mention) => [mention.mention, mention]));
  const evaluated = new Map(drawn.evaluated.map((one) => [one.mention, one]));
  const words = drawn.chosen && asInt32(drawn.chosen.words);
  const weights = drawn.chosen && asFloat32(drawn.chosen.weights);
  const row = new Map(drawn.evaluated.map((one, i) => [one.mention, i]));
  return {
    drawn,
    mentions,
    asked: drawn.mentions.filter(({ cluster }) => cluster > 0),
    evaluated,
    choice(mention, variant) {
      const at = row.get(mention);
      if (at === undefined || !words || !weights) return undefined;
      const place = VARIANTS.indexOf(variant) * drawn.evaluated.length + at;
      const word = words[place] ?? -1;
      const antecedents = evaluated.get(mention)?.antecedents ?? [];
      const right = antecedents.some((index) => mentions.get(index)?.head === word);
      return { word, weight: weights[place] ?? 0, right };
    },
  };
}

/** Lines under the words: 0 is nearest to the text, and no mention shares a line with one that it meets. */
export function levels(mentions: Mention[]): Map<number, number> {
  const level = new Map<number, number>();
  const lines: Set<number>[] = [];
  const shortFirst = [...mentions].sort((a, b) => a.words.length - b.words.length);
  for (const { mention, words } of shortFirst) {
    // Below all that it meets, so that what lies within a mention is drawn within it.
    let line = 0;
    for (const [i, taken] of lines.entries())
      if (words.some((word) => taken.has(word))) line = i + 1;
    lines[line] ??= new Set();
    for (const word of words) lines[line]?.add(word);
    level.set(mention, line);
  }
  return level;
}
