import { html } from "lit-html";
import { createRef, ref } from "lit-html/directives/ref.js";
import { type GridState, OF_TWO, type OfTwo } from "../head_grid/state.js";
import { ARRANGEMENTS, type Arrangement } from "../head_view/several/map_types.js";
import { hideable, twoSentences } from "../head_view/source/visible_map.js";
import type { ViewState } from "../head_view/state.js";
import { rangeInput, select, tickBox } from "../shared/controls.js";
import { labelField } from "../shared/label_field.js";
import type { Mounted } from "../shared/mount.js";
import { save } from "../shared/snapshot.js";
import { type Model, SCALES } from "../shared/types.js";
import type { ExplorerState } from "./explorer_types.js";

const SENTENCES: ViewState["sentences"][] = ["all", "aa", "ab", "ba", "bb"];
const SENTENCE_NAMES = { all: "all", aa: "A → A", ab: "A → B", ba: "B → A", bb: "B → B" };
const ARRANGEMENT_NAMES = { one: "one head", beside: "side by side", overlay: "overlaid" };
const MODES: ViewState["mode"][] = ["lines", "matrix"];

/** The models of the figures whose options stand in the toolbar, once there are any. */
export interface Joined {
  grid?: Model<GridState>;
  view?: Model<ViewState>;
}

/** The menu of the options that a reader needs less often. */
export function viewMenu(
  model: Model<ExplorerState>,
  joined: Joined,
  { root, schedule, drawNow }: Pick<Mounted, "root" | "schedule" | "drawNow">,
  signal: AbortSignal,
) {
  const box = createRef<HTMLElement>();
  const button = createRef<HTMLElement>();
  let isOpen = false;

  function turn(to: boolean): void {
    if (to === isOpen) return;
    isOpen = to;
    drawNow();
  }
  function pressed(event: KeyboardEvent): void {
    if (event.key !== "Escape" || !isOpen) return;
    event.preventDefault();
    event.stopPropagation();
    turn(false);
    button.value?.focus();
  }
  // A click elsewhere closes the menu.
  root.ownerDocument.addEventListener(
    "pointerdown",
    (event) => {
      if (!isOpen || (box.value && event.composedPath().includes(box.value))) return;
      isOpen = false;
      schedule();
    },
    { signal, capture: true },
  );

  /** Options that all figures share. */
  const shared = () => html`
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
    ${labelField(model)}`;

  function ofGrid(grid: Model<GridState>) {
    const compared = grid.get("_compared") ?? [];
    return html`
      ${select<OfTwo>({
        name: "maps",
        values: compared.length ? OF_TWO : [],
        value: grid.get("of_two"),
        pick: (of_two) => save(grid, { of_two }),
        print: (of) =>
          ({ difference: "A − B", first: `A: ${compared[0]}`, second: `B: ${compared[1]}` })[of],
      })}`;
  }

  function ofView(view: Model<ViewState>) {
    const axes = view.get("_axes");
    const pair = Boolean(axes?.query) && twoSentences(axes);
    const present = axes?.query ? hideable(axes) : new Map();
    const leavesOut =
      pair && view.get("sentences") !== "all"
        ? true
        : model.get("hidden").some((kind) => present.has(kind));
    const isTwo = (view.get("_compared") ?? []).length > 0;
    const isSeveral = !isTwo && view.get("arrangement") !== "one";
    const percent = Math.round(100 * view.get("top_mass"));
    return html`
      ${select<Arrangement>({
        name: "heads",
        values: isSeveral ? ARRANGEMENTS.filter((name) => name !== "one") : [],
        value: view.get("arrangement"),
        pick: (arrangement) => save(view, { arrangement }),
        print: (name) => ARRANGEMENT_NAMES[name],
      })}
      ${select<ViewState["mode"]>({
        name: "drawn as",
        values: isSeveral ? MODES : [],
        value: view.get("mode"),
        pick: (mode) => save(view, { mode }),
      })}
      ${tickBox({
        name: "all heads of the layer",
        checked: view.get("of") === "layer",
        tick: (all) => save(view, { of: all ? "layer" : "selected" }),
        hidden: !isSeveral,
      })}
      ${select<ViewState["sentences"]>({
        name: "from → to",
        values: pair ? SENTENCES : [],
        value: view.get("sentences"),
        pick: (sentences) => save(view, { sentences }),
        print: (name) => SENTENCE_NAMES[name],
      })}
      <label class="attnw-ex-mass" ?hidden=${view.get("mode") !== "lines"}>top mass
        ${rangeInput({
          max: 100,
          value: percent,
          slide: (value) => save(view, { top_mass: value / 100 }),
        })}<output>${percent} %</output></label>
      ${tickBox({
        name: "renormalise",
        text: "renormalise rows",
        checked: view.get("renormalise"),
        tick: (renormalise) => save(view, { renormalise }),
        hidden: model.get("quantity") !== "weights" || (present.size === 0 && !pair),
        disabled: !leavesOut,
      })}`;
  }

  return {
    /** `first`: controls for which the row has no room. */
    view(first: unknown[]) {
      const { grid, view } = joined;
      return html`<span class="attnw-ex-more" @keydown=${pressed} ${ref(box)}>
        <button type="button" class="attnw-ex-menu-button" aria-expanded=${isOpen}
          @click=${() => turn(!isOpen)} ${ref(button)}
          >View ▾</button>
        <div class="attnw-ex-menu" role="group" aria-label="view" ?hidden=${!isOpen}>
          ${first}${shared()}${view && ofView(view)}${grid && ofGrid(grid)}
        </div>
      </span>`;
    },
  };
}
