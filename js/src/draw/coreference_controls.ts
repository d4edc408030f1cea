import { element } from "../model/dom.js";
import type { Model } from "../model/types.js";
import { type CoreferenceState, VARIANTS, type Variant } from "./coreference_data.js";
import { MARKS } from "./coreference_text.js";

export interface CoreferenceActions {
  show(document: number): void;
  turn(window: number): void;
  choose(variant: Variant): void;
  jump(outcome: "right" | "wrong", step: 1 | -1): void;
  toggleKeys(): void;
}

/** A number between a button that steps back and one that steps on. */
function stepper(
  row: HTMLElement,
  name: string,
  signal: AbortSignal,
  button: (at: HTMLElement, text: string, name: string, onClick: () => void) => HTMLButtonElement,
  go: (index: number) => void,
) {
  const group = element(row, "span", { role: "group", "aria-label": name });
  group.className = "attnw-coref-group";
  let index = 0;
  const back = button(group, "‹", `previous ${name}`, () => go(index - 1));
  const label = element(group, "label", {}, `${name} `);
  const number = element(label, "input", { type: "number", min: 0, step: 1 });
  const last = element(label, "span", { class: "attnw-coref-muted" });
  number.addEventListener(
    "change",
    () => {
      const asked = number.valueAsNumber;
      number.value = String(index);
      if (Number.isInteger(asked)) go(asked);
    },
    { signal },
  );
  const on = button(group, "›", `next ${name}`, () => go(index + 1));
  return (now: number, count: number): void => {
    index = now;
    number.max = String(count - 1);
    number.value = String(now);
    last.textContent = ` of 0–${(count - 1).toLocaleString("en")}`;
    back.disabled = now <= 0;
    on.disabled = now >= count - 1;
    group.hidden = count < 2;
  };
}

/** What chooses the text and the mention; returns how to bring it up to date with the model. */
export function coreferenceControls(
  parent: HTMLElement,
  model: Model<CoreferenceState>,
  signal: AbortSignal,
  actions: CoreferenceActions,
) {
  const row = element(parent, "div", { class: "attnw-coref-controls" });
  const button = (at: HTMLElement, text: string, name: string, onClick: () => void) => {
    const node = element(
      at,
      "button",
      { type: "button", class: "attnw-coref-button", title: name, "aria-label": name },
      text,
    );
    node.addEventListener("click", onClick, { signal });
    return node;
  };
  const atDocument = stepper(row, "document", signal, button, actions.show);
  const atWindow = stepper(row, "window", signal, button, actions.turn);
  const jumps = (["right", "wrong"] as const).flatMap((outcome) => {
    const where = `mention for which the head is ${outcome}`;
    const place = element(row, "span", {
      ...{ role: "group", "aria-label": `mentions for which the head is ${outcome}` },
      class: "attnw-coref-group",
    });
    const mark = { class: `attnw-coref-${outcome}`, "aria-hidden": "true" };
    element(place, "span", mark, MARKS[outcome]);
    const back = button(place, "‹", `previous ${where}`, () => actions.jump(outcome, -1));
    place.append(outcome);
    return [back, button(place, "›", `next ${where}`, () => actions.jump(outcome, 1))];
  });
  const variant = element(element(row, "label", {}, "choose among "), "select");
  const titles = { words: "all words", mentions: "preceding mentions" };
  for (const value of VARIANTS) element(variant, "option", { value }, titles[value]);
  variant.addEventListener("change", () => actions.choose(variant.value as Variant), { signal });
  const keys = button(row, "?", "show the keys", actions.toggleKeys);
  keys.classList.add("attnw-coref-help");
  keys.setAttribute("aria-expanded", "false");
  return {
    keys,
    update(canJump: boolean, windows: number): void {
      atDocument(model.get("document"), model.get("_source").count ?? 1);
      atWindow(model.get("window"), windows);
      for (const node of jumps) node.disabled = !canJump;
      variant.value = model.get("variant");
    },
  };
}
