import type { Cell } from "../shared/cells.js";
import { chosenHeads, selectHeads } from "../shared/selection.js";
import { save } from "../shared/snapshot.js";
import { type Head, type Model, sameHead } from "../shared/types.js";
import { headAt, type Scene } from "./scene.js";
import type { PredictionState } from "./state.js";

/** Return callbacks for the question, the selected heads and the disabled heads. */
export function predictionChoices(model: Model<PredictionState>, shown: () => Scene | null) {
  const headIn = (cell: Cell): Head | undefined => {
    const scene = shown();
    return scene ? headAt(scene, cell) : undefined;
  };

  return {
    /** Ask about a token. Asking again restores the default question. */
    ask(index: number): void {
      const position = index + (model.get("_predictions")?.task === "next" ? 1 : 0);
      save(model, { position: model.get("position") === position ? null : position });
    },
    select(cell: Cell, add: boolean): void {
      const head = headIn(cell);
      if (head) selectHeads(model, chosenHeads(model.get("selected"), head, add));
    },
    /**
     * Switch the head of a cell. Returns the announcement, or undefined if the cell has no head.
     */
    switchHead(cell: Cell): string | undefined {
      const head = headIn(cell);
      if (!head) return undefined;
      const before = model.get("disabled");
      const others = before.filter((other) => !sameHead(other, head));
      const off = others.length === before.length;
      save(model, { disabled: off ? [...before, head] : others });
      return `layer ${head[0]} head ${head[1]} switched ${off ? "off" : "on"}`;
    },
  };
}
