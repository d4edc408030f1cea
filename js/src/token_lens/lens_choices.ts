import type { Cell } from "../shared/cells.js";
import { chosenHeads, stepTo, undoable } from "../shared/selection.js";
import { save, snapshot } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import { headAt, isCurrent, type Scene } from "./scene.js";
import type { LensQuestion } from "./shown_tokens.js";
import type { LensState } from "./state.js";

/** What Escape takes back. */
type Selection = Pick<LensState, "selected" | "tokens">;

/** The heads that a reader selects, the tokens that a reader locks, and the layer. */
export function lensChoices(model: Model<LensState>, shown: () => Scene | undefined) {
  const { choose, undo } = undoable<Selection>(
    () => snapshot(model as never, ["selected", "tokens"]),
    (choice) => {
      const last = choice.selected.at(-1);
      save(model, { ...choice, ...(last && { layer: last[0] }) });
    },
  );
  const set = (change: Partial<Selection>) =>
    choose({ selected: model.get("selected"), tokens: model.get("tokens"), ...change });

  /** The tokens that the drawn lens is of. */
  function now(): LensQuestion {
    const { query = null, key = null } = shown()?.lens ?? {};
    return { query, key };
  }

  function lock({ query, key }: LensQuestion): void {
    const tokens: LensState["tokens"] = [];
    if (query !== null) tokens.push(["query", query]);
    if (key !== null) tokens.push(["key", key]);
    set({ tokens });
  }

  return {
    now,
    lock,
    /** Lock a row's token beside the one that is locked, or in its place. */
    lockOther(token: number, alone: boolean): void {
      const scene = shown();
      if (!scene?.side || !isCurrent(scene.lens, scene.state)) return;
      const other = scene.side === "query" ? "key" : "query";
      if (!alone) lock({ ...now(), [other]: token });
      else if (scene.lens.stack === "cross") lock({ query: null, key: null, [other]: token });
      else lock({ query: null, key: null, [scene.side]: token });
    },
    /** Take back the last choice, or else the last locked token; returns whether there was one. */
    goBack(): boolean {
      if (undo()) return true;
      const tokens = model.get("tokens");
      if (tokens.length) save(model, { tokens: tokens.slice(0, -1) });
      return tokens.length > 0;
    },
    select(cell: Cell, add: boolean): void {
      const scene = shown();
      // While the picture still shows another stack, the pointer selects no head.
      const head = scene?.lens.stack === model.get("stack") ? headAt(scene, cell) : undefined;
      if (head) set({ selected: chosenHeads(model.get("selected"), head, add) });
    },
    step(layer: number): void {
      const stack = model.get("_stacks").find(({ name }) => name === model.get("stack"));
      stepTo(model, layer, stack);
    },
  };
}
