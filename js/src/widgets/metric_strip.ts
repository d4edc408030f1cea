import { figures } from "../draw/grid_order.js";
import { drawStrip, percentile } from "../draw/strip.js";
import { element } from "../model/dom.js";
import { forcedTheme, watchForced } from "../model/forced.js";
import { perFrame } from "../model/frame.js";
import type { Metrics, StripState } from "../model/head_types.js";
import { releasing } from "../model/release.js";
import { type Theme, watchTheme } from "../model/theme.js";
import { headName, paperName, type RenderContext } from "../model/types.js";
import { asFloat32 } from "../model/wire.js";

const WATCHED = ["selected", "_metrics", "_error"];
const NO_SELECTION =
  "Select a head: click one in a linked figure, or set strip.selected = [(layer, head)].";
const HEADINGS = ["metric", "value", "among all heads", "percentile"];
const HEIGHT = 16;
const MEANING = "percentile: the share of the other heads with a smaller value, ties by half";

interface Row {
  values: Float32Array;
  ends: [number, number];
  canvas: HTMLCanvasElement;
  value: HTMLElement;
  percentile: HTMLElement;
}

function render({ model, el, signal }: RenderContext<StripState>): void {
  const root = element(el, "div", { class: "attnw-root attnw-strip-root" });
  const alert = element(root, "p", { role: "alert", class: "attnw-strip-note", hidden: true });
  const message = element(root, "p", { class: "attnw-strip-note", hidden: true });
  const box = element(root, "div", { class: "attnw-strip-box" });
  const table = element(box, "table", { class: "attnw-strip" });
  const title = element(table, "caption", { "aria-live": "polite" });
  const head = element(element(table, "thead"), "tr");
  for (const text of HEADINGS) element(head, "th", { scope: "col" }, text);
  const body = element(table, "tbody");
  const note = element(root, "p", { class: "attnw-strip-caption" });

  let theme: Theme | undefined;
  let built: Metrics | null = null;
  let rows: Row[] = [];

  /** A row a metric; its numbers and marks follow the selection. */
  function build(metrics: Metrics): void {
    const [, layers = 0, heads = 0] = metrics.values.shape;
    const all = asFloat32(metrics.values);
    const count = layers * heads;
    body.replaceChildren();
    rows = metrics.titles.map((name, i) => {
      const values = all.subarray(i * count, (i + 1) * count);
      const line = element(body, "tr");
      element(line, "th", { scope: "row" }, name);
      const value = element(line, "td");
      const cell = element(line, "td", { class: "attnw-strip-plot" });
      const track = element(cell, "div", { class: "attnw-strip-track" });
      const canvas = element(track, "canvas", { "aria-hidden": "true" });
      const ends: [number, number] = [Math.min(...values), Math.max(...values)];
      const [low, high] = ends.map(figures);
      // What the plot's ends are, for those who cannot see it and for those who can.
      const range = element(cell, "span", { class: "attnw-strip-ends" });
      element(range, "span", {}, low ?? "");
      element(range, "span", { class: "attnw-unseen" }, " to ");
      element(range, "span", {}, high ?? "");
      return { values, ends, canvas, value, percentile: element(line, "td") };
    });
  }

  function draw(now: Theme): void {
    const error = model.get("_error");
    const selected = model.get("selected");
    const metrics = model.get("_metrics");
    const shown = selected.at(-1);
    alert.hidden = !error;
    if (alert.textContent !== error) alert.textContent = error;
    message.hidden = Boolean(error || shown);
    message.textContent = NO_SELECTION;
    box.hidden = Boolean(error) || !shown;
    note.hidden = box.hidden;
    // Until the kernel has answered with the metrics of the head's stack, the table stays as it is.
    if (box.hidden || !metrics || !shown || metrics.stack !== shown[2]) return;
    if (metrics !== built) build(metrics);
    built = metrics;
    const heads = metrics.values.shape[2] ?? 0;
    const marked = selected
      .filter(([, , stack]) => stack === metrics.stack)
      .map(([layer, number]) => layer * heads + number);
    const index = shown[0] * heads + shown[1];
    const text = `${headName(shown)} · ${paperName(shown)}`;
    if (title.textContent !== text) title.textContent = text;
    const others = marked.length > 1 ? ` · ${marked.length} selected heads are marked` : "";
    note.textContent = `${rows[0]?.values.length ?? 0} heads · ${MEANING}${others}`;
    const widths = rows.map(({ canvas }) => canvas.parentElement?.clientWidth || 200);
    for (const [i, row] of rows.entries()) {
      row.value.textContent = figures(row.values[index] ?? 0);
      const share = percentile(row.values, index);
      row.percentile.textContent = Number.isFinite(share) ? `${share.toFixed(0)} %` : "–";
      const size: [number, number] = [widths[i] ?? 200, HEIGHT];
      drawStrip(row.canvas, size, now, row.values, row.ends, marked);
    }
  }

  const schedule = perFrame(signal, () => {
    if (theme) draw(forcedTheme(theme));
  });
  for (const name of WATCHED) model.on(`change:${name}`, schedule);
  watchTheme(root, signal, (next) => {
    theme = next;
    schedule();
  });
  watchForced(signal, schedule);
  const resized = new ResizeObserver(schedule);
  resized.observe(root);
  signal.addEventListener("abort", () => {
    for (const name of WATCHED) model.off(`change:${name}`, schedule);
    resized.disconnect();
    root.remove();
  });
}

export default () => ({ initialize: releasing<StripState>("_metrics"), render });
