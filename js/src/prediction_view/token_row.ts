import { element, listening } from "../shared/dom.js";
import { labelOf } from "../shared/labels.js";
import type { Axis } from "../shared/types.js";

/**
 * The tokens of the text, of which one is asked about: arrows move between them, Enter chooses;
 * returns how to show them.
 */
export function tokenRow(
  parent: HTMLElement,
  signal: AbortSignal,
  choose: (index: number) => void,
) {
  const row = element(parent, "div", { class: "attnw-prediction-tokens", role: "toolbar" });
  const on = listening(signal);
  const buttons = () => [...row.children] as HTMLButtonElement[];
  const rove = (to: number) => {
    for (const [i, button] of buttons().entries()) button.tabIndex = i === to ? 0 : -1;
  };
  on(row, "click", (event) => {
    const at = buttons().indexOf((event.target as Element).closest("button") as HTMLButtonElement);
    if (at >= 0) choose(at);
  });
  on(row, "keydown", (event) => {
    const all = buttons();
    const at = all.indexOf(event.target as HTMLButtonElement);
    const last = all.length - 1;
    const to = {
      ArrowRight: Math.min(last, at + 1),
      ArrowLeft: Math.max(0, at - 1),
      Home: 0,
      End: last,
    }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    rove(to);
    all[to]?.focus();
  });
  let shown = "";

  return (
    axis: Axis | undefined,
    chosen: number | undefined,
    name: string,
    allowed: boolean,
  ): void => {
    row.hidden = !axis;
    row.setAttribute("aria-label", name);
    if (!axis) return;
    if (JSON.stringify(axis.text) !== shown) {
      shown = JSON.stringify(axis.text);
      row.replaceChildren();
      for (const index of axis.text.keys())
        element(row, "button", { type: "button" }, labelOf(axis, index));
      rove(chosen ?? 0);
    }
    for (const [i, button] of buttons().entries()) {
      button.setAttribute("aria-pressed", String(i === chosen));
      button.disabled = !allowed;
    }
    if (chosen !== undefined && !row.contains(row.ownerDocument.activeElement)) rove(chosen);
  };
}
