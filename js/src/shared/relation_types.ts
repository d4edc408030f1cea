import type { HeadsState } from "./head_types.js";

/** Directions of attention between a dependent and its governor. */
export const DIRECTIONS = ["dependent to governor", "governor to dependent"] as const;
export type Direction = (typeof DIRECTIONS)[number];
/** Name for words of all relations. */
export const ALL = "all";
/** Suffix of a relation that is pooled over its subtypes. */
export const POOLED = " (all)";

/** Traits of every figure that shows heads as predictors of governors. */
export interface RelationsState extends HeadsState {
  relation: string;
  direction: Direction;
}
