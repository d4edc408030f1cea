import type { HeadsState } from "../head_types.js";
import type { Model } from "../types.js";
import type { EmbeddedMaps } from "./embedded_maps.js";

/** Base64 text. */
export type Text64 = string;

/**
 * Values that a figure accepts from linked figures: heads of its stacks, and its relations with
 * "all" first.
 */
export interface Limits {
  shapes: Record<string, [layers: number, heads: number]>;
  relations: string[] | null;
}

/** Figure as stored in the page; `name` is the name of its folder. */
export interface PageFigure<S = HeadsState, Own = unknown> extends Limits {
  name: string;
  label: string;
  /** Remark for readers of the figure. */
  remark: string;
  /** State without the values that a kernel computes. */
  state: S;
  /**
   * Names of the figures in its panels, by panel. The page gives these figures no section of their
   * own.
   */
  children?: Record<string, string>;
  /** Source data for computed answers, besides the stored data. */
  own: Own;
}

/** Data behind the figures, by name: attention maps, and data for single figures. */
export interface Held {
  maps?: EmbeddedMaps[];
  /** Maps of two compared attentions, on common axes. */
  two?: [EmbeddedMaps[], EmbeddedMaps[]];
  [name: string]: unknown;
}

/** Maps as stored in the page. */
export type StoredMaps = Omit<EmbeddedMaps, "values" | "fine"> & {
  values: Text64;
  fine?: Text64 | null;
};

/** Function that answers a figure on a page without a kernel. */
export type Kernel<S = HeadsState, Own = unknown> = (
  figure: PageFigure<S, Own>,
  held: Held,
) => Model<S>;
