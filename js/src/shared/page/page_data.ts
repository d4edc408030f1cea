import type { HeadsState } from "../head_types.js";
import type { Model } from "../types.js";
import type { EmbeddedMaps } from "./embedded_maps.js";

/** Bytes as base64 text. */
export type Text64 = string;

/**
 * The values that a figure accepts from others: heads of its stacks, and relations that it can
 * show, with "all" first.
 */
export interface Limits {
  shapes: Record<string, [layers: number, heads: number]>;
  relations: string[] | null;
}

/** A figure as the page holds it; `name` is that of its folder. */
export interface PageFigure<S = HeadsState, Own = unknown> extends Limits {
  name: string;
  label: string;
  /** What its reader must know. */
  remark: string;
  /** Without what its kernel computes. */
  state: S;
  /** The names of the figures in its panels, by panel. The page gives these figures no section. */
  children?: Record<string, string>;
  /** The source of its computed answers, beside the stored data. */
  own: Own;
}

/** The data behind the figures, by name: maps of an attention, and data for a single figure. */
export interface Held {
  maps?: EmbeddedMaps[];
  /** Of two attentions that are compared, on common axes. */
  two?: [EmbeddedMaps[], EmbeddedMaps[]];
  [name: string]: unknown;
}

/** Maps as the page holds them. */
export type StoredMaps = Omit<EmbeddedMaps, "values" | "fine"> & {
  values: Text64;
  fine?: Text64 | null;
};

/** The part of a kernel that a page without one plays for a figure. */
export type Kernel<S = HeadsState, Own = unknown> = (
  figure: PageFigure<S, Own>,
  held: Held,
) => Model<S>;
