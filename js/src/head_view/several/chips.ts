import { element, listening } from "../../shared/dom.js";
import { chosenHeads } from "../../shared/selection.js";
import { type Head, headName, type Model, sameHead } from "../../shared/types.js";
import type { ViewState } from "../state.js";
import { drawnHeads, shownStack } from "./several.js";

/** A head that can be drawn, and whether it is drawn. */
export interface Chip {
  head: Head;
  drawn: boolean;
}

/** The heads of the layer, and those selected elsewhere in the stack. */
export function chipsOf(
  state: Pick<ViewState, "selected" | "arrangement" | "of" | "_stacks">,
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
  return [...layer, ...elsewhere].map((head) => ({
    head,
    drawn: heads.some((other) => sameHead(head, other)),
  }));
}

/** A head selected later joins the drawn heads or leaves them: the last head stays. */
export function toggledHeads(state: Parameters<typeof chipsOf>[0], head: Head): Head[] {
  const now = state.of === "layer" ? drawnHeads(state).heads : state.selected;
  const next = chosenHeads(now, head, true);
  return next.length ? next : now;
}

/** Draw the selected heads from now on, instead of the heads of the layer. */
export function drawThese(model: Model<ViewState>, heads: Head[]): void {
  const last = heads.at(-1);
  model.set("of", "selected");
  model.set("selected", heads);
  if (last) model.set("layer", last[0]);
  model.save_changes();
}

/**
 * A button per head: a click adds or removes the head, a double click or Shift shows it alone;
 * returns a function that updates the buttons.
 */
export function chipRow(
  parent: HTMLElement,
  signal: AbortSignal,
  choose: (head: Head, alone: boolean) => void,
) {
  const row = element(parent, "div", {
    class: "attnw-chips",
    role: "group",
    "aria-label": "heads drawn together",
  });
  let heads: Head[] = [];
  listening(signal)(row, "click", (event) => {
    const button = (event.target as Element).closest("button");
    const head = button && heads[[...row.children].indexOf(button)];
    if (head) choose(head, event.shiftKey || event.detail > 1);
  });
  return (chips: Chip[], colourOf: (head: Head) => string): void => {
    row.hidden = chips.length === 0;
    heads = chips.map(({ head }) => head);
    while (row.children.length > heads.length) row.lastElementChild?.remove();
    for (const [i, { head, drawn }] of chips.entries()) {
      const button = (row.children[i] ?? chip(row)) as HTMLElement;
      const [swatch, name] = [...button.children] as HTMLElement[];
      button.setAttribute("aria-pressed", String(drawn));
      if (name && name.textContent !== headName(head)) name.textContent = headName(head);
      const colour = drawn ? colourOf(head) : "";
      if (swatch) {
        swatch.hidden = !colour;
        swatch.style.backgroundColor = colour;
      }
    }
  };
}

function chip(row: HTMLElement): HTMLElement {
  const button = element(row, "button", {
    type: "button",
    class: "attnw-chip",
    title: "twice, or with Shift: only this head",
  });
  element(button, "span", { class: "attnw-swatch", "aria-hidden": "true" });
  element(button, "span");
  return button;
}
