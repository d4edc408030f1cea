import type { Family } from "../shared/families.js";
import type { WirePlaces } from "../shared/places/place_types.js";
import type { Head, SharedState, Side } from "../shared/types.js";
import type { WireArray } from "../shared/wire.js";
import type { MetricState } from "./head_order.js";

/** The first attention, the second, or the difference. */
export const COMPARISON_PARTS = ["difference", "first", "second"] as const;
export type OfTwo = (typeof COMPARISON_PARTS)[number];
export const nextComparisonPart = (now: OfTwo): OfTwo =>
  COMPARISON_PARTS[(COMPARISON_PARTS.indexOf(now) + 1) % COMPARISON_PARTS.length] ?? "difference";

/** What thumbnails say of heads that are off. */
export interface Edited {
  disabled: Head[];
  method: string | null;
  versus: GridState["versus"];
  /** Which of the two compared attentions the thumbnails show. */
  comparison_part: OfTwo;
  /**
   * Of differences: bytes are 128 + sign round(127 sqrt(|value| / largest)), maxima the values
   * farthest from 0.
   */
  signed: boolean;
  /** Whether values are weights times the number of keys that their query sees. */
  times_keys: boolean;
  /** Queries and keys that are in both of two inputs that differ: the others have no difference. */
  common: [number, number] | null;
  /** float32 [L,H]: how far the heads are from the intact ones, nats; null where none is off. */
  changes: WireArray | null;
}

/** The row of a query, or the column of a key, in every head. */
export interface WireRow {
  side: Side;
  /** The position of the token; null for the mean over all queries. */
  of: number | null;
  /** uint8 [L,H,n]: 0 masked, 1 + round(254 sqrt(value / largest)); differences about 128. */
  values: WireArray;
  /** float32 [L,H]: the largest size of a value in each row. */
  largest: WireArray;
}

export interface Thumbnails extends Partial<Edited> {
  stack: string;
  quantity: string;
  unit: string;
  hidden: string[];
  /** uint8 [L,H,R,C]: round(255 sqrt(value / the head's maximum)). */
  values: WireArray;
  /** float32 [L,H]: each head's largest value. */
  maxima: WireArray;
  /** int32 [L,H,2]: query and key index of that value. */
  strongest: WireArray;
  /** What is painted on pictures in place of maps, which have no cells then; null for maps. */
  row?: WireRow | null;
}

/** The row of a query, or the column of a key, in every head. */
export interface Rows {
  stack: string;
  unit: string;
  quantity: string;
  side: Side;
  /** The position of the query or key. */
  of: number;
  /** float32 [L,H,K] or [L,H,Q], NaN where masked, 0 in heads that are off. */
  values: WireArray;
}

/** The traits of `HeadGrid`. */
export interface GridState extends SharedState, MetricState {
  stack: string;
  /** Draw weights times the number of keys that their query sees. */
  times_keys: boolean;
  /**
   * What thumbnails are compared with: the intact model, while heads are off, or another attention.
   */
  versus: "intact" | "other" | null;
  comparison_part: OfTwo;
  /** What the two are called that are compared; empty while nothing is. */
  _compared?: string[];
  /** What was off when the metrics were given. */
  _metrics_of?: string;
  /** What the metrics were measured on. */
  _metrics_note?: string;
  _thumbnails: Thumbnails | null;
  /** What thumbnails are; null for places where keys are on pictures, else maps. */
  thumbnail?: "maps" | "places" | null;
  /** What thumbnails of the shown stack can be painted on; "" for nothing. */
  _placed_on?: "pictures" | "sounds" | "";
  /** Where the tokens come from, while thumbnails are painted. */
  _places?: WirePlaces | null;
  _media?: { pictures: { width: number; height: number }[]; sounds: { seconds: number }[] } | null;
  /** What the cells show while a word is locked: what each head does for it, or the maps. */
  cells?: "answers" | "maps";
  /** Of the locked query, else of the locked key; null without, and with too many numbers. */
  _rows?: Rows | null;
  /** The families of heads with a tested name. */
  _families?: [head: Head, family: Family][];
  /** The shown checkpoint of a training; null for the last. */
  step: string | null;
  /** The checkpoints of metrics over a training. */
  _steps?: string[];
}

/** Those that are drawn. */
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
  "step",
  "_steps",
];
