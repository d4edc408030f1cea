import { shownHead } from "../shared/selection.js";
import { save } from "../shared/snapshot.js";
import type { Head, Model } from "../shared/types.js";
import { type GridState, nextComparisonPart } from "./state.js";
import { stepThrough } from "./step_controls.js";

export const KEYS = [
  ["Arrow keys", "move between heads"],
  ["Home / End", "first / last head of the layer, with Ctrl of the grid"],
  ["Page Up / Page Down", "four layers up / down"],
  ["Enter or Space, click", "select the head"],
  ["Shift + Enter, Shift + click", "add or remove the head"],
  ["double click", "select only this head"],
  [
    "[ and ], click on a layer",
    "step through the layers; with a locked word, to its strongest head",
  ],
  ["x", "switch the head off, or on again"],
  ["Shift + x", "the same for its layer"],
  ["v", "differences from the intact model, or the maps; of two that are compared: A − B, A, B"],
  [", and .", "the checkpoint before / after, of metrics over a training"],
  ["Escape", "take back what was selected or switched off last"],
  ["?", "show or hide this list"],
] as const;

/**
 * Return the handler of letter and punctuation keys: comparisons, checkpoints, and the switch of
 * the head under the pointer or of the shown head. It returns whether it handled the key.
 */
export function gridLetters(
  model: Model<GridState>,
  pointed: () => Head | undefined,
  switchHead: (head: Head, withLayer: boolean) => void,
) {
  return ({ key, shiftKey, ctrlKey, metaKey, altKey, target }: KeyboardEvent): boolean => {
    if (ctrlKey || metaKey || altKey || target instanceof HTMLSelectElement) return false;
    const by = { ",": -1, ".": 1 }[key];
    if (by !== undefined) return stepThrough(model, by);
    if (key === "v" && model.get("versus") === "other")
      save(model, { comparison_part: nextComparisonPart(model.get("comparison_part")) });
    else if (key === "v") save(model, { versus: model.get("versus") ? null : "intact" });
    else if (key.toLowerCase() !== "x") return false;
    else {
      const head = pointed() ?? shownHead(model);
      if (head) switchHead(head, shiftKey);
    }
    return true;
  };
}
