import { html, nothing, type TemplateResult } from "lit-html";
import { live } from "lit-html/directives/live.js";
import type { Cell } from "../shared/cells.js";
import { rangeInput, select } from "../shared/controls.js";
import type { MetricState } from "../shared/head_types.js";
import { figures } from "../shared/numbers.js";
import { painted } from "../shared/painted.js";
import { fresh } from "../shared/pen.js";
import { save } from "../shared/snapshot.js";
import { paintStrip } from "../shared/tick_strip.js";
import { headName, type Model } from "../shared/types.js";
import { asInt32 } from "../shared/wire.js";
import type { Metric } from "./head_order.js";
import type { Scene } from "./scene.js";
import type { GridState } from "./state.js";

const SORTS = { none: "by number", rows: "within layers", all: "all heads" };
const ORDERS = Object.keys(SORTS) as MetricState["sort"][];
/** Steps of the range between the smallest and the largest value. */
const STEPS = 200;
const STRIP: [number, number] = [160, 14];

const valueAt = (of: Metric, step: number) =>
  step >= STEPS ? of.high : of.low + ((of.high - of.low) * step) / STEPS;
const stepOf = (of: Metric, value: number) =>
  of.high > of.low ? Math.round((STEPS * (value - of.low)) / (of.high - of.low)) : 0;

const metricButton = (text: string, press: () => void, hidden: boolean, disabled = false) =>
  html`<button type="button" class="attnw-button attnw-metric-button" ?hidden=${hidden}
    ?disabled=${disabled} @click=${press}>${text}</button>`;

/** The row for metrics: which one, the order, the range, heads alike. */
export function metricControls(
  model: Model<GridState>,
  scene: Scene,
  selectSimilar: () => void,
): TemplateResult {
  const { state, metric } = scene;
  const metrics = state._metrics;
  const titles = metrics?.stack === state.stack ? metrics.titles : [];
  const head = state.selected.at(-1);
  const isShown = head !== undefined && head[2] === state.stack;
  const count = metrics?.similar.shape[1] ?? 0;
  return html`<div class="attnw-controls attnw-metric-controls" role="group" aria-label="metric"
    ?hidden=${!titles.length}>
    ${select<string>({
      name: "metric",
      values: ["", ...titles],
      value: metric?.title ?? "",
      pick: (title) => save(model, { metric: title || null, filter: null }),
      print: (title) => title || "none",
    })}
    <span class="attnw-metric-chosen attnw-group" ?hidden=${!metric}>
      ${metric ? ofMetric(model, scene, metric) : nothing}
    </span>
    ${metricButton(
      isShown ? `select ${count} heads like ${headName(head)}` : "",
      selectSimilar,
      !isShown,
      count === 0,
    )}
  </div>`;
}

/** The order of the heads by a metric, and the range of the heads that are kept. */
function ofMetric(model: Model<GridState>, scene: Scene, metric: Metric) {
  const { state } = scene;
  const remove = ({ currentTarget }: Event) =>
    save(model, { outside: (currentTarget as HTMLInputElement).checked ? "remove" : "dim" });
  return html`${select<MetricState["sort"]>({
    name: "order",
    values: ORDERS,
    value: state.sort,
    pick: (sort) => save(model, { sort }),
    print: (sort) => SORTS[sort],
  })}
    ${metricButton(
      state.descending ? "↓ largest first" : "↑ smallest first",
      () => save(model, { descending: !state.descending }),
      state.sort === "none",
    )}
    ${rangeOf(model, scene, metric)}
    <label ?hidden=${!state.filter}><input type="checkbox"
      .checked=${live(state.outside === "remove")} @change=${remove}> remove the others</label>`;
}

/** Two sliders in one place, over a tick for each head. */
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
  // Each end pushes the opposite end, so that the range is never reversed.
  const lower = rangeInput({
    ...bound,
    label: "smallest value to keep",
    value: from,
    valueText: figures(low),
    slide: (step) => keep(step, Math.max(step, to)),
    // If two thumbs overlap, the thumb that can still move is on top.
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

/** The heads most like one, nearest first, as [layer, head]. */
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
