import { html } from "lit-html";
import { headNames } from "../shared/caption.js";
import { type Control, choice, controlView } from "../shared/controls.js";
import { fixedOf, withReason } from "../shared/fixed_options.js";
import { counted } from "../shared/numbers.js";
import { save } from "../shared/snapshot.js";
import { type Head, headName, type Method, type Model, sameHead } from "../shared/types.js";
import type { GridState } from "./state.js";

const METHODS = {
  uniform: "uniform: all weights alike",
  zero: "zero: nothing",
  first: "first: the first token",
  rule: "rule: what the name predicts",
};
const EVERY = Object.keys(METHODS) as Method[];
/** Methods without the rules of names, which not every head has. */
const WITHOUT_RULE = EVERY.filter((method) => method !== "rule");

const named = (heads: Head[], labels?: GridState["labels"]) =>
  headNames(heads, { most: 4, short: true, labels });

/** Return the announcement after heads were switched. */
export const offText = (off: Head[]) =>
  off.length ? `${counted(off.length, "head")} off: ${named(off)}` : "all heads on";

/** Return the button that switches the shown head. */
export function headSwitch(state: GridState, toggle: (head: Head) => void): Control {
  const shown = state.selected.at(-1);
  const isOff = shown && state.disabled.some((head) => sameHead(head, shown));
  return {
    kind: "action",
    name: "switch",
    place: "bar",
    label: shown ? `switch ${isOff ? "on" : "off"} ${headName(shown, state._stacks)}` : "",
    hint: "read the input again without this head (x)",
    change: () => shown && toggle(shown),
    hidden: Boolean(state._source.fixed) || !shown,
  };
}

/**
 * Return the row for heads that are off, hidden if there are none. `clear`: Switch all heads on.
 */
export function offControls(model: Model<GridState>, state: GridState, clear: () => void) {
  const isFixed = Boolean(state._source.fixed);
  const off = named(state.disabled, state.labels);
  const method = state.method ?? state._source.method ?? "uniform";
  const isRuled = Boolean(state._source.ruled) || method === "rule";
  const controls: Control[] = [
    {
      kind: "action",
      name: "all on",
      place: "bar",
      label: "switch all on",
      change: clear,
      hidden: isFixed,
    },
    choice<Method>({
      name: "method",
      place: "bar",
      values: isFixed ? [method] : isRuled ? EVERY : WITHOUT_RULE,
      value: method,
      change: (picked) => save(model, { method: picked }),
      print: (value) => METHODS[value],
    }),
    {
      kind: "tick",
      name: "difference from the intact model",
      trait: "versus",
      place: "bar",
      value: state.versus !== null,
      change: (checked) => save(model, { versus: checked ? "intact" : null }),
      hidden: state.versus === "other",
    },
  ];
  return html`<div class="attnw-controls attnw-off-controls" role="group"
    aria-label="heads that are off" ?hidden=${!state.disabled.length}>
    <span>${`off: ${off}${isFixed ? ` (${method})` : ""}`}</span>
    ${controls.map((control) => controlView(withReason(control, fixedOf(model))))}
  </div>`;
}
