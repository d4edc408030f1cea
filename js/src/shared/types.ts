/** [layer, head, stack], all 0-based, as `attnwidget.Head`. */
export type Head = [layer: number, head: number, stack: string];
export type Side = "query" | "key";
export const SPECIALS = ["cls", "sep", "first"] as const;
export type Special = (typeof SPECIALS)[number];
/**
 * "absolute": one scale for all weights from 0 to 1, in every figure. The others are relative: they
 * end at the largest value shown, in a grid at the largest value of each head.
 */
export const SCALES = ["absolute", "linear", "sqrt", "log"] as const;
export type Scale = (typeof SCALES)[number];

/** One axis of a map: an entry a token (or word). */
export interface Axis {
  text: string[];
  raw: string[];
  special: string[];
  segments: number[];
  /** In a chat, the role of the message of each entry, or "template". */
  roles?: string[];
  /** In a chat, the number of the message of each entry, null of the template. */
  turns?: (number | null)[];
  /** Whether each entry is a part of a picture or a sound. */
  placed?: boolean[];
  /** Positions that occur in only the first or only the second input of a comparison. */
  alone?: [number[], number[]];
  /** How many are of a prompt, where a model wrote the rest. */
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
  /** The layers of a hybrid model that have no attention. */
  layers_without_attention?: number[];
  n_heads: number;
  n_key_heads: number;
  n_query: number;
  n_key: number;
  /** The names of heads that combine other heads, by layer; null for the heads of a model. */
  names?: HeadNames | null;
}

interface HeadNames {
  heads: string[][];
  /** Short names of layers and of heads, for the margins of a grid. */
  rows: string[];
  columns: string[];
}

/** What stands in the place of heads that are off. */
export type Method = "uniform" | "zero" | "first";

/** A text that a reader gave to a head. */
export type HeadLabel = [head: Head, text: string];

/** Options that a saved page cannot change, with the reason, by the name of the trait. */
export type Fixed = Readonly<Record<string, string>>;

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
  /** Heads that are switched off. */
  disabled: Head[];
  /** The chosen replacement of their outputs; null for the model's default. */
  method: Method | null;
  labels?: HeadLabel[];
  /** `loss`: what the gradients are of; "" without any. */
  _source: {
    model: string;
    note: string;
    loss: string;
    /** What is off, in words. */
    edits?: string;
    /** What stands in the place of heads that are off; null while no head is off. */
    method?: Method | null;
    /** Why no head can be switched off; "" where heads can. */
    fixed?: string;
    /**
     * The special tokens on which much attention rests, and their share of all attention; null
     * where little does.
     */
    resting?: { kinds: Special[]; share: number } | null;
  };
  /** The quantities that there are. */
  _quantities: string[];
  _axes: Axes;
  _stacks: StackInfo[];
  _error: string;
  /** What the kernel does before it shows the choice; "" or undefined while it does nothing. */
  _working?: string;
  /** Why what was asked for last was not done; what was shown is still shown. */
  _refused?: string;
  /** The options that cannot change on a saved page; a notebook has none. */
  _fixed?: Fixed;
  /**
   * A name shared by all figures that are linked, also indirectly; "" for a figure without links.
   */
  _circle: string;
}

/** What a widget may do with its anywidget model: the least that it needs. */
export interface Model<T> {
  get<K extends keyof T>(key: K): T[K];
  set<K extends keyof T>(key: K, value: T[K]): void;
  on(event: string, callback: (message?: unknown) => void): void;
  off(event: string, callback: (message?: unknown) => void): void;
  save_changes(): void;
  /** Not on a page without a kernel. */
  send?(content: unknown, callbacks?: unknown): void;
  /** Of Jupyter, which knows the kernel. */
  widget_manager?: unknown;
}

export interface RenderContext<T> {
  model: Model<T>;
  el: HTMLElement;
  signal: AbortSignal;
}

const inStack = (stack: string) => (stack === "self" ? "" : `${stack} `);
/** The name of a head that combines other heads; undefined for a head of a model. */
export const combinedName = ([layer, head, stack]: Head, stacks?: StackInfo[]) =>
  stacks?.find(({ name }) => name === stack)?.names?.heads[layer]?.[head];
/** `L7 H9`, or for example "mean of 12 heads of layer 7". */
export const headName = (head: Head, stacks?: StackInfo[]) =>
  combinedName(head, stacks) ?? `${inStack(head[2])}L${head[0]} H${head[1]}`;
/** The 1-based name that papers print. */
export const paperName = ([layer, head]: Head) => `${layer + 1}-${head + 1}`;
export const sameHead = (a: Head, b: Head) => a[0] === b[0] && a[1] === b[1] && a[2] === b[2];
