import type { Head, HeadLabel } from "./types.js";
import type { WireArray } from "./wire.js";

/** Traits of every widget about heads, with or without attention. */
export interface HeadsState {
  selected: Head[];
  layer: number;
  labels?: HeadLabel[];
  _error: string;
}

/** Metrics of one stack. */
export interface Metrics {
  stack: string;
  titles: string[];
  /** float32 [metrics, layers, heads]. */
  values: WireArray;
  /**
   * int32 [layers * heads, n]: indices (layer * heads + head) of the most similar heads, nearest
   * first.
   */
  similar: WireArray;
  /** Training checkpoint, and the range of each metric over all checkpoints, by title. */
  step?: string;
  ranges?: [low: number, high: number][];
}
