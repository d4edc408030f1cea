import type { Cell } from "../shared/cells.js";
import { chosenHeads, selectHeads } from "../shared/selection.js";
import { save } from "../shared/snapshot.js";
import { type Head, type Model, sameHead } from "../shared/types.js";
import { headAt, type Scene } from "./scene.js";
import type { PredictionState } from "./state.js";

/** What a reader asks about, selects and switches off. */
export function predictionChoices(model: Model<PredictionState>, shown: () => Scene | null) {
  const headIn = (cell: Cell): Head | undefined => {
    const scene = shown();
    return scene ? headAt(scene, cell) : undefined;
  };

  return {
    /** Ask about a token; again, and the question is what it was by itself. */
    ask(index: number): void {
      const position = index + (model.get("_predictions")?.task === "next" ? 1 : 0);
      save(model, { position: model.get("position") === position ? null : position });
    },
    select(cell: Cell, add: boolean): void {
      const head = headIn(cell);
      if (head) selectHeads(model, chosenHeads(model.get("selected"), head, add));
    },
    /** Switch the head of a cell; returns what is read aloud, undefined without a head. */
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
