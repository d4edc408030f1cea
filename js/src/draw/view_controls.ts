import { element } from "../model/dom.js";
import type { Axes, Model, Scale, Special, ViewState } from "../model/types.js";
import { slider } from "./slider.js";
import { sentencesName } from "./view_caption.js";
import { hideable, twoSentences } from "./visible_map.js";

const SCALES: Scale[] = ["linear", "sqrt", "log"];
const UNITS: ViewState["unit"][] = ["tokens", "words"];
const SENTENCES: ViewState["sentences"][] = ["all", "aa", "ab", "ba", "bb"];

/** A labelled select over the values of one trait. */
function choice<T extends string>(
  parent: HTMLElement,
  name: string,
  values: T[],
  print: (value: T) => string,
  signal: AbortSignal,
  onPick: (value: T) => void,
) {
  const label = element(parent, "label", {}, `${name} `);
  const select = element(label, "select", { "data-control": name });
  const offer = (offered: T[]) => {
    if (offered.join("\n") === [...select.options].map((o) => o.value).join("\n")) return;
    select.replaceChildren();
    for (const value of offered) element(select, "option", { value }, print(value));
  };
  offer(values);
  select.addEventListener("change", () => onPick(select.value as T), { signal });
  return { label, select, offer };
}

function tick(
  parent: HTMLElement,
  name: string,
  signal: AbortSignal,
  onTick: (checked: boolean) => void,
) {
  const label = element(parent, "label", {});
  const input = element(label, "input", { type: "checkbox" });
  const text = element(label, "span", {}, name);
  input.addEventListener("change", () => onTick(input.checked), { signal });
  return { label, input, text };
}

export interface ControlActions {
  setMode(mode: ViewState["mode"]): void;
  toggleKeys(): void;
}

/** Title row and controls; returns how to bring them up to date with the model. */
export function viewControls(
  parent: HTMLElement,
  model: Model<ViewState>,
  signal: AbortSignal,
  actions: ControlActions,
) {
  const set = <K extends keyof ViewState>(key: K, value: ViewState[K]) => {
    model.set(key, value);
    model.save_changes();
  };
  const same = (value: string) => value;

  const head = element(parent, "div", { class: "attnw-view-head" });
  const title = element(head, "div", { class: "attnw-title" });
  const group = element(head, "div", { class: "attnw-view-note" });
  const toggle = element(head, "div", {
    class: "attnw-modes",
    role: "group",
    "aria-label": "mode",
  });
  const modes = (["lines", "matrix"] as const).map((mode) => {
    const button = element(toggle, "button", { type: "button", "data-mode": mode }, mode);
    button.addEventListener("click", () => actions.setMode(mode), { signal });
    return { mode, button };
  });
  const keys = element(
    head,
    "button",
    { type: "button", class: "attnw-help", title: "keys", "aria-label": "show the keys" },
    "?",
  );
  keys.setAttribute("aria-expanded", "false");
  keys.addEventListener("click", () => actions.toggleKeys(), { signal });

  const row = element(parent, "div", { class: "attnw-view-controls" });
  const quantity = choice(row, "quantity", [], same, signal, (value) => set("quantity", value));
  const unit = choice(row, "unit", UNITS, same, signal, (value) => {
    // A lock is a position on the axis: on the other unit's axis it would be another token.
    model.set("tokens", []);
    set("unit", value);
  });
  const scale = choice(row, "scale", SCALES, same, signal, (value) => set("scale", value));
  const sentences = choice(row, "from → to", SENTENCES, sentencesName, signal, (value) =>
    set("sentences", value),
  );
  const mass = element(row, "label", { class: "attnw-mass" }, "top mass ");
  const share = slider(mass, { max: 100, step: 1 });
  const shown = element(mass, "output");
  share.addEventListener("input", () => set("top_mass", Number(share.value) / 100), { signal });
  const hide = element(row, "span", { role: "group", "aria-label": "hide" }, "hide");
  const toggles = (["cls", "sep", "first"] as Special[]).map((kind) => {
    const parts = tick(hide, kind, signal, (on) => {
      const others = model.get("hidden").filter((special) => special !== kind);
      set("hidden", on ? [...others, kind] : others);
    });
    parts.input.dataset.hide = kind;
    return { kind, ...parts };
  });
  const renormalise = tick(row, "renormalise rows", signal, (on) => set("renormalise", on));
  renormalise.input.dataset.control = "renormalise";

  return {
    keys,
    /** With no head there is nothing to control. */
    clear(): void {
      head.hidden = true;
      row.hidden = true;
    },
    name(text: string, note: string): void {
      head.hidden = false;
      row.hidden = false;
      title.textContent = text;
      group.textContent = note;
    },
    /** `axes` are those of the map shown; `leavesOut` is whether any of its keys is left out. */
    update(axes: Axes, leavesOut: boolean): void {
      const mode = model.get("mode");
      for (const { mode: value, button } of modes)
        button.setAttribute("aria-pressed", String(value === mode));
      quantity.offer(model.get("_quantities"));
      quantity.label.hidden = quantity.select.options.length < 2;
      quantity.select.value = model.get("quantity");
      unit.select.value = model.get("unit");
      scale.select.value = model.get("scale");
      sentences.label.hidden = !twoSentences(axes);
      sentences.select.value = model.get("sentences");
      mass.hidden = mode !== "lines";
      share.value = String(Math.round(100 * model.get("top_mass")));
      shown.textContent = `${share.value} %`;
      const present = hideable(axes);
      for (const { kind, label, input, text } of toggles) {
        const texts = present.get(kind);
        label.hidden = !texts;
        text.textContent = kind === "first" ? "first token" : (texts ?? []).join(" ");
        input.checked = model.get("hidden").includes(kind);
      }
      hide.hidden = present.size === 0;
      renormalise.label.hidden =
        model.get("quantity") !== "weights" || (present.size === 0 && !twoSentences(axes));
      renormalise.input.disabled = !leavesOut;
      renormalise.input.checked = model.get("renormalise");
    },
  };
}
