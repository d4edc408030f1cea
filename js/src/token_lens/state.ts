import type { SharedState } from "../shared/types.js";
import type { WireArray } from "../shared/wire.js";

/** The weights of every head from a query, to a key, or from the query to the key. */
export interface Lens {
  stack: string;
  quantity: string;
  unit: string;
  /** Kinds of tokens that were hidden when `goes` was computed. */
  hidden: string[];
  query: number | null;
  key: number | null;
  /** The layer whose heads these are; null: those of all layers. */
  layer: number | null;
  /** Heads as they are counted, of one token its tokens last; NaN where masked. */
  shape: number[];
  /** float32, or packed to three digits where `decade` is that of the largest number. */
  values: WireArray;
  decade: number | null;
  /** False where the values were rounded to bytes, as in a standalone page. */
  exact: boolean;
  /** uint8 [layers, heads] between two tokens: 1 where no other key has a larger weight. */
  goes: WireArray | null;
}

/** The traits of `TokenLens`. */
export interface LensState extends SharedState {
  stack: string;
  of: "layer" | "model";
  sort: "head" | "weight";
  _lens: Lens | null;
}

/** Those that are drawn. */
export const WATCHED: (keyof LensState)[] = [
  "selected",
  "layer",
  "tokens",
  "hidden",
  "quantity",
  "unit",
  "scale",
  "disabled",
  "labels",
  "stack",
  "of",
  "sort",
  "_lens",
  "_axes",
  "_stacks",
  "_source",
  "_quantities",
];
