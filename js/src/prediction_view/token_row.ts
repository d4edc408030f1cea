import { html } from "lit-html";
import { createRef, ref } from "lit-html/directives/ref.js";
import { labelOf } from "../shared/labels.js";
import type { Axis } from "../shared/types.js";
import { chosenToken, isOfInput } from "./prediction_text.js";
import type { PredictionState } from "./state.js";

const NAMES = {
  next: "what follows which token",
  label: "which token is labeled",
  masked: "which token is predicted",
};

/**
 * Return the tokens of the text, one of which the question is about. Arrow keys move between them,
 * and Enter selects one.
 */
export function tokenRow(choose: (index: number) => void, redraw: () => void) {
  const row = createRef<HTMLElement>();
  let shown = "";
  /** Token that Tab focuses. */
  let reached = 0;

  const buttons = () => [...(row.value?.children ?? [])] as HTMLButtonElement[];
  function move(event: KeyboardEvent): void {
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
    reached = to;
    all[to]?.focus();
    redraw();
  }

  return (state: PredictionState, allowed: boolean) => {
    const task = state._predictions?.task;
    const axis = isOfInput(task) ? undefined : (state._axes.query ?? undefined);
    const chosen = chosenToken(state);
    const name = NAMES[task === "next" || task === "label" ? task : "masked"];
    const text = JSON.stringify(axis?.text);
    const hasFocus = row.value?.contains(row.value.ownerDocument.activeElement) ?? false;
    if (text !== shown || (chosen !== undefined && !hasFocus)) reached = chosen ?? 0;
    shown = text;
    const button = (index: number, axis: Axis) =>
      html`<button type="button" tabindex=${index === reached ? 0 : -1} ?disabled=${!allowed}
        aria-pressed=${index === chosen} @click=${() => choose(index)}
        >${labelOf(axis, index)}</button>`;
    return html`<div class="attnw-prediction-tokens" role="toolbar" aria-label=${name}
      ?hidden=${!axis} @keydown=${move} ${ref(row)}
      >${axis?.text.map((_, index) => button(index, axis))}</div>`;
  };
}
