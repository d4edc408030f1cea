import { ALL, type ArcsState, DIRECTIONS, type DrawnSentence } from "../model/relation_types.js";
import { asFloat32, asInt32 } from "../model/wire.js";

/** Words count from 0. */
export interface Arc {
  governor: number;
  dependent: number;
}

export interface Annotated extends Arc {
  relation: string;
}

export interface Predicted extends Arc {
  /** Behind the prediction, by the direction. */
  weight: number;
  right: boolean;
}

export interface Tree {
  words: string[];
  relations: string[];
  /** Governor of each word, -1 for the root's. */
  governors: number[];
  annotated: Annotated[];
  root: number;
}

/** One head on one tree. */
export interface Reading {
  /** Of every word but the root, in their order. */
  predicted: Predicted[];
  /** Attention from a word to another. */
  weight(from: number, to: number): number;
}

export function decodeTree(drawn: DrawnSentence): Tree {
  const governors = [...asInt32(drawn.governors)].map((governor) => governor - 1);
  const annotated = governors.flatMap((governor, dependent) =>
    governor < 0 ? [] : [{ governor, dependent, relation: drawn.relations[dependent] ?? "" }],
  );
  const { words, relations } = drawn;
  return { words, relations, governors, annotated, root: governors.indexOf(-1) };
}

export function decodeReading(
  drawn: DrawnSentence,
  tree: Tree,
  direction: ArcsState["direction"],
): Reading | undefined {
  if (!drawn.predicted) return undefined;
  const m = tree.words.length;
  const map = asFloat32(drawn.predicted.map);
  const governors = asInt32(drawn.predicted.governors);
  const way = DIRECTIONS.indexOf(direction);
  const weight = (from: number, to: number) => map[from * m + to] ?? 0;
  const predicted = tree.annotated.map(({ dependent, governor: annotated }) => {
    const governor = (governors[way * m + dependent] ?? 0) - 1;
    const pair: [number, number] = way === 0 ? [dependent, governor] : [governor, dependent];
    return { dependent, governor, weight: weight(...pair), right: governor === annotated };
  });
  return { predicted, weight };
}

const POOLED = " (all)";

/** Whether a word's relation is the one chosen, or a subtype of it. */
export function hasRelation(chosen: string, relation: string): boolean {
  if (chosen === ALL || chosen === relation) return true;
  return chosen.endsWith(POOLED) && relation.split(":")[0] === chosen.slice(0, -POOLED.length);
}
