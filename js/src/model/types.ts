import type { MetricState } from "./head_types.js";
import type { WireArray } from "./wire.js";

/** [layer, head, stack], all 0-based, as `attnwidget.Head`. */
export type Head = [layer: number, head: number, stack: string];
export type Side = "query" | "key";
export type Special = "cls" | "sep" | "first";
export type Scale = "linear" | "sqrt" | "log";

/** One axis of a map: an entry a token (or word). */
export interface Axis {
  text: string[];
  raw: string[];
  special: string[];
  segments: number[];
}

export interface Axes {
  stack: string;
  unit: string;
  query: Axis;
  key: Axis;
}

export interface StackInfo {
  name: string;
  n_layers: number;
  n_heads: number;
  n_key_heads: number;
  n_query: number;
  n_key: number;
}

/** Traits every widget has under the same names, so that any two can be linked. */
export interface SharedState {
  selected: Head[];
  layer: number;
  tokens: [Side, number][];
  hidden: Special[];
  /** "weights", "norms" or "gradients". */
  quantity: string;
  unit: "tokens" | "words";
  scale: Scale;
  /** `loss`: what the gradients are of; "" without any. */
  _source: { model: string; note: string; loss: string };
  /** The quantities that there are. */
  _quantities: string[];
  _axes: Axes;
  _stacks: StackInfo[];
  _error: string;
}

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

export interface GridState extends SharedState, MetricState {
  stack: string;
  shared_scale: boolean;
  _thumbnails: Thumbnails | null;
}

/** The one map a view shows; NaN where the query may not see the key. */
export interface HeadMap {
  stack: string;
  layer: number;
  head: number;
  quantity: string;
  unit: string;
  /** False where the values were rounded to bytes, as in a standalone page. */
  exact: boolean;
  values: WireArray;
}

export interface ViewState extends SharedState {
  mode: "lines" | "matrix";
  top_mass: number;
  renormalise: boolean;
  sentences: "all" | "aa" | "ab" | "ba" | "bb";
  _highlighted: { query: number[]; key: number[] };
  _map: HeadMap | null;
}

/** What a widget may do with its anywidget model: the least that it needs. */
export interface Model<T> {
  get<K extends keyof T>(key: K): T[K];
  set<K extends keyof T>(key: K, value: T[K]): void;
  on(event: string, callback: () => void): void;
  off(event: string, callback: () => void): void;
  save_changes(): void;
}

export interface RenderContext<T> {
  model: Model<T>;
  el: HTMLElement;
  signal: AbortSignal;
}

const inStack = (stack: string) => (stack === "self" ? "" : `${stack} `);
export const headName = ([layer, head, stack]: Head) => `${inStack(stack)}L${layer} H${head}`;
/** The 1-based name that papers print. */
export const paperName = ([layer, head]: Head) => `${layer + 1}-${head + 1}`;
export const sameHead = (a: Head, b: Head) => a[0] === b[0] && a[1] === b[1] && a[2] === b[2];
