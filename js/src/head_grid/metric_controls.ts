import { html, nothing, type TemplateResult } from "lit-html";
import type { Cell } from "../shared/cells.js";
import { type Control, choice, controlView, isOffered, rangeInput } from "../shared/controls.js";
import { figures } from "../shared/numbers.js";
import { painted } from "../shared/painted.js";
import { fresh } from "../shared/pen.js";
import { save } from "../shared/snapshot.js";
import { paintStrip } from "../shared/tick_strip.js";
import { headName, type Model } from "../shared/types.js";
import { asInt32 } from "../shared/wire.js";
import type { Metric, MetricState } from "./head_order.js";
import type { Scene } from "./scene.js";
import type { GridState } from "./state.js";

const SORTS = { none: "by number", rows: "within layers", all: "all heads" };
const ORDERS = Object.keys(SORTS) as MetricState["sort"][];
/** Number of steps of the sliders between the smallest and the largest value. */
const STEPS = 200;
const STRIP: [number, number] = [160, 14];

const valueAt = (of: Metric, step: number) =>
  step >= STEPS ? of.high : of.low + ((of.high - of.low) * step) / STEPS;
const stepOf = (of: Metric, value: number) =>
  of.high > of.low ? Math.round((STEPS * (value - of.low)) / (of.high - of.low)) : 0;

/** Return the controls of a metric: the metric, similar heads, and the order. */
export function metricControls(
  model: Model<GridState>,
  scene: Scene,
  selectSimilar: () => void,
): Control[] {
  const { state, metric } = scene;
  const metrics = state._metrics;
  const titles = metrics?.stack === state.stack ? metrics.titles : [];
  const head = state.selected.at(-1);
  const isShown = head !== undefined && head[2] === state.stack;
  const count = metrics?.similar.shape[1] ?? 0;
  return [
    {
      kind: "choice",
      name: "metric",
      place: "bar",
      values: titles.length ? ["", ...titles] : [],
      value: metric?.title ?? "",
      change: (title) => save(model, { metric: title || null, filter: null }),
      print: (title) => title || "none",
    },
    choice<MetricState["sort"]>({
      name: "order",
      place: "bar",
      values: ORDERS,
      value: state.sort,
      change: (sort) => save(model, { sort }),
      print: (sort) => SORTS[sort],
      hidden: !metric,
    }),
    {
      kind: "action",
      name: "largest first",
      place: "bar",
      label: state.descending ? "↓ largest first" : "↑ smallest first",
      change: () => save(model, { descending: !state.descending }),
      hidden: !metric || state.sort === "none",
    },
    {
      kind: "action",
      name: "similar heads",
      place: "bar",
      label: isShown ? `select ${count} heads like ${headName(head)}` : "",
      change: selectSimilar,
      hidden: !titles.length || !isShown,
      disabled: count === 0,
    },
  ];
}

/** Return the row of a metric, with the sliders of the filter. */
export function metricRow(
  model: Model<GridState>,
  scene: Scene,
  controls: Control[],
): TemplateResult {
  const { metric } = scene;
  const isEmpty = !metric && !controls.some(isOffered);
  return html`<div class="attnw-controls attnw-metric-controls" role="group" aria-label="metric"
    ?hidden=${isEmpty}>
    ${controls.map(controlView)}
    ${metric ? rangeOf(model, scene, metric) : nothing}
  </div>`;
}

/** Return two overlapping sliders over a strip with a tick for each head. */
function rangeOf(model: Model<GridState>, scene: Scene, metric: Metric) {
  const { state, theme } = scene;
  const [low, high] = state.filter ?? [metric.low, metric.high];
  const from = stepOf(metric, low);
  const to = stepOf(metric, high);
  const keep = (first: number, last: number) => {
    const isWhole = first <= 0 && last >= STEPS;
    save(model, { filter: isWhole ? null : [valueAt(metric, first), valueAt(metric, last)] });
  };
  const head = state.selected.at(-1);
  const heads = state._metrics?.values.shape[2] ?? 0;
  const marked = head && head[2] === state.stack ? [head[0] * heads + head[1]] : [];
  const paint = (canvas: HTMLCanvasElement) => {
    const pen = fresh(canvas, ...STRIP);
    if (pen) paintStrip(pen, STRIP, theme, metric.values, [metric.low, metric.high], marked);
  };
  const bound = { max: STEPS, disabled: metric.high <= metric.low };
  // Each end pushes the other, so that the range is never reversed.
  const lower = rangeInput({
    ...bound,
    label: "smallest value to keep",
    value: from,
    valueText: figures(low),
    slide: (step) => keep(step, Math.max(step, to)),
    // If the thumbs overlap, put the one that can still move on top.
    className: from > STEPS / 2 ? "attnw-metric-top" : "",
  });
  const upper = rangeInput({
    ...bound,
    label: "largest value to keep",
    value: to,
    valueText: figures(high),
    slide: (step) => keep(Math.min(from, step), step),
  });
  return html`<span class="attnw-metric-range attnw-group" role="group"
    aria-label=${`keep heads whose ${metric.title} is`}>
    <output>${figures(low)}</output>
    <span class="attnw-metric-slots"
      ><canvas aria-hidden="true" ${painted(paint, scene)}></canvas>${lower}${upper}</span>
    <output>${figures(high)}</output>
  </span>`;
}

/** Return the most similar heads, nearest first, as [layer, head]. */
export function similarHeads(model: Model<GridState>, layer: number, head: number): Cell[] {
  const metrics = model.get("_metrics");
  if (!metrics) return [];
  const heads = metrics.values.shape[2] ?? 1;
  const count = metrics.similar.shape[1] ?? 0;
  const start = (layer * heads + head) * count;
  return [...asInt32(metrics.similar).subarray(start, start + count)].map(
    (index): Cell => [Math.floor(index / heads), index % heads],
  );
}
