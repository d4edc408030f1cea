import type { Family } from "../shared/families.js";
import type { WirePlaces } from "../shared/places/place_types.js";
import type { Head, SharedState, Side } from "../shared/types.js";
import type { WireArray } from "../shared/wire.js";
import type { MetricState } from "./head_order.js";

/** Maps to show in a comparison: the difference, the first attention, or the second. */
export const COMPARISON_PARTS = ["difference", "first", "second"] as const;
export type OfTwo = (typeof COMPARISON_PARTS)[number];
export const nextComparisonPart = (now: OfTwo): OfTwo =>
  COMPARISON_PARTS[(COMPARISON_PARTS.indexOf(now) + 1) % COMPARISON_PARTS.length] ?? "difference";

/** Fields of thumbnails about heads that are off. */
export interface Edited {
  disabled: Head[];
  method: string | null;
  versus: GridState["versus"];
  /** Which of the two compared attentions the thumbnails show. */
  comparison_part: OfTwo;
  /**
   * Whether values are differences. Then bytes are 128 + sign * round(127 * sqrt(|value| /
   * largest)), and maxima are the values with the largest absolute value.
   */
  signed: boolean;
  /** Whether values are weights times the number of keys that their query sees. */
  times_keys: boolean;
  /**
   * Numbers of queries and keys that two different inputs have in common. Other tokens have no
   * difference.
   */
  common: [number, number] | null;
  /**
   * float32 [L, H]: divergence of the heads from the intact ones, in nats; null if no head is off.
   */
  changes: WireArray | null;
}

/** Row of a query, or column of a key, in every head. */
export interface WireRow {
  side: Side;
  /** Position of the token; null for the mean over all queries. */
  of: number | null;
  /**
   * uint8 [L, H, n]: 0 if masked, otherwise 1 + round(254 * sqrt(value / largest)); differences are
   * signed around 128.
   */
  values: WireArray;
  /** float32 [L, H]: largest absolute value of each row. */
  largest: WireArray;
}

export interface Thumbnails extends Partial<Edited> {
  stack: string;
  quantity: string;
  unit: string;
  hidden: string[];
  /** uint8 [L, H, R, C]: round(255 * sqrt(value / the head's maximum)). */
  values: WireArray;
  /** float32 [L, H]: largest value of each head. */
  maxima: WireArray;
  /** int32 [L, H, 2]: query and key index of this value. */
  strongest: WireArray;
  /** Row that is painted on pictures instead of maps, which then have no cells; null for maps. */
  row?: WireRow | null;
}

/** Row of a query, or column of a key, in every head. */
export interface Rows {
  stack: string;
  unit: string;
  quantity: string;
  side: Side;
  /** Position of the query or key. */
  of: number;
  /** float32 [L, H, K] or [L, H, Q]: weights, NaN if masked, 0 in heads that are off. */
  values: WireArray;
}

/** Traits of `HeadGrid`. */
export interface GridState extends SharedState, MetricState {
  stack: string;
  /** Whether to draw weights times the number of keys that their query sees. */
  times_keys: boolean;
  /**
   * Attention that thumbnails are compared with: the intact model, while heads are off, or another
   * attention.
   */
  versus: "intact" | "other" | null;
  comparison_part: OfTwo;
  /** Names of the two compared attentions; empty without a comparison. */
  _compared?: string[];
  /** Edits that were active when the metrics were set. */
  _metrics_of?: string;
  /** Data on which the metrics were measured. */
  _metrics_note?: string;
  /** Data of single metrics that were measured elsewhere, by title. */
  _metric_notes?: Record<string, string>;
  _thumbnails: Thumbnails | null;
  /** Kind of thumbnails; null for "places" if keys are on pictures, otherwise "maps". */
  thumbnail?: "maps" | "places" | null;
  /** Media on which thumbnails of the shown stack can be painted, or "". */
  _placed_on?: "pictures" | "sounds" | "";
  /** Regions of the tokens, while thumbnails are painted. */
  _places?: WirePlaces | null;
  _media?: { pictures: { width: number; height: number }[]; sounds: { seconds: number }[] } | null;
  /** Content of cells while a word is locked: the answer of each head, or the maps. */
  cells?: "answers" | "maps";
  /** Rows of the locked query or key; null without one, or if there are too many values. */
  _rows?: Rows | null;
  /** Families of heads with a tested name. */
  _families?: [head: Head, family: Family][];
  /** Shown checkpoint of a training; null for the last. */
  step: string | null;
  /** Checkpoints of metrics over a training. */
  _steps?: string[];
}

/** Traits whose changes redraw the figure. */
export const WATCHED: (keyof GridState)[] = [
  "selected",
  "layer",
  "hidden",
  "quantity",
  "unit",
  "scale",
  "stack",
  "disabled",
  "method",
  "labels",
  "versus",
  "comparison_part",
  "_compared",
  "times_keys",
  "metric",
  "sort",
  "descending",
  "filter",
  "_thumbnails",
  "thumbnail",
  "_placed_on",
  "_places",
  "_media",
  "tokens",
  "cells",
  "_rows",
  "_families",
  "_axes",
  "_stacks",
  "_source",
  "_quantities",
  "_metrics",
  "_metrics_of",
  "_metrics_note",
  "_metric_notes",
  "step",
  "_steps",
];
