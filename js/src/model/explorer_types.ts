import type { HeadsState } from "./head_types.js";
import type { RenderContext, StackInfo } from "./types.js";

export const PANELS = ["grid", "view", "head_map", "strip", "table", "arcs"] as const;
export type Panel = (typeof PANELS)[number];
type ByPanel<T> = Partial<Record<Panel, T>>;

/** The input that the figures show. */
export interface Input {
  text: string;
  pair: string | null;
}

/** Each panel's trait names its widget, "anywidget:…", or is null while there is none. */
export interface ExplorerState extends HeadsState, Input, Record<Panel, string | null> {
  /** The panels that are unfolded. */
  panels: Panel[];
  /** The share, 0 to 1, of what is measured for a panel. */
  progress: ByPanel<number>;
  _shown: Input | Record<string, never>;
  /** What a panel's numbers are of, and why it has none. */
  _notes: ByPanel<string>;
  _problems: ByPanel<string>;
  _painted: boolean;
  _stacks: StackInfo[];
  _source: { model: string; note: string };
}

/** How anywidget hands a widget the others that its traits name. */
export interface Host {
  getWidget(reference: string): Promise<{
    render(options: { el: HTMLElement; signal: AbortSignal }): Promise<unknown> | unknown;
  }>;
}

export interface ExplorerContext extends RenderContext<ExplorerState> {
  host: Host;
}
