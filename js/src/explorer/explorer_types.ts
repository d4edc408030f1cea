import type { GridState } from "../head_grid/state.js";
import type { ViewState } from "../head_view/state.js";
import type { PredictionState } from "../prediction_view/state.js";
import type { Family } from "../shared/families.js";
import type { HeadsState } from "../shared/head_types.js";
import type { Head, Model, RenderContext, SharedState } from "../shared/types.js";
import type { WireArray } from "../shared/wire.js";

export const PANELS = [
  "grid",
  "view",
  "head_scatter",
  "predictions",
  "why",
  "card",
  "table",
  "arcs",
] as const;
export type Panel = (typeof PANELS)[number];
type ByPanel<T> = Partial<Record<Panel, T>>;

/** The input that the figures show. */
export interface Input {
  text: string;
  pair: string | null;
  /** The separate text of a decoder. */
  target: string | null;
  /** The second text of a comparison. */
  versus_text: string | null;
}

/** A text of which something is known to be worth seeing. */
export interface Example {
  name: string;
  text: string;
  pair: string | null;
}

/** A head with a tested name. */
export interface NamedHead {
  head: Head;
  /** The name in the atlas. It is the label of the head, unless a reader wrote another label. */
  label: string;
  family: Family;
}

export const NO_PANELS = "There are no panels: name some in `panels`.";

/**
 * Each panel's trait is the name of its widget, "anywidget:…", or null before the widget exists.
 */
export interface ExplorerState
  extends HeadsState,
    Omit<SharedState, "_axes">,
    Input,
    Record<Panel, string | null> {
  /** The example that is shown. */
  example: string | null;
  /** The panels that there are. */
  panels: Panel[];
  /** The detail that is open; null while none is. */
  tab: Panel | null;
  /** The share, 0 to 1, of what is measured for a panel. */
  progress: ByPanel<number>;
  _shown: Input | Record<string, never>;
  _examples: Example[];
  /** What tests found that heads do; null where nobody asked for names. */
  _tested: NamedHead[] | null;
  /** The links that tested names predict, uint8 [names, queries, keys]; null without names. */
  _name_links: { names: string[]; values: WireArray } | null;
  /** What the page cannot do without a model, in one sentence; "" with a model. */
  _without_model: string;
  /** The token of unknown words in the vocabulary; null without one. */
  _unknown: string | null;
  /** The label of the button below an error, such as "read the first 512 tokens"; "" for none. */
  _way_out: string;
  /** The number of clicks on this button. */
  _way_out_taken: number;
  /** The second text that the model can read, if any. */
  _second: "pair" | "target" | "";
  /** What the button in a panel without a figure does. */
  _offers: ByPanel<string>;
  /** The panel whose button was clicked. */
  _accepted: Panel | "";
  /** How often the sentence of the arcs was asked for. */
  _sentence_asked: number;
  /** The source of a panel's numbers, or the reason for its absence. */
  _notes: ByPanel<string>;
  _problems: ByPanel<string>;
  _painted: boolean;
}

/** How anywidget hands a widget the others that its traits name, and their models. */
export interface Host {
  getWidget(reference: string): Promise<{
    render(options: { el: HTMLElement; signal: AbortSignal }): Promise<unknown> | unknown;
  }>;
  getModel(reference: string): Promise<unknown>;
}

export type GridModel = Model<GridState>;
export type ViewModel = Model<ViewState>;
export type PredictionModel = Model<PredictionState>;

export interface ExplorerContext extends RenderContext<ExplorerState> {
  host: Host;
}

export const TITLES: Record<Panel, string> = {
  grid: "all heads",
  view: "one head",
  head_scatter: "map of heads",
  predictions: "predictions",
  why: "why",
  card: "this head",
  table: "relations",
  arcs: "arcs",
};
