import { html } from "lit-html";
import { hiddenTicks, select, signButton, tickBox } from "../shared/controls.js";
import { keyList } from "../shared/key_list.js";
import { specialName } from "../shared/labels.js";
import type { Mounted } from "../shared/mount.js";
import { type Layers, shownHead, stepTo } from "../shared/selection.js";
import { save } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import type { ExplorerState } from "./explorer_types.js";
import { type Joined, viewMenu } from "./view_menu.js";

const KEYS = [
  ["Arrow keys in the text", "move between words; pointing at a word shows where it looks"],
  ["Enter, click on a word", "keep the word; a second word makes a pair"],
  ["[ and ]", "step to the layer above / below"],
  ["m", "lines or matrix"],
  ["Arrow keys in all heads, Enter", "move between heads, select one"],
  ["Shift + Enter, Shift + click", "add or remove a head or a word"],
  ["x", "switch the head off, or on again"],
  ["Escape", "take back: the pair, the word, the head that is off"],
  ["Arrow keys in the tabs", "the next / previous detail"],
  ["? in a figure", "its own keys"],
] as const;
/** The ways in which the view draws a head. */
const WAYS = ["lines", "matrix"] as const;

/** The controls that figures share: lines or matrix, and the menu "View". */
export function toolbar(
  model: Model<ExplorerState>,
  joined: Joined,
  mounted: Mounted,
  signal: AbortSignal,
) {
  const keys = keyList(KEYS, mounted, signal);
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

  /** How one head is drawn. */
  function ways() {
    const { view } = joined;
    const isTwo = (view?.get("_compared") ?? []).length > 0;
    const isSeveral = !isTwo && view !== undefined && view.get("arrangement") !== "one";
    const now = !view || isSeveral ? undefined : view.get("mode");
    const take = (mode: (typeof WAYS)[number]) =>
      view && save(view, isTwo ? { mode } : { mode, arrangement: "one" });
    return html`<span role="group" aria-label="how the head is drawn" class="attnw-ex-ways"
      ?hidden=${!view}>${WAYS.map(
        (way) =>
          html`<button type="button" data-way=${way} aria-pressed=${way === now}
            @click=${() => take(way)}>${way}</button>`,
      )}</span>`;
  }

  /** Several heads side by side, in place of one. */
  function several() {
    const { view } = joined;
    const isTwo = (view?.get("_compared") ?? []).length > 0;
    return tickBox({
      name: "several heads",
      checked: view !== undefined && view.get("arrangement") !== "one",
      tick: (isOn) => view && save(view, { arrangement: isOn ? "beside" : "one" }),
      hidden: !view || isTwo,
    });
  }

  return {
    ways,
    /** The menu of the options that a reader needs less often. */
    menu: () => menu.view([stepper(), stack(), hide(), metric(), several()]),
    keysButton: () => keys.button("attnw-ex-keys"),
    keysList: keys.list,
    /** Lines or matrix, by a key. */
    turnWay(): void {
      const { view } = joined;
      if (view) save(view, { mode: view.get("mode") === "lines" ? "matrix" : "lines" });
    },
    toggleKeys: keys.toggle,
    step: (by: number) => stepTo(model, model.get("layer") + by, layers()),
  };
}
