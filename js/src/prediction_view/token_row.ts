import { html } from "lit-html";
import { createRef, ref } from "lit-html/directives/ref.js";
import { labelOf } from "../shared/labels.js";
import type { Axis } from "../shared/types.js";

/** The tokens as a row of buttons. */
interface Tokens {
  /** The tokens; undefined hides the row. */
  axis: Axis | undefined;
  /** The token that is asked about. */
  chosen: number | undefined;
  /** The name of the row. */
  name: string;
  allowed: boolean;
}

/** The tokens of the text, of which one is asked about: arrows move between them, Enter chooses. */
export function tokenRow(choose: (index: number) => void, redraw: () => void) {
  const row = createRef<HTMLElement>();
  let shown = "";
  /** The token that Tab reaches. */
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

  return ({ axis, chosen, name, allowed }: Tokens) => {
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
