import { ALL, POOLED } from "../shared/relation_types.js";
import { asInt32 } from "../shared/wire.js";
import type { DrawnSentence } from "./state.js";

/** Arc from a word to its dependent; words are counted from 0. */
export interface Arc {
  governor: number;
  dependent: number;
}

export interface Annotated extends Arc {
  relation: string;
}

/** Predicted arc. */
export interface Predicted extends Arc {
  /** Attention weight or probability behind the prediction. */
  weight: number;
  /** Whether the predicted governor is the annotated one. */
  right: boolean;
  /** Whether the arc is an undirected link of a structural probe. */
  isLink?: boolean;
}

export interface Tree {
  words: string[];
  relations: string[];
  /** Governor of each word; -1 for the root. */
  governors: number[];
  annotated: Annotated[];
  root: number;
}

/** Distances between m words in a layer: annotated, and predicted by a structural probe. */
export interface Distances {
  /** Return the number of edges between two words: annotated, and predicted. */
  gold(a: number, b: number): number;
  predicted(a: number, b: number): number;
  /** Largest of all distances, at least 1. */
  most: number;
}

/** Name of the root's governor. */
export const ROOT = "root";

export function decodeTree({ words, relations, governors: sent }: DrawnSentence): Tree {
  const governors = [...asInt32(sent)].map((governor) => governor - 1);
  const annotated = governors.flatMap((governor, dependent) =>
    governor < 0 ? [] : [{ governor, dependent, relation: relations[dependent] ?? "" }],
  );
  return { words, relations, governors, annotated, root: governors.indexOf(-1) };
}

/** Return whether a word's relation is the selected one, or a subtype of it. */
export function hasRelation(chosen: string, relation: string): boolean {
  if (chosen === ALL || chosen === relation) return true;
  return chosen.endsWith(POOLED) && relation.split(":")[0] === chosen.slice(0, -POOLED.length);
}

/** Return the predicted arcs of a relation. */
export const arcsOf = (tree: Tree, predicted: Predicted[], relation: string): Predicted[] =>
  predicted.filter(({ dependent, isLink, right }) =>
    // A link that is not annotated has no relation.
    isLink && !right ? relation === ALL : hasRelation(relation, tree.relations[dependent] ?? ""),
  );

/** Return the text of a word, or "root" for the governor of the root. */
export const wordText = ({ words }: Tree, word: number): string =>
  word < 0 ? ROOT : (words[word] ?? "");

/** Return a word with its position, counted from 1, for tables. */
export const numberedWord = (tree: Tree, word: number): string =>
  word < 0 ? ROOT : `${word + 1} ${wordText(tree, word)}`;
