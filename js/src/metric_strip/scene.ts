import { type Caption, caption, headNames, NO_HEAD, type Table } from "../shared/caption.js";
import { shortName } from "../shared/head_names.js";
import type { HeadsState, Metrics } from "../shared/head_types.js";
import { counted, figures, percentOf } from "../shared/numbers.js";
import { percentile } from "../shared/tick_strip.js";
import type { Head, HeadLabel } from "../shared/types.js";
import { asFloat32 } from "../shared/wire.js";

export const FIGURE = "Metrics of one head";
export const NO_SELECTION =
  "Select a head: click one in a linked figure, or set strip.selected = [(layer, head)].";
export const HEADINGS = ["metric", "value", "among all heads", "percentile"] as const;
const MEANING = "percentile: the share of the other heads with a smaller value, ties by half";

export interface StripState extends HeadsState {
  _metrics: Metrics | null;
}

/** The relative error of sums in float32. */
const ROUNDING = 1e-6;

/** A metric: the shown head's number among those of all heads. */
interface Row {
  title: string;
  /** Of every head. */
  values: Float32Array;
  low: number;
  high: number;
  value: number;
  /** Per cent; NaN where there is no other head to compare with. */
  percentile: number;
}

/** What the figure shows of a head. */
export interface StripScene {
  head: Head;
  labels: HeadLabel[] | undefined;
  /** All heads of its stack. */
  count: number;
  rows: Row[];
  /** The selected heads as indices of `values`; the last one is the shown head. */
  marked: number[];
}

/** All that is shown of a state; null without a head whose metrics are there. */
export function sceneOf({ selected, labels, _metrics: metrics }: StripState): StripScene | null {
  const head = selected.at(-1);
  if (!head || !metrics || metrics.stack !== head[2]) return null;
  const [, layers = 0, heads = 0] = metrics.values.shape;
  const places = layers * heads;
  const all = asFloat32(metrics.values);
  // Layers without attention have no numbers.
  const measured = [...Array(places).keys()].filter((at) => !Number.isNaN(all[at]));
  const same = selected.filter(([, , stack]) => stack === metrics.stack);
  const indexOf = ([layer, number]: Head) => measured.indexOf(layer * heads + number);
  const marked = same.map(indexOf);
  const index = indexOf(head);
  const rows = metrics.titles.map((title, i): Row => {
    const values = Float32Array.from(measured, (at) => all[i * places + at] ?? 0);
    const low = Math.min(...values);
    // Rounding errors of equal values form no order.
    if (Math.max(...values) - low <= ROUNDING * Math.abs(low)) values.fill(low);
    return {
      title,
      values,
      low,
      high: Math.max(...values),
      value: values[index] ?? 0,
      percentile: percentile(values, index),
    };
  });
  return { head, labels, count: measured.length, rows, marked };
}

/** What stands over the table. */
export const titleOf = ({ head, labels }: StripScene): string => shortName(head, { labels });

/** A row's numbers as texts. */
export type RowTexts = Record<"value" | "low" | "high" | "percentile", string>;

export const printed = ({ value, low, high, percentile }: Row): RowTexts => ({
  value: figures(value),
  low: figures(low),
  high: figures(high),
  percentile: Number.isFinite(percentile) ? percentOf(percentile / 100, 1) : "–",
});

/** What the strips show, in words. */
export function captionOf(scene: StripScene | null): Caption {
  if (!scene) return caption(FIGURE, { head: NO_HEAD });
  const { head, count, rows, marked } = scene;
  return caption(FIGURE, {
    head: headNames([head], scene),
    quantity: counted(rows.length, "metric"),
    scale: "each strip from the smallest value to the largest",
    notes: [
      counted(count, "head"),
      MEANING,
      marked.length > 1 ? `${marked.length} selected heads are marked` : "",
    ],
  });
}

/** The numbers of the shown head. */
export const tableOf = (scene: StripScene | null): Table => ({
  columns: ["metric", "value", "percentile"],
  rows: (scene?.rows ?? []).map(({ title, value, percentile }) => [title, value, percentile]),
});
