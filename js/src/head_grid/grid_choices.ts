import type { Cell } from "../shared/cells.js";
import {
  chosenHeads,
  reachedLayer,
  selectHeads,
  shownHead,
  stepTo,
  switchedOff,
  undoable,
} from "../shared/selection.js";
import { snapshot } from "../shared/snapshot.js";
import type { Head, Model } from "../shared/types.js";
import { similarHeads } from "./metric_controls.js";
import { type GridState, WATCHED } from "./state.js";
import { strongestHead } from "./word_answers.js";

/** Choices that Escape undoes. */
type Chosen = Pick<GridState, "selected" | "disabled">;

/**
 * Return callbacks for the selected heads, the disabled heads and the layer. `headAt`: Head of a
 * drawn cell, if the drawing shows the stack of the grid.
 */
export function gridChoices(
  model: Model<GridState>,
  headAt: (cell: Cell | undefined) => Head | undefined,
) {
  const now = (): Chosen => ({
    selected: model.get("selected"),
    disabled: model.get("disabled"),
  });
  const history = undoable<Chosen>(now, ({ selected, disabled }) => {
    if (model.get("_refused")) model.set("_refused", "");
    model.set("disabled", disabled);
    selectHeads(model, selected);
  });
  const select = (selected: Head[]) => history.choose({ ...now(), selected });
  const stackOf = (name: string | undefined) =>
    model.get("_stacks").find((stack) => stack.name === name);

  function step(layer: number): void {
    const last = shownHead(model);
    const shown = stackOf(model.get("stack"));
    if (!shown || !last || last[2] === shown.name) stepTo(model, layer, shown, strongestIn);
    else {
      // The selection is in another stack, so move it to this one.
      const target = reachedLayer(shown, model.get("layer"), layer);
      const same: Head = [target, Math.min(last[1], shown.n_heads - 1), shown.name];
      selectHeads(model, [strongestIn(target) ?? same]);
    }
  }

  const strongestIn = (layer: number) => strongestHead(snapshot(model, WATCHED), layer);

  /** Select the strongest head of a layer for the locked words; without them, step there. */
  function chooseLayer(layer: number): void {
    const head = strongestIn(layer);
    if (head) select([head]);
    else step(layer);
  }

  function choose(cell: Cell, add: boolean): void {
    // While the grid still shows another stack, the pointer selects no head.
    const head = headAt(cell);
    if (head) select(chosenHeads(model.get("selected"), head, add));
  }

  function switchTo(disabled: Head[]): void {
    const { fixed } = model.get("_source");
    if (fixed) model.set("_refused", fixed);
    else history.choose({ ...now(), disabled });
  }

  /** Switch heads off, or on again if all of them are off. */
  const switchOff = (heads: Head[]) => switchTo(switchedOff(model.get("disabled"), heads));

  /** Switch a head, or all heads of its layer. */
  function switchHead(head: Head, withLayer: boolean): void {
    const count = stackOf(head[2])?.n_heads ?? 0;
    const layer = Array.from({ length: count }, (_, i): Head => [head[0], i, head[2]]);
    switchOff(withLayer ? layer : [head]);
  }

  /** Select the shown head together with the most similar heads; the shown head does not change. */
  function selectSimilar(): void {
    const shown = shownHead(model);
    if (!shown) return;
    const alike = similarHeads(model, shown[0], shown[1]);
    select([...alike.map(([layer, head]): Head => [layer, head, shown[2]]), shown]);
  }

  return {
    now,
    step,
    chooseLayer,
    choose,
    switchHead,
    allOn: () => switchTo([]),
    selectSimilar,
    undo: history.undo,
    notice: history.notice,
  };
}
