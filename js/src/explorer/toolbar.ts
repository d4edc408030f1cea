import { html } from "lit-html";
import type { GridState } from "../head_grid/state.js";
import { hiddenTicks, rangeInput, select } from "../shared/controls.js";
import type { MetricState } from "../shared/head_types.js";
import { keyList } from "../shared/key_list.js";
import { specialName } from "../shared/labels.js";
import type { Mounted } from "../shared/mount.js";
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
export function toolbar(model: Model<ExplorerState>, mounted: Mounted, signal: AbortSignal) {
  const keys = keyList(KEYS, mounted, signal);
  let grid: GridModel | undefined;
  let open = false;

  function layers(): Layers | undefined {
    const shown = shownHead(model)?.[2];
    const stacks = model.get("_stacks");
    return stacks.find(({ name }) => name === shown) ?? stacks[0];
  }

  function fold(): void {
    open = !open;
    mounted.drawNow();
  }

  /** The grid keeps its stack, metric and order to itself. */
  function ofGrid() {
    const metrics = grid?.get("_metrics");
    const titles = metrics && metrics.stack === grid?.get("stack") ? metrics.titles : [];
    const stacks = model.get("_stacks").map(({ name }) => name);
    const put = (change: Partial<GridState>) => grid && save(grid, change);
    return {
      stack: select<string>({
        name: "stack",
        values: stacks,
        value: grid?.get("stack") ?? stacks[0] ?? "",
        pick: (stack) => put({ stack }),
      }),
      metric: select<string>({
        name: "metric",
        values: titles.length ? ["", ...titles] : [],
        value: grid?.get("metric") ?? "",
        pick: (title) => put({ metric: title || null, filter: null }),
        print: (title) => title || "none",
      }),
      sort: select<MetricState["sort"]>({
        name: "sort",
        values: grid?.get("metric") ? ORDERS : [],
        value: grid?.get("sort") ?? "none",
        pick: (sort) => put({ sort }),
        print: (sort) => SORTS[sort],
      }),
    };
  }

  function controls() {
    const { stack, metric, sort } = ofGrid();
    const axes = grid?.get("_axes");
    return html`
      ${stack}
      ${hiddenTicks(model, (kind) => (axes?.query ? specialName(axes, kind) : undefined))}
      ${select<ExplorerState["unit"]>({
        name: "unit",
        values: ["tokens", "words"],
        value: model.get("unit"),
        // A lock is a position on the axis: on the axis of the second unit the position means a
        // different token.
        pick: (unit) => save(model, { tokens: [], unit }),
      })}
      ${select<string>({
        name: "quantity",
        values: model.get("_quantities"),
        value: model.get("quantity"),
        pick: (quantity) => save(model, { quantity }),
      })}
      ${select<ExplorerState["scale"]>({
        name: "scale",
        values: SCALES,
        value: model.get("scale"),
        pick: (scale) => save(model, { scale }),
      })}
      ${metric}
      ${sort}`;
  }

  return {
    /** `narrow`: all but the layer stands behind a button. */
    view(narrow: boolean) {
      const last = Math.max(0, (layers()?.n_layers ?? 1) - 1);
      const layer = model.get("layer");
      const slide = (to: number) => stepTo(model, to, layers());
      return html`<div class=${`attnw-ex-bar ${narrow ? "attnw-ex-narrow-bar" : ""}`} role="group"
          aria-label="controls of all figures">
          <span class="attnw-ex-stepper">
            <label>layer ${rangeInput({ max: last, value: layer, slide })}</label>
            <output>${`${layer} of 0–${last}`}</output>
          </span>
          <button type="button" class="attnw-ex-fold" ?hidden=${!narrow} aria-expanded=${open}
            @click=${fold}>${`controls ${open ? "▾" : "▸"}`}</button>
          <div class="attnw-ex-controls" ?hidden=${narrow && !open}>${controls()}</div>
          ${keys.button("attnw-ex-keys")}
        </div>
        ${keys.list()}`;
    },
    toggleKeys: keys.toggle,
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
