import type { Head } from "../../shared/types.js";
import type { WireArray } from "../../shared/wire.js";

export const ARRANGEMENTS = ["one", "beside", "overlay"] as const;
export type Arrangement = (typeof ARRANGEMENTS)[number];

/** What is drawn of a head in two attentions: both maps and the difference, or one of these. */
export const OF_TWO_MAPS = ["all", "difference", "first", "second"] as const;
export type OfTwoMaps = (typeof OF_TWO_MAPS)[number];

/** Maps of heads of one stack: float32, or bytes as a page without a kernel holds them. */
export interface Maps {
  stack: string;
  quantity: string;
  unit: string;
  heads: Head[];
  exact: boolean;
  /** The largest value of each that is in bytes. */
  maxima: number[];
  /** [heads, queries, keys] */
  values: WireArray;
}
