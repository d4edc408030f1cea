import type { Axis, Side } from "../shared/types.js";
import type { WireArray } from "../shared/wire.js";

/**
 * [query from, query to, key from, key to), in tokens; ends need not be whole while a hand moves
 * it.
 */
export type Part = [number, number, number, number];
/** From, to, the weight, and the text of both tokens. */
export type Link = [query: number, key: number, weight: number, from: string, to: string];

interface OfHead {
  layer: number;
  head: number;
  stack: string;
}

/** Maxima of blocks of `step` queries and keys; the first key apart. NaN where all is masked. */
interface Blocks {
  step: number;
  values: WireArray;
  first: WireArray;
}

/** A head as a whole. */
export interface LongHead extends OfHead, Blocks {
  n_query: number;
  n_key: number;
  /** Of the first key. */
  first_text: string;
  /** The largest weight but for those to the first key. */
  maximum: number;
  links: Link[];
}

/**
 * The visible part with its surroundings; at a step of 1 the weights themselves, and their tokens.
 */
export interface Tile extends OfHead, Blocks {
  /** The window that was asked for, and as far as the stack has it; null for all. */
  asked: Part | null;
  window: Part | null;
  queries: [number, number];
  keys: [number, number];
  axes: Record<Side, Axis> | null;
  /** The strongest in sight, where they are drawn. */
  links: Link[] | null;
}

/** One query's weights to all keys, as maxima of `step` keys; the first key apart. */
export interface Row extends OfHead {
  query: number;
  text: string;
  step: number;
  values: WireArray;
  first: number;
  links: [key: number, weight: number, text: string][];
}
