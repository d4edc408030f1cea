import type { Cell } from "../shared/cells.js";
import { choice, slider } from "../shared/controls.js";
import { element, listening } from "../shared/dom.js";
import type { MetricState } from "../shared/head_types.js";
import { figures } from "../shared/numbers.js";
import { fresh } from "../shared/pen.js";
import { save } from "../shared/snapshot.js";
import type { Theme } from "../shared/theme.js";
import { paintStrip } from "../shared/tick_strip.js";
import { headName, type Model, type RenderContext } from "../shared/types.js";
import { asInt32 } from "../shared/wire.js";
import type { Metric } from "./head_order.js";
import type { GridState } from "./state.js";

const SORTS = { none: "by number", rows: "within layers", all: "all heads" };
const ORDERS = Object.keys(SORTS) as MetricState["sort"][];
/** Steps of the range between the smallest and the largest value. */
const STEPS = 200;
const STRIP: [number, number] = [160, 14];

/**
 * The row for metrics: which one, the order, the range, heads alike; returns how to bring it up to
 * date.
 */
export function metricControls(
  parent: HTMLElement,
  { model, signal }: RenderContext<GridState>,
  selectSimilar: () => void,
) {
  const row = element(parent, "div", {
    class: "attnw-controls attnw-metric-controls",
    role: "group",
    "aria-label": "metric",
  });
  const on = listening(signal);
  const button = (at: HTMLElement, onClick: () => void) => {
    const node = element(at, "button", {
      type: "button",
      class: "attnw-button attnw-metric-button",
    });
    on(node, "click", onClick);
    return node;
  };
  let metric: Metric | undefined;

  const metricOf = choice<string>(
    row,
    "metric",
    signal,
    (title) => save(model, { metric: title || null, filter: null }),
    (title) => title || "none",
  );
  const chosen = element(row, "span", { class: "attnw-metric-chosen attnw-group" });
  const order = choice<MetricState["sort"]>(
    chosen,
    "order",
    signal,
    (sort) => save(model, { sort }),
    (sort) => SORTS[sort],
  );
  const direction = button(chosen, () => save(model, { descending: !model.get("descending") }));

  const range = element(chosen, "span", { class: "attnw-metric-range attnw-group", role: "group" });
  const lowest = element(range, "output");
  const slots = element(range, "span", { class: "attnw-metric-slots" });
  const strip = element(slots, "canvas", { "aria-hidden": "true" });
  const bound = (name: string) => {
    const input = slider(slots, { max: STEPS, step: 1 });
    input.setAttribute("aria-label", name);
    on(input, "input", () => keep(input));
    return input;
  };
  const from = bound("smallest value to keep");
  const to = bound("largest value to keep");
  const highest = element(range, "output");
  const others = element(chosen, "label");
  const remove = element(others, "input", { type: "checkbox" });
  others.append(" remove the others");
  on(remove, "change", () => save(model, { outside: remove.checked ? "remove" : "dim" }));
  const alike = button(row, selectSimilar);

  const valueAt = (of: Metric, step: number) =>
    step >= STEPS ? of.high : of.low + ((of.high - of.low) * step) / STEPS;
  const stepOf = (of: Metric, value: number) =>
    of.high > of.low ? Math.round((STEPS * (value - of.low)) / (of.high - of.low)) : 0;

  /** Each end pushes the opposite end, so that the range is never reversed. */
  function keep(moved: HTMLInputElement): void {
    if (!metric) return;
    if (Number(from.value) > Number(to.value)) {
      if (moved === from) to.value = from.value;
      else from.value = to.value;
    }
    const low = Number(from.value);
    const high = Number(to.value);
    const whole = low <= 0 && high >= STEPS;
    save(model, { filter: whole ? null : [valueAt(metric, low), valueAt(metric, high)] });
  }

  return (theme: Theme, current: Metric | undefined): void => {
    metric = current;
    const metrics = model.get("_metrics");
    const titles = metrics?.stack === model.get("stack") ? metrics.titles : [];
    row.hidden = titles.length === 0;
    chosen.hidden = !metric;
    metricOf(["", ...titles], metric?.title ?? "");
    const head = model.get("selected").at(-1);
    const isShown = head !== undefined && head[2] === model.get("stack");
    alike.hidden = !isShown;
    const count = metrics?.similar.shape[1] ?? 0;
    if (isShown) alike.textContent = `select ${count} heads like ${headName(head)}`;
    alike.disabled = count === 0;
    if (!metric) return;
    order(ORDERS, model.get("sort"));
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
    // If two thumbs overlap, the thumb that can still move is on top.
    from.classList.toggle("attnw-metric-top", Number(from.value) > STEPS / 2);
    lowest.textContent = figures(low);
    highest.textContent = figures(high);
    const heads = metrics?.values.shape[2] ?? 0;
    const marked = isShown ? [head[0] * heads + head[1]] : [];
    const pen = fresh(strip, ...STRIP);
    if (pen) paintStrip(pen, STRIP, theme, metric.values, [metric.low, metric.high], marked);
    remove.checked = model.get("outside") === "remove";
    others.hidden = !filter;
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
