import type { HeadsState } from "./head_types.js";

/** Who attends to whom. */
export const DIRECTIONS = ["dependent to governor", "governor to dependent"] as const;
export type Direction = (typeof DIRECTIONS)[number];
/** Every word, of whatever relation. */
export const ALL = "all";
/** The end of the name of a relation that is pooled over its subtypes. */
export const POOLED = " (all)";

/** Traits of every figure of heads as predictors of governors. */
export interface RelationsState extends HeadsState {
  relation: string;
  direction: Direction;
}
