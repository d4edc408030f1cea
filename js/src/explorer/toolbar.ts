import { html } from "lit-html";
import { signButton } from "../shared/controls.js";
import { keyList } from "../shared/key_list.js";
import type { Mounted } from "../shared/mount.js";
import { type Layers, shownHead, stepTo } from "../shared/selection.js";
import type { Model } from "../shared/types.js";
import type { ExplorerState } from "./explorer_types.js";
import { viewMenu } from "./view_menu.js";

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
/** Controls of figures that stand in the row, where there is room. */
const IN_ROW = ["hide", "metric", "mode"];

/** The one row of the controls that figures share; the rest of them is in its menu. */
export function toolbar(model: Model<ExplorerState>, mounted: Mounted, signal: AbortSignal) {
  const keys = keyList(KEYS, mounted, signal);
  const figures = viewMenu(mounted, signal);

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

  return {
    /** `narrow`: there is only room for the layer and the menu. */
    view(narrow: boolean) {
      const { row, menu } = figures.view(narrow ? ["stack"] : ["stack", ...IN_ROW]);
      return html`<div class="attnw-ex-bar" role="group" aria-label="controls of all figures">
          ${stepper()}${row}${menu}${keys.button()}
        </div>
        ${keys.list()}`;
    },
    toggleKeys: keys.toggle,
    step: (by: number) => stepTo(model, model.get("layer") + by, layers()),
  };
}
