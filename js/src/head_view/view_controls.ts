import { html } from "lit-html";
import { hiddenTicks, rangeInput, select, tickBox } from "../shared/controls.js";
import { save } from "../shared/snapshot.js";
import { type Axes, type Model, SCALES } from "../shared/types.js";
import { ARRANGEMENTS, type Arrangement } from "./several/map_types.js";
import { hideable, twoSentences } from "./source/visible_map.js";
import type { ViewState } from "./state.js";
import { sentencesName } from "./view_text.js";

const UNITS: ViewState["unit"][] = ["tokens", "words"];
const NAMES: Record<Arrangement, string> = {
  one: "one",
  beside: "side by side",
  overlay: "overlaid",
};
const SENTENCES: ViewState["sentences"][] = ["all", "aa", "ab", "ba", "bb"];

/** The map that the controls are for. */
export interface Controlled {
  axes: Axes;
  /** Whether any key of the map is left out. */
  leavesOut: boolean;
}

/** The row of controls above a figure. */
export function viewControls(model: Model<ViewState>, { axes, leavesOut }: Controlled) {
  const pair = twoSentences(axes);
  const present = hideable(axes);
  const two = model.get("_compared").length > 0;
  return html`
    ${select<string>({
      name: "quantity",
      values: model.get("_quantities"),
      value: model.get("quantity"),
      pick: (quantity) => save(model, { quantity }),
    })}
    ${select<ViewState["unit"]>({
      name: "unit",
      values: UNITS,
      value: model.get("unit"),
      // A lock is a position on the axis: on the axis of the second unit the position means a
      // different token.
      pick: (unit) => save(model, { tokens: [], window: null, unit }),
    })}
    ${select<ViewState["scale"]>({
      name: "scale",
      values: SCALES,
      value: model.get("scale"),
      pick: (scale) => save(model, { scale }),
    })}
    ${select<ViewState["sentences"]>({
      name: "from → to",
      values: pair ? SENTENCES : [],
      value: model.get("sentences"),
      pick: (sentences) => save(model, { sentences }),
      print: sentencesName,
    })}
    ${massSlider(model)}
    ${hiddenTicks(model, (kind) =>
      kind === "first" && present.has(kind) ? "first token" : present.get(kind)?.join(" "),
    )}
    ${tickBox({
      name: "renormalise",
      text: "renormalise rows",
      checked: model.get("renormalise"),
      tick: (renormalise) => save(model, { renormalise }),
      hidden: model.get("quantity") !== "weights" || (present.size === 0 && !pair),
      disabled: !leavesOut,
    })}
    ${select<Arrangement>({
      name: "heads",
      values: two ? [] : ARRANGEMENTS,
      value: model.get("arrangement"),
      pick: (arrangement) => save(model, { arrangement }),
      print: (value) => NAMES[value],
    })}
    ${tickBox({
      name: "all heads of the layer",
      checked: model.get("of") === "layer",
      tick: (all) => save(model, { of: all ? "layer" : "selected" }),
      hidden: two || model.get("arrangement") === "one",
    })}`;
}

function massSlider(model: Model<ViewState>) {
  const percent = Math.round(100 * model.get("top_mass"));
  return html`<label class="attnw-mass" ?hidden=${model.get("mode") !== "lines"}>top mass
    ${rangeInput({
      max: 100,
      value: percent,
      slide: (value) => save(model, { top_mass: value / 100 }),
    })}<output>${percent} %</output></label>`;
}
