import { ALL, POOLED } from "../shared/relation_types.js";
import { asInt32 } from "../shared/wire.js";
import type { DrawnSentence } from "./state.js";

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

/** Stands for the governor of the root. */
export const ROOT = "root";

export function decodeTree({ words, relations, governors: sent }: DrawnSentence): Tree {
  const governors = [...asInt32(sent)].map((governor) => governor - 1);
  const annotated = governors.flatMap((governor, dependent) =>
    governor < 0 ? [] : [{ governor, dependent, relation: relations[dependent] ?? "" }],
  );
  return { words, relations, governors, annotated, root: governors.indexOf(-1) };
}

/** Whether a word's relation is the one chosen, or a subtype of it. */
export function hasRelation(chosen: string, relation: string): boolean {
  if (chosen === ALL || chosen === relation) return true;
  return chosen.endsWith(POOLED) && relation.split(":")[0] === chosen.slice(0, -POOLED.length);
}

/** The predicted arcs of a relation. */
export const arcsOf = (tree: Tree, predicted: Predicted[], relation: string): Predicted[] =>
  predicted.filter(({ dependent, isLink, right }) =>
    // A link that is not annotated has no relation.
    isLink && !right ? relation === ALL : hasRelation(relation, tree.relations[dependent] ?? ""),
  );

/** The text of a word, or "root" for the governor of the root. */
export const wordText = ({ words }: Tree, word: number): string =>
  word < 0 ? ROOT : (words[word] ?? "");

/** A word with its position from 1, as tables list it. */
export const numberedWord = (tree: Tree, word: number): string =>
  word < 0 ? ROOT : `${word + 1} ${wordText(tree, word)}`;
