import { element } from "../model/dom.js";
import { ALL, type ArcsState, DIRECTIONS } from "../model/relation_types.js";
import type { Model } from "../model/types.js";
import { digits } from "./colour_bar.js";
import { controlRow, type Outcome } from "./controls.js";
import { slider } from "./slider.js";

export interface ArcsActions {
  show(sentence: number): void;
  jump(outcome: Outcome, step: 1 | -1): void;
  toggleKeys(): void;
}

/** What chooses the sentence and its arcs; returns how to bring it up to date with the model. */
export function arcsControls(
  parent: HTMLElement,
  model: Model<ArcsState>,
  signal: AbortSignal,
  actions: ArcsActions,
) {
  const { row, stepper, jumps, help } = controlRow(parent, signal);
  const set = <K extends keyof ArcsState>(key: K, value: ArcsState[K]) => {
    model.set(key, value);
    model.save_changes();
  };
  const atSentence = stepper("sentence", actions.show);
  const allowJumps = jumps(
    (outcome) => `sentence on which the head is ${outcome}`,
    (outcome) => `sentences on which the head is ${outcome}`,
    actions.jump,
  );
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
  const threshold = slider(strength, { max: 1, step: 0.01 });
  const from = element(strength, "output");
  threshold.addEventListener("input", () => set("threshold", threshold.valueAsNumber), { signal });

  let listed: string[] = [];
  return {
    keys: help(actions.toggleKeys),
    update(canJump: boolean): void {
      const { count = 1, relations = [] } = model.get("_source");
      atSentence(model.get("sentence"), count);
      allowJumps(canJump);
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
