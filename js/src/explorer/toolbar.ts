import { choice, hideTicks, keysButton, slider } from "../shared/controls.js";
import { element } from "../shared/dom.js";
import type { MetricState } from "../shared/head_types.js";
import { keyHelp } from "../shared/key_list.js";
import { specialName } from "../shared/labels.js";
import { type Layers, shownHead, stepTo } from "../shared/selection.js";
import { save } from "../shared/snapshot.js";
import { type Model, SCALES } from "../shared/types.js";
import type { ExplorerState, GridModel } from "./explorer_types.js";

const KEYS = [
  ["[ and ]", "step to the layer above / below"],
  ["Arrow keys in the examples", "the next / previous example"],
  ["Arrow keys in all heads, Enter", "move between heads, select one"],
  ["Shift + Enter, Shift + click", "add or remove a head or a word"],
  ["Arrow keys in one head, Enter", "move between words, lock one"],
  ["x in all heads", "switch the head off, or on again"],
  ["Escape", "take back the last selection, lock or switch"],
  ["Arrow keys in the tabs", "the next / previous detail"],
  ["? in a figure", "its own keys"],
] as const;
const SORTS = { none: "by number", rows: "within layers", all: "all heads" };
const ORDERS = Object.keys(SORTS) as MetricState["sort"][];
/** Traits of the grid, which keeps its metrics and order to itself. */
const OF_GRID = ["metric", "sort", "stack", "_metrics", "_axes"] as const;

/**
 * The one row of all controls that figures share; `grid` is the model of the grid, once there is
 * one.
 */
export function toolbar(parent: HTMLElement, model: Model<ExplorerState>, signal: AbortSignal) {
  const bar = element(parent, "div", {
    class: "attnw-ex-bar",
    role: "group",
    "aria-label": "controls of all figures",
  });
  const stepper = element(bar, "span", { class: "attnw-ex-stepper" });
  const label = element(stepper, "label", {}, "layer ");
  const layer = slider(label, { max: 0, step: 1 });
  const number = element(stepper, "output");
  const fold = element(bar, "button", { type: "button", class: "attnw-ex-fold" });
  const row = element(bar, "div", { class: "attnw-ex-controls" });
  const keys = keysButton(bar, "attnw-ex-keys");
  const toggleKeys = keyHelp(parent, KEYS, keys, signal);

  let grid: GridModel | undefined;
  let open = false;

  const stack = choice<string>(
    row,
    "stack",
    signal,
    (value) => grid && save(grid, { stack: value }),
  );
  const hide = hideTicks(row, model, signal);
  // A lock is a position on the axis: on the axis of the second unit the position means a different
  // token.
  const unit = choice<ExplorerState["unit"]>(row, "unit", signal, (value) =>
    save(model, { tokens: [], unit: value }),
  );
  const quantity = choice<string>(row, "quantity", signal, (value) =>
    save(model, { quantity: value }),
  );
  const scale = choice<ExplorerState["scale"]>(row, "scale", signal, (value) =>
    save(model, { scale: value }),
  );
  const metric = choice<string>(
    row,
    "metric",
    signal,
    (title) => grid && save(grid, { metric: title || null, filter: null }),
    (title) => title || "none",
  );
  const sort = choice<MetricState["sort"]>(
    row,
    "sort",
    signal,
    (value) => grid && save(grid, { sort: value }),
    (value) => SORTS[value],
  );

  layer.addEventListener("input", () => stepTo(model, Number(layer.value), layers()), { signal });
  fold.addEventListener(
    "click",
    () => {
      open = !open;
      update(bar.classList.contains("attnw-ex-narrow-bar"));
    },
    { signal },
  );

  function layers(): Layers | undefined {
    const shown = shownHead(model)?.[2];
    const stacks = model.get("_stacks");
    return stacks.find(({ name }) => name === shown) ?? stacks[0];
  }

  /** `narrow`: all but the layer stands behind a button. */
  function update(narrow: boolean): void {
    bar.classList.toggle("attnw-ex-narrow-bar", narrow);
    fold.hidden = !narrow;
    fold.textContent = `controls ${open ? "▾" : "▸"}`;
    fold.setAttribute("aria-expanded", String(open));
    row.hidden = narrow && !open;
    layer.max = String(Math.max(0, (layers()?.n_layers ?? 1) - 1));
    layer.value = String(model.get("layer"));
    number.textContent = `${model.get("layer")} of 0–${layer.max}`;
    unit(["tokens", "words"], model.get("unit"));
    quantity(model.get("_quantities"), model.get("quantity"));
    scale(SCALES, model.get("scale"));
    const stacks = model.get("_stacks").map(({ name }) => name);
    stack(stacks, grid?.get("stack") ?? stacks[0] ?? "");
    const axes = grid?.get("_axes");
    hide((kind) => (axes?.query ? specialName(axes, kind) : undefined));
    const metrics = grid?.get("_metrics");
    const titles = metrics && metrics.stack === grid?.get("stack") ? metrics.titles : [];
    metric(titles.length ? ["", ...titles] : [], grid?.get("metric") ?? "");
    sort(grid?.get("metric") ? ORDERS : [], grid?.get("sort") ?? "none");
  }

  return {
    update,
    toggleKeys,
    step: (by: number) => stepTo(model, model.get("layer") + by, layers()),
    /** The grid's own controls stand here too. */
    join(of: GridModel, changed: () => void): void {
      grid = of;
      for (const name of OF_GRID) of.on(`change:${name}`, changed);
      signal.addEventListener("abort", () => {
        for (const name of OF_GRID) of.off(`change:${name}`, changed);
      });
      changed();
    },
  };
}
