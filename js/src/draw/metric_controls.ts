import { element } from "../model/dom.js";
import type { MetricState } from "../model/head_types.js";
import type { Theme } from "../model/theme.js";
import { type GridState, headName, type Model } from "../model/types.js";
import { asInt32 } from "../model/wire.js";
import type { Cell } from "./grid_layout.js";
import { figures, type Metric } from "./grid_order.js";
import { slider } from "./slider.js";
import { drawStrip } from "./strip.js";

const SORTS: [MetricState["sort"], string][] = [
  ["none", "by number"],
  ["rows", "within layers"],
  ["all", "all heads"],
];
/** Steps of the range between the smallest and the largest value. */
const STEPS = 200;
const STRIP: [number, number] = [160, 14];

/** The row for metrics: which one, the order, the range, heads alike; returns how to bring it up to date. */
export function metricControls(
  parent: HTMLElement,
  model: Model<GridState>,
  signal: AbortSignal,
  selectSimilar: () => void,
) {
  const row = element(parent, "div", {
    ...{ class: "attnw-grid-controls attnw-metric-controls", role: "group" },
    "aria-label": "metric",
  });
  const save = (state: Partial<GridState>) => {
    for (const [key, value] of Object.entries(state))
      model.set(key as keyof GridState, value as GridState[keyof GridState]);
    model.save_changes();
  };
  let metric: Metric | undefined;

  const choice = element(element(row, "label", {}, "metric "), "select");
  choice.addEventListener("change", () => save({ metric: choice.value || null, filter: null }), {
    signal,
  });
  const chosen = element(row, "span", { class: "attnw-metric-chosen" });
  const order = element(element(chosen, "label", {}, "order "), "select");
  for (const [value, text] of SORTS) element(order, "option", { value }, text);
  order.addEventListener("change", () => save({ sort: order.value as MetricState["sort"] }), {
    signal,
  });
  const direction = element(chosen, "button", { type: "button", class: "attnw-metric-button" });
  direction.addEventListener("click", () => save({ descending: !model.get("descending") }), {
    signal,
  });

  const range = element(chosen, "span", { class: "attnw-metric-range", role: "group" });
  const lowest = element(range, "output");
  const slots = element(range, "span", { class: "attnw-metric-slots" });
  const strip = element(slots, "canvas", { "aria-hidden": "true" });
  const bound = (name: string) => {
    const input = slider(slots, { max: STEPS, step: 1 });
    input.setAttribute("aria-label", name);
    input.addEventListener("input", () => keep(input), { signal });
    return input;
  };
  const from = bound("smallest value to keep");
  const to = bound("largest value to keep");
  const highest = element(range, "output");
  const remove = element(element(chosen, "label", {}, ""), "input", { type: "checkbox" });
  remove.parentElement?.append(" remove the others");
  remove.addEventListener("change", () => save({ outside: remove.checked ? "remove" : "dim" }), {
    signal,
  });
  const alike = element(row, "button", { type: "button", class: "attnw-metric-button" });
  alike.addEventListener("click", selectSimilar, { signal });

  const valueAt = (of: Metric, step: number) =>
    step >= STEPS ? of.high : of.low + ((of.high - of.low) * step) / STEPS;
  const stepOf = (of: Metric, value: number) =>
    of.high > of.low ? Math.round((STEPS * (value - of.low)) / (of.high - of.low)) : 0;

  /** The ends push each other along, so that the range is never upside down. */
  function keep(moved: HTMLInputElement): void {
    if (!metric) return;
    if (Number(from.value) > Number(to.value)) {
      if (moved === from) to.value = from.value;
      else from.value = to.value;
    }
    const [low, high] = [Number(from.value), Number(to.value)];
    const whole = low <= 0 && high >= STEPS;
    save({ filter: whole ? null : [valueAt(metric, low), valueAt(metric, high)] });
  }

  return (theme: Theme, current: Metric | undefined): void => {
    metric = current;
    const metrics = model.get("_metrics");
    const titles = metrics?.stack === model.get("stack") ? metrics.titles : [];
    row.hidden = titles.length === 0;
    chosen.hidden = !metric;
    if (choice.dataset.titles !== JSON.stringify(titles)) {
      choice.dataset.titles = JSON.stringify(titles);
      choice.replaceChildren();
      element(choice, "option", { value: "" }, "none");
      for (const title of titles) element(choice, "option", { value: title }, title);
    }
    choice.value = metric?.title ?? "";
    const head = model.get("selected").at(-1);
    const isShown = head !== undefined && head[2] === model.get("stack");
    alike.hidden = !isShown;
    const count = metrics?.similar.shape[1] ?? 0;
    if (isShown) alike.textContent = `select ${count} heads like ${headName(head)}`;
    alike.disabled = count === 0;
    if (!metric) return;
    order.value = model.get("sort");
    const descending = model.get("descending");
    direction.hidden = model.get("sort") === "none";
    direction.textContent = descending ? "↓ largest first" : "↑ smallest first";
    const filter = model.get("filter");
    const [low, high] = filter ?? [metric.low, metric.high];
    range.setAttribute("aria-label", `keep heads whose ${metric.title} is`);
    for (const [input, value] of [
      [from, low],
      [to, high],
    ] as const) {
      input.value = String(stepOf(metric, value));
      input.setAttribute("aria-valuetext", figures(value));
      input.disabled = metric.high <= metric.low;
    }
    // Of two thumbs in one place the one that can still move is on top.
    from.classList.toggle("attnw-metric-top", Number(from.value) > STEPS / 2);
    [lowest.textContent, highest.textContent] = [figures(low), figures(high)];
    const { values } = metric;
    const heads = metrics?.values.shape[2] ?? 0;
    const marked = isShown ? [head[0] * heads + head[1]] : [];
    drawStrip(strip, STRIP, theme, values, [metric.low, metric.high], marked);
    remove.checked = model.get("outside") === "remove";
    const label = remove.parentElement;
    if (label) label.hidden = !filter;
  };
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
