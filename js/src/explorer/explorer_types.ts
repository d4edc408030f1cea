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

/** Input that the figures show. */
export interface Input {
  text: string;
  pair: string | null;
  /** Separate text of a decoder. */
  target: string | null;
  /** Second text of a comparison. */
  versus_text: string | null;
}

/** Text with something known to see. */
export interface Example {
  name: string;
  text: string;
  pair: string | null;
}

/** Head with a tested name. */
export interface NamedHead {
  head: Head;
  /** Name in the atlas, and the default label of the head. */
  label: string;
  family: Family;
}

export const NO_PANELS = "There are no panels: name some in `panels`.";

/**
 * State of an explorer. Each panel's trait is a reference to its widget, "anywidget:…", or null
 * before the widget exists.
 */
export interface ExplorerState
  extends HeadsState,
    Omit<SharedState, "_axes">,
    Input,
    Record<Panel, string | null> {
  /** Selected example. */
  example: string | null;
  /** Panels of the explorer. */
  panels: Panel[];
  /** Open detail, or null. */
  tab: Panel | null;
  /** Progress from 0 to 1 of the measurements for each panel. */
  progress: ByPanel<number>;
  /** Links whose weights are multiplied, with ends by position. */
  scaled_links: [
    query: number | number[] | string,
    key: number | number[] | string,
    factor: number,
    scope: string,
  ][];
  _shown: Input | Record<string, never>;
  _examples: Example[];
  /** Tested names of heads, or null if names were not requested. */
  _tested: NamedHead[] | null;
  /** Links that tested names predict, uint8 [names, queries, keys]; null without names. */
  _name_links: { names: string[]; values: WireArray } | null;
  /** Sentence on what the page cannot do without a model; "" with a model. */
  _without_model: string;
  /** Vocabulary entry for unknown words, or null. */
  _unknown: string | null;
  /** Label of the button below an error, for example "read the first 512 tokens", or "". */
  _way_out: string;
  /** Number of clicks on this button. */
  _way_out_taken: number;
  /** Kind of the second text that the model can read, or "". */
  _second: "pair" | "target" | "";
  /** Label of the button in a panel without a figure. */
  _offers: ByPanel<string>;
  /** Panel whose button was clicked. */
  _accepted: Panel | "";
  /** Number of requests for the sentence of the arcs. */
  _sentence_asked: number;
  /** Source of a panel's numbers, or the reason for its absence. */
  _notes: ByPanel<string>;
  _problems: ByPanel<string>;
  _painted: boolean;
}

/**
 * Access of a widget to the widgets that its traits reference, and to their models, as anywidget
 * provides it.
 */
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
