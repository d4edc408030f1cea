/** From a word to the word that depends on it; words count from 0. */
export interface Arc {
  governor: number;
  dependent: number;
}

export interface Annotated extends Arc {
  relation: string;
}

/** What an attention head predicts. */
export interface Predicted extends Arc {
  /** The attention weight behind the prediction, by the direction. */
  weight: number;
  /** Whether the governor is the annotated one. */
  right: boolean;
  /** For a structural probe: two connected words, without a direction. */
  isLink?: boolean;
}

export interface Tree {
  words: string[];
  relations: string[];
  /** Governor of each word, -1 for the root's. */
  governors: number[];
  annotated: Annotated[];
  root: number;
}

/** The predictions of an attention head or a probe for one sentence. */
export interface Reading {
  /** Of every word but the root, in their order. */
  predicted: Predicted[];
  /**
   * Attention from the first word to the second; for a probe, the probability that the first word
   * depends on the second, with -1 for the root.
   */
  weight(from: number, to: number): number;
  /** Of a probe: the heads that spoke for a word's governor, and against it. */
  votes?: ((word: number) => string) | undefined;
  /** Of a structural probe; `weight` is a distance then. */
  structure?: Distances;
}

/** What a structural probe reads out of a layer about m words. */
export interface Distances {
  layer: number;
  /** Edges between two words: annotated, and predicted. */
  gold(a: number, b: number): number;
  predicted(a: number, b: number): number;
  /** Predicted edges from the root. */
  depth(word: number): number;
  /**
   * Whether a word is linked to its governor, or is the root that was found; undefined of what is
   * not counted.
   */
  found(word: number): boolean | undefined;
  /** The largest of all distances, at least 1. */
  most: number;
}
