/** From a word to the word that depends on it; words count from 0. */
export interface Arc {
  governor: number;
  dependent: number;
}

export interface Annotated extends Arc {
  relation: string;
}

/** A predicted arc. */
export interface Predicted extends Arc {
  /** The attention weight or probability behind the prediction. */
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

/** The distances between m words in a layer: annotated, and predicted by a structural probe. */
export interface Distances {
  /** Edges between two words: annotated, and predicted. */
  gold(a: number, b: number): number;
  predicted(a: number, b: number): number;
  /** The largest of all distances, at least 1. */
  most: number;
}
