import { html, nothing } from "lit-html";
import type { GridState } from "../head_grid/state.js";
import type { ViewState } from "../head_view/state.js";
import { hiddenTicks, select, signButton } from "../shared/controls.js";
import { keyList } from "../shared/key_list.js";
import { specialName } from "../shared/labels.js";
import type { Mounted } from "../shared/mount.js";
import { type Layers, shownHead, stepTo } from "../shared/selection.js";
import { save } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import type { ExplorerState } from "./explorer_types.js";
import { type Joined, viewMenu } from "./view_menu.js";

const KEYS = [
  ["[ and ]", "step to the layer above / below"],
  ["Arrow keys in the examples", "the next / previous example"],
  ["Arrow keys in all heads, Enter", "move between heads, select one"],
  ["Shift + Enter, Shift + click", "add or remove a head or a word"],
  ["Arrow keys in one head, Enter", "move between words, lock one"],
  ["x", "switch a head off, or on again: in all heads and in the predictions"],
  ["Escape", "take back the last selection, lock or switch"],
  ["Arrow keys in the tabs", "the next / previous detail"],
  ["? in a figure", "its own keys"],
] as const;
/** Traits of the grid and of the view that the controls show. */
const OF_GRID = ["metric", "stack", "of_two", "_compared", "_metrics", "_axes"];
const OF_VIEW = [
  "mode",
  "arrangement",
  "of",
  "top_mass",
  "renormalise",
  "sentences",
  "_compared",
  "_axes",
];
/** The ways in which the view draws a head, and the one for several heads. */
const WAYS = ["lines", "matrix", "several"] as const;
type Way = (typeof WAYS)[number];

/** The one row of the controls that figures share; the rest of them is in its menu. */
export function toolbar(model: Model<ExplorerState>, mounted: Mounted, signal: AbortSignal) {
  const keys = keyList(KEYS, mounted, signal);
  const joined: Joined = { grid: undefined, view: undefined };
  const menu = viewMenu(model, joined, mounted, signal);

  function layers(): Layers | undefined {
    const shown = shownHead(model)?.[2];
    const stacks = model.get("_stacks");
    return stacks.find(({ name }) => name === shown) ?? stacks[0];
  }

  function stepper() {
    const last = Math.max(0, (layers()?.n_layers ?? 1) - 1);
    const layer = model.get("layer");
    const step = (by: number) => stepTo(model, layer + by, layers());
    return html`<span role="group" aria-label="layer" class="attnw-ex-stepper"
      title=${`layers 0 to ${last}`}>
      ${signButton("‹", "previous layer", () => step(-1), layer <= 0)}
      <output>${`layer ${layer}`}</output>
      ${signButton("›", "next layer", () => step(1), layer >= last)}
    </span>`;
  }

  /** The stack of the grid, for models with several stacks. */
  function stack() {
    const { grid } = joined;
    const names = model.get("_stacks").map(({ name }) => name);
    return select<string>({
      name: "stack",
      values: names,
      value: grid?.get("stack") ?? names[0] ?? "",
      pick: (name) => grid && save(grid, { stack: name }),
    });
  }

  function metric() {
    const { grid } = joined;
    const metrics = grid?.get("_metrics");
    const titles = metrics && metrics.stack === grid?.get("stack") ? metrics.titles : [];
    return select<string>({
      name: "metric",
      values: titles.length ? ["", ...titles] : [],
      value: grid?.get("metric") ?? "",
      pick: (title) => grid && save(grid, { metric: title || null, filter: null }),
      print: (title) => title || "none",
    });
  }

  const hide = () => {
    const axes = joined.grid?.get("_axes");
    return hiddenTicks(model, (kind) => (axes?.query ? specialName(axes, kind) : undefined));
  };

  function ways() {
    const { view } = joined;
    const isTwo = (view?.get("_compared") ?? []).length > 0;
    const now: Way = !view
      ? "lines"
      : !isTwo && view.get("arrangement") !== "one"
        ? "several"
        : view.get("mode");
    const take = (way: Way) => {
      if (!view) return;
      if (way === "several") save(view, { arrangement: "beside" });
      else if (isTwo) save(view, { mode: way });
      else save(view, { mode: way, arrangement: "one" });
    };
    return html`<span role="group" aria-label="how heads are drawn" class="attnw-ex-ways"
      ?hidden=${!view}>${WAYS.map(
        (way) =>
          html`<button type="button" data-way=${way} aria-pressed=${way === now}
            ?hidden=${way === "several" && isTwo} @click=${() => take(way)}>${way}</button>`,
      )}</span>`;
  }

  return {
    /** `narrow`: there is only room for the layer and the menu. */
    view(narrow: boolean) {
      const first = [hide(), metric(), ways()];
      return html`<div class="attnw-ex-bar" role="group" aria-label="controls of all figures">
          ${stepper()}${stack()}${narrow ? nothing : first}
          ${menu.view(narrow ? first : [])}
          ${keys.button("attnw-ex-keys")}
        </div>
        ${keys.list()}`;
    },
    toggleKeys: keys.toggle,
    step: (by: number) => stepTo(model, model.get("layer") + by, layers()),
    /** The grid and the view keep some of their options to themselves; these stand here too. */
    join(name: "grid" | "view", of: Joined["grid"] | Joined["view"], changed: () => void): void {
      if (!of) return;
      const watched = of as Model<GridState & ViewState>;
      if (name === "grid") joined.grid = watched;
      else joined.view = watched;
      const traits = (name === "grid" ? OF_GRID : OF_VIEW).map((trait) => `change:${trait}`);
      for (const trait of traits) watched.on(trait, changed);
      signal.addEventListener("abort", () => {
        for (const trait of traits) watched.off(trait, changed);
      });
      changed();
    },
  };
}
