import type { MetricState } from "../shared/head_types.js";
import type { SharedState } from "../shared/types.js";
import type { WireArray } from "../shared/wire.js";

export interface Thumbnails {
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
}

/** The traits of `HeadGrid`. */
export interface GridState extends SharedState, MetricState {
  stack: string;
  shared_scale: boolean;
  _thumbnails: Thumbnails | null;
}

/** Those that are drawn. */
export const WATCHED: (keyof GridState)[] = [
  ...(["selected", "layer", "hidden", "quantity", "unit", "scale", "stack"] as const),
  ...(["shared_scale", "metric", "sort", "descending", "filter", "outside"] as const),
  ...(["_thumbnails", "_axes", "_stacks", "_source", "_quantities", "_metrics"] as const),
];
