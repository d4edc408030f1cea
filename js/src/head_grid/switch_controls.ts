import { html, nothing } from "lit-html";
import { headNames } from "../shared/caption.js";
import { select, tickBox } from "../shared/controls.js";
import { counted } from "../shared/numbers.js";
import { save } from "../shared/snapshot.js";
import {
  type Head,
  type HeadLabel,
  headName,
  type Method,
  type Model,
  sameHead,
} from "../shared/types.js";
import type { GridState } from "./state.js";

const METHODS = {
  uniform: "uniform: all weights alike",
  zero: "zero: nothing",
  first: "first: the first token",
};
const EVERY = Object.keys(METHODS) as Method[];

/** What buttons do with heads that are off. */
export interface Switching {
  toggle(head: Head): void;
  /** All on again. */
  clear(): void;
}

const named = (heads: Head[], labels?: HeadLabel[]) =>
  headNames(heads, { most: 4, short: true, labels });

/** What is read aloud after heads were switched. */
export const offText = (off: Head[]) =>
  off.length ? `${counted(off.length, "head")} off: ${named(off)}` : "all heads on";

const switchButton = (text: string, press: () => void, hidden: boolean, title?: string) =>
  html`<button type="button" class="attnw-button attnw-grid-switch" title=${title ?? nothing}
    ?hidden=${hidden} @click=${press}>${text}</button>`;

/** The button that switches the shown head. */
export function headSwitch(state: GridState, { toggle }: Switching) {
  const shown = state.selected.at(-1);
  const isOff = shown && state.disabled.some((head) => sameHead(head, shown));
  return switchButton(
    shown ? `switch ${isOff ? "on" : "off"} ${headName(shown)}` : "",
    () => shown && toggle(shown),
    Boolean(state._source.fixed) || !shown,
    "read the input again without this head (x)",
  );
}

/** The row for heads that are off; hidden while none is. */
export function offControls(model: Model<GridState>, state: GridState, { clear }: Switching) {
  const isFixed = Boolean(state._source.fixed);
  const off = named(state.disabled, state.labels);
  const method = state.method ?? state._source.method ?? "uniform";
  return html`<div class="attnw-controls attnw-off-controls" role="group"
    aria-label="heads that are off" ?hidden=${!state.disabled.length}>
    <span>${`off: ${off}${isFixed ? ` (${method})` : ""}`}</span>
    ${switchButton("switch all on", clear, isFixed)}
    ${select<Method>({
      name: "method",
      values: isFixed ? [method] : EVERY,
      value: method,
      pick: (picked) => save(model, { method: picked }),
      print: (value) => METHODS[value],
    })}
    ${tickBox({
      name: "difference from the intact model",
      checked: state.versus !== null,
      tick: (checked) => save(model, { versus: checked ? "intact" : null }),
      hidden: state.versus === "other",
    })}
  </div>`;
}
