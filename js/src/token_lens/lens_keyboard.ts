import { save } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import type { lensChoices } from "./lens_choices.js";
import type { Scene } from "./scene.js";
import type { LensState } from "./state.js";

export const KEYS = [
  ["Arrow keys", "move between cells; Home and End, Page Up and Page Down to go further"],
  ["Enter or Space, click", "select the head of the cell"],
  ["Shift + Enter, Shift + click", "add or remove the head"],
  ["t, click on a token", "lock the token of the row too"],
  ["f, Shift + click on a token", "go on from this token alone"],
  ["d", "turn the direction round: from becomes to"],
  ["s", "sort the heads"],
  ["a", "the heads of the layer, or of the model"],
  ["[ and ]", "step to the layer before / after"],
  ["Escape", "back to what was locked and selected before"],
  ["?", "show or hide this list"],
] as const;

/**
 * The letters of a lens; the function returns whether a key was one of them. `row`: the row that
 * the keyboard is on.
 */
export function lensLetters(
  model: Model<LensState>,
  { now, lock, lockOther }: ReturnType<typeof lensChoices>,
  shown: () => Scene | undefined,
  row: () => number,
) {
  return ({ key, metaKey, ctrlKey, altKey }: KeyboardEvent): boolean => {
    const scene = shown();
    if (metaKey || ctrlKey || altKey || !scene) return false;
    const token = scene.tokens[row()];
    const { query, key: to } = now();
    if (key === "d" && scene.lens.stack !== "cross") lock({ query: to, key: query });
    else if (key === "s") save(model, { sort: model.get("sort") === "head" ? "weight" : "head" });
    else if (key === "a") save(model, { of: model.get("of") === "layer" ? "model" : "layer" });
    else if ((key === "t" || key === "f") && token !== undefined) lockOther(token, key === "f");
    else return false;
    return true;
  };
}
