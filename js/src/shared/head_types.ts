import type { Head, HeadLabel } from "./types.js";
import type { WireArray } from "./wire.js";

/** Traits of every widget of heads, whether or not it shows an attention. */
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
   * int32 [layers * heads, n]: the heads most like each, nearest first, as layer * heads + head.
   */
  similar: WireArray;
  /** The checkpoint of a training; its metrics have a range over all checkpoints, by title. */
  step?: string;
  ranges?: [low: number, high: number][];
}
