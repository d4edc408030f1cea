import { choice, hideTicks, slider, tick } from "../shared/controls.js";
import { element } from "../shared/dom.js";
import { save } from "../shared/snapshot.js";
import { type Axes, type Model, SCALES, type Scale } from "../shared/types.js";
import { findForm } from "./aside/find_form.js";
import { ARRANGEMENTS, type Arrangement } from "./several/map_types.js";
import { hideable, twoSentences } from "./source/visible_map.js";
import type { ViewState } from "./state.js";
import { viewHead } from "./view_head.js";
import { sentencesName } from "./view_text.js";

const UNITS: ViewState["unit"][] = ["tokens", "words"];
const NAMES: Record<Arrangement, string> = {
  one: "one",
  beside: "side by side",
  overlay: "overlaid",
};
const SENTENCES: ViewState["sentences"][] = ["all", "aa", "ab", "ba", "bb"];

/** Title row and controls; returns how to bring them up to date with the model. */
export function viewControls(
  parent: HTMLElement,
  model: Model<ViewState>,
  signal: AbortSignal,
  setMode: (mode: ViewState["mode"]) => void,
  zoom: { step: (by: 1 | -1) => void; whole: () => void },
) {
  const head = viewHead(parent, signal, setMode, zoom);
  const row = element(parent, "div", { class: "attnw-view-controls" });
  const quantity = choice<string>(row, "quantity", signal, (value) =>
    save(model, { quantity: value }),
  );
  // A lock is a position on the axis: on the axis of the second unit the position means a different
  // token.
  const unit = choice<ViewState["unit"]>(row, "unit", signal, (value) =>
    save(model, { tokens: [], window: null, unit: value }),
  );
  const scale = choice<Scale>(row, "scale", signal, (value) => save(model, { scale: value }));
  const pick = (value: ViewState["sentences"]) => save(model, { sentences: value });
  const sentences = choice(row, "from → to", signal, pick, sentencesName);
  const mass = element(row, "label", { class: "attnw-mass" }, "top mass ");
  const share = slider(mass, { max: 100, step: 1 });
  const shown = element(mass, "output");
  share.addEventListener("input", () => save(model, { top_mass: Number(share.value) / 100 }), {
    signal,
  });
  const hide = hideTicks(row, model, signal);
  const renormalise = tick(row, "renormalise rows", signal, (on) =>
    save(model, { renormalise: on }),
  );
  renormalise.input.dataset.control = "renormalise";
  const draw = (arrangement: Arrangement) => save(model, { arrangement });
  const arrangement = choice<Arrangement>(
    row,
    "heads",
    signal,
    draw,
    (arrangementName) => NAMES[arrangementName],
  );
  const whole = tick(row, "all heads of the layer", signal, (on) =>
    save(model, { of: on ? "layer" : "selected" }),
  );

  const find = findForm(row, model, signal);

  return {
    keys: head.keys,
    find: find.focus,
    /** With no head there is nothing to control. */
    clear(): void {
      head.hide(true);
      row.hidden = true;
    },
    name(text: string, note: string): void {
      head.hide(false);
      row.hidden = false;
      head.name(text, note);
    },
    /** What zooms: whether what is drawn can be zoomed, and whether it is. */
    zoom: (can: { zoom: boolean; zoomed: boolean }) => head.update(model.get("mode"), can),
    /** `axes` are those of the map shown; `leavesOut` is whether any of its keys is left out. */
    update(axes: Axes, leavesOut: boolean): void {
      const mode = model.get("mode");
      find.update();
      const pair = twoSentences(axes);
      quantity(model.get("_quantities"), model.get("quantity"));
      unit(UNITS, model.get("unit"));
      scale(SCALES, model.get("scale"));
      sentences(pair ? SENTENCES : [], model.get("sentences"));
      mass.hidden = mode !== "lines";
      share.value = String(Math.round(100 * model.get("top_mass")));
      shown.textContent = `${share.value} %`;
      const present = hideable(axes);
      hide((kind) =>
        kind === "first" && present.has(kind) ? "first token" : present.get(kind)?.join(" "),
      );
      renormalise.label.hidden =
        model.get("quantity") !== "weights" || (present.size === 0 && !pair);
      renormalise.input.disabled = !leavesOut;
      renormalise.input.checked = model.get("renormalise");
      const two = model.get("_compared").length > 0;
      arrangement(two ? [] : ARRANGEMENTS, model.get("arrangement"));
      whole.label.hidden = two || model.get("arrangement") === "one";
      whole.input.checked = model.get("of") === "layer";
    },
  };
}
