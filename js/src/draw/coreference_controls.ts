import { element } from "../model/dom.js";
import type { Model } from "../model/types.js";
import { controlRow, type Outcome } from "./controls.js";
import { type CoreferenceState, VARIANTS, type Variant } from "./coreference_data.js";

export interface CoreferenceActions {
  show(document: number): void;
  turn(window: number): void;
  choose(variant: Variant): void;
  jump(outcome: Outcome, step: 1 | -1): void;
  toggleKeys(): void;
}

/** What chooses the text and the mention; returns how to bring it up to date with the model. */
export function coreferenceControls(
  parent: HTMLElement,
  model: Model<CoreferenceState>,
  signal: AbortSignal,
  actions: CoreferenceActions,
) {
  const { row, stepper, jumps, help } = controlRow(parent, signal);
  const atDocument = stepper("document", actions.show);
  const atWindow = stepper("window", actions.turn);
  const allowJumps = jumps(
    (outcome) => `mention for which the head is ${outcome}`,
    (outcome) => `mentions for which the head is ${outcome}`,
    actions.jump,
  );
  const variant = element(element(row, "label", {}, "choose among "), "select");
  const titles = { words: "all words", mentions: "preceding mentions" };
  for (const value of VARIANTS) element(variant, "option", { value }, titles[value]);
  variant.addEventListener("change", () => actions.choose(variant.value as Variant), { signal });
  return {
    keys: help(actions.toggleKeys),
    update(canJump: boolean, windows: number): void {
      atDocument(model.get("document"), model.get("_source").count ?? 1);
      atWindow(model.get("window"), windows);
      allowJumps(canJump);
      variant.value = model.get("variant");
    },
  };
}
