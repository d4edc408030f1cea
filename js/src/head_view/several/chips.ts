import { html } from "lit-html";
import { chosenHeads } from "../../shared/selection.js";
import { type Head, type Model, sameHead } from "../../shared/types.js";
import type { ViewState } from "../state.js";
import { drawnHeads, shownStack } from "./several.js";

/** Head in the row of chips, and whether it is drawn. */
export interface Chip {
  head: Head;
  drawn: boolean;
}

/** Return the heads of the layer and the heads drawn from other layers of the stack, in order. */
export function chipsOf(
  state: Pick<ViewState, "selected" | "arrangement" | "shown_heads" | "_stacks">,
): Chip[] {
  const last = state.selected.at(-1);
  const stack = shownStack(state);
  if (!last || !stack) return [];
  const { heads } = drawnHeads(state);
  const layer = Array.from(
    { length: stack.n_heads },
    (_, head): Head => [last[0], head, stack.name],
  );
  const elsewhere = heads.filter(([at]) => at !== last[0]);
  return [...layer, ...elsewhere]
    .sort((a, b) => a[0] - b[0] || a[1] - b[1])
    .map((head) => ({ head, drawn: heads.some((other) => sameHead(head, other)) }));
}

/**
 * Return the drawn heads after a click on a chip, which adds or removes its head. The last head
 * stays.
 */
export function toggledHeads(state: Parameters<typeof chipsOf>[0], head: Head): Head[] {
  const now = state.shown_heads === "layer" ? drawnHeads(state).heads : state.selected;
  const next = chosenHeads(now, head, true);
  return next.length ? next : now;
}

/** Draw these selected heads from now on, instead of the heads of the layer. */
export function drawThese(model: Model<ViewState>, heads: Head[]): void {
  const last = heads.at(-1);
  model.set("shown_heads", "selected");
  model.set("selected", heads);
  if (last) model.set("layer", last[0]);
  model.save_changes();
}

/**
 * Return a button for each head. A click adds or removes the head; a double click or Shift + click
 * shows only this head.
 */
export function chipRow(
  chips: Chip[],
  colorOf: (head: Head) => string,
  nameOf: (head: Head) => string,
  choose: (head: Head, alone: boolean) => void,
) {
  const chip = ({ head, drawn }: Chip) => {
    const color = drawn ? colorOf(head) : "";
    const clicked = ({ shiftKey, detail }: MouseEvent) => choose(head, shiftKey || detail > 1);
    return html`<button type="button" class="attnw-chip" aria-pressed=${drawn}
      title="twice, or with Shift: only this head" @click=${clicked}
      ><span class="attnw-swatch" aria-hidden="true" ?hidden=${!color}
        .style=${color && `background-color: ${color}`}></span
      ><span>${nameOf(head)}</span></button>`;
  };
  return html`<div class="attnw-chips" role="group" aria-label="heads drawn together"
    ?hidden=${chips.length === 0}>${chips.map(chip)}</div>`;
}
