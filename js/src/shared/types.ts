/** Head as [layer, head, stack], 0-based like `attnwidget.Head`. */
export type Head = [layer: number, head: number, stack: string];
export type Side = "query" | "key";
export const SPECIALS = ["cls", "sep", "first"] as const;
export type Special = (typeof SPECIALS)[number];
/**
 * Scales. "absolute" is the same for all weights from 0 to 1, in every figure. The others are
 * relative: they end at the largest value shown, in a grid at the largest value of each head.
 */
export const SCALES = ["absolute", "linear", "sqrt", "log"] as const;
export type Scale = (typeof SCALES)[number];

/** Axis of a map, with one entry per token or word. */
export interface Axis {
  text: string[];
  raw: string[];
  special: string[];
  segments: number[];
  /** Role of each entry's chat message, or "template". */
  roles?: string[];
  /** Number of each entry's chat message; null for the template. */
  turns?: (number | null)[];
  /** Whether each entry is a part of a picture or a sound. */
  placed?: boolean[];
  /** Positions that occur only in the first or only in the second input of a comparison. */
  alone?: [number[], number[]];
  /** Number of entries in the prompt, if a model generated the rest. */
  prompt?: number;
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
  /** Layers of a hybrid model without attention. */
  layers_without_attention?: number[];
  n_heads: number;
  n_key_heads: number;
  n_query: number;
  n_key: number;
  /** Names of heads that combine other heads, by layer; null for the heads of a model. */
  names?: HeadNames | null;
}

interface HeadNames {
  heads: string[][];
  /** Short names of layers and heads, for the margins of a grid. */
  rows: string[];
  columns: string[];
}

/** Replacement for the output of a disabled head. */
export type Method = "uniform" | "zero" | "first" | "rule";

/** Label that the user gave to a head. */
export type HeadLabel = [head: Head, text: string];

/** Options that a saved page cannot change: the reason by trait name. */
export type Fixed = Readonly<Record<string, string>>;

/** Traits that every widget has under the same names, so that any two can be linked. */
export interface SharedState {
  selected: Head[];
  layer: number;
  tokens: [Side, number][];
  hidden: Special[];
  /** "weights", "norms" or "gradients". */
  quantity: string;
  unit: "tokens" | "words";
  scale: Scale;
  /** Disabled heads. */
  disabled: Head[];
  /** Selected replacement method, or null for the model's default. */
  method: Method | null;
  labels?: HeadLabel[];
  /** Description of the source. `loss` names the loss of the gradients, or is "". */
  _source: {
    model: string;
    note: string;
    loss: string;
    /** Description of the edits. */
    edits?: string;
    /** Replacement method in use, or null while no head is off. */
    method?: Method | null;
    /** Whether every head that is off has a rule in this text. */
    ruled?: boolean;
    /** Reason why no head can be switched off, or "" if heads can be. */
    fixed?: string;
    /**
     * Special tokens with much attention, and their share of all attention; null if the share is
     * small.
     */
    resting?: { kinds: Special[]; share: number } | null;
  };
  /** Available quantities. */
  _quantities: string[];
  _axes: Axes;
  _stacks: StackInfo[];
  _error: string;
  /** Current work of the kernel, or "" (or undefined) if it is idle. */
  _working?: string;
  /** Reason why the last request was refused. The earlier result is still shown. */
  _refused?: string;
  /** Options that cannot change on a saved page; a notebook has none. */
  _fixed?: Fixed;
  /** Name shared by all directly or indirectly linked figures; "" for a figure without links. */
  _circle: string;
}

/** Part of an anywidget model that widgets use. */
export interface Model<T> {
  get<K extends keyof T>(key: K): T[K];
  set<K extends keyof T>(key: K, value: T[K]): void;
  on(event: string, callback: (message?: unknown) => void): void;
  off(event: string, callback: (message?: unknown) => void): void;
  save_changes(): void;
  /** Send a message to the kernel; absent on a page without a kernel. */
  send?(content: unknown, callbacks?: unknown): void;
  /** Widget manager of Jupyter, which knows the kernel. */
  widget_manager?: unknown;
}

export interface RenderContext<T> {
  model: Model<T>;
  el: HTMLElement;
  signal: AbortSignal;
}

const inStack = (stack: string) => (stack === "self" ? "" : `${stack} `);
/** Return the name of a head that combines other heads, or undefined for a head of a model. */
export const combinedName = ([layer, head, stack]: Head, stacks?: StackInfo[]) =>
  stacks?.find(({ name }) => name === stack)?.names?.heads[layer]?.[head];
/** Return `L7 H9`, or for example "mean of 12 heads of layer 7". */
export const headName = (head: Head, stacks?: StackInfo[]) =>
  combinedName(head, stacks) ?? `${inStack(head[2])}L${head[0]} H${head[1]}`;
/** Return the 1-based name used in papers. */
export const paperName = ([layer, head]: Head) => `${layer + 1}-${head + 1}`;
export const sameHead = (a: Head, b: Head) => a[0] === b[0] && a[1] === b[1] && a[2] === b[2];
