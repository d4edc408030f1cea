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

/** Traits of a figure that shows one metric with all heads. */
export interface MetricState {
  metric: string | null;
  sort: "none" | "rows" | "all";
  descending: boolean;
  filter: [low: number, high: number] | null;
  outside: "dim" | "remove";
  _metrics: Metrics | null;
}

export interface StripState extends HeadsState {
  _metrics: Metrics | null;
}

export interface PlacedHeads {
  stack: string;
  /** float32 [layers, heads, 2]. */
  positions: WireArray;
  /** Behaviours in the order of the legend; `slot` chooses the mark, -1 is grey. */
  groups: { name: string; slot: number }[];
  /** int32 [layers, heads]: index in `groups`; meaningless without any. */
  group: WireArray;
}

export interface MapState extends HeadsState {
  color: "layer" | "behaviour";
  _heads: PlacedHeads | null;
  /** `quantity`: what the places stand for; `note`: how they were made. */
  _source: { model: string; quantity: string; note: string };
}
