import { element } from "../model/dom.js";
import { ALL, type ArcsState, DIRECTIONS } from "../model/relation_types.js";
import type { Model } from "../model/types.js";
import { digits } from "./colour_bar.js";

export interface ArcsActions {
  show(sentence: number): void;
  jump(outcome: "right" | "wrong", step: 1 | -1): void;
  toggleKeys(): void;
}

/** What chooses the sentence and its arcs; returns how to bring it up to date with the model. */
export function arcsControls(
  parent: HTMLElement,
  model: Model<ArcsState>,
  signal: AbortSignal,
  actions: ArcsActions,
) {
  const row = element(parent, "div", { class: "attnw-arcs-controls" });
  const set = <K extends keyof ArcsState>(key: K, value: ArcsState[K]) => {
    model.set(key, value);
    model.save_changes();
  };
  const button = (at: HTMLElement, text: string, name: string, onClick: () => void) => {
    const node = element(at, "button", {
      ...{ type: "button", class: "attnw-arcs-button", title: name, "aria-label": name },
    });
    node.textContent = text;
    node.addEventListener("click", onClick, { signal });
    return node;
  };
  const group = (name: string) =>
    element(row, "span", { role: "group", "aria-label": name, class: "attnw-arcs-group" });

  const sentences = group("sentence");
  const previous = button(sentences, "‹", "previous sentence", () =>
    actions.show(model.get("sentence") - 1),
  );
  const label = element(sentences, "label", {}, "sentence ");
  const number = element(label, "input", { type: "number", min: 0, step: 1 });
  const last = element(label, "span", { class: "attnw-arcs-muted" });
  number.addEventListener(
    "change",
    () => {
      if (Number.isInteger(number.valueAsNumber)) actions.show(number.valueAsNumber);
      number.value = String(model.get("sentence"));
    },
    { signal },
  );
  const next = button(sentences, "›", "next sentence", () =>
    actions.show(model.get("sentence") + 1),
  );

  const jumps = (["right", "wrong"] as const).flatMap((outcome) => {
    const place = group(`sentences on which the head is ${outcome}`);
    const sample = element(place, "span", {
      class: `attnw-arcs-${outcome}`,
      "aria-hidden": "true",
    });
    sample.textContent = outcome === "right" ? "✓" : "×";
    const where = `sentence on which the head is ${outcome}`;
    const back = button(place, "‹", `previous ${where}`, () => actions.jump(outcome, -1));
    place.append(outcome);
    return [back, button(place, "›", `next ${where}`, () => actions.jump(outcome, 1))];
  });

  const relation = element(element(row, "label", {}, "relation "), "select");
  relation.addEventListener("change", () => set("relation", relation.value), { signal });
  const direction = element(element(row, "label", {}, "direction "), "select");
  for (const value of DIRECTIONS) element(direction, "option", { value }, value);
  direction.addEventListener(
    "change",
    () => set("direction", direction.value as ArcsState["direction"]),
    { signal },
  );
  const strength = element(row, "label", {}, "weight from ");
  const threshold = element(strength, "input", { type: "range", min: 0, max: 1, step: 0.01 });
  const from = element(strength, "output");
  threshold.addEventListener("input", () => set("threshold", threshold.valueAsNumber), { signal });
  const keys = button(row, "?", "show the keys", actions.toggleKeys);
  keys.classList.add("attnw-arcs-help");
  keys.setAttribute("aria-expanded", "false");

  let listed: string[] = [];
  return {
    keys,
    update(canJump: boolean): void {
      const { count = 1, relations = [] } = model.get("_source");
      const index = model.get("sentence");
      number.max = String(count - 1);
      number.value = String(index);
      last.textContent = ` of 0–${(count - 1).toLocaleString("en")}`;
      previous.disabled = index <= 0;
      next.disabled = index >= count - 1;
      for (const node of jumps) node.disabled = !canJump;
      if (relations !== listed) {
        relation.replaceChildren();
        for (const value of relations)
          element(relation, "option", { value }, value === ALL ? "all relations" : value);
        listed = relations;
      }
      relation.value = model.get("relation");
      direction.value = model.get("direction");
      threshold.value = String(model.get("threshold"));
      from.textContent = digits(model.get("threshold"));
    },
  };
}
