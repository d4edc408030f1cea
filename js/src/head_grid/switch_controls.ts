import { headNames } from "../shared/caption.js";
import { choice, tick } from "../shared/controls.js";
import { element } from "../shared/dom.js";
import { counted } from "../shared/numbers.js";
import { save } from "../shared/snapshot.js";
import { type Head, headName, type Model, sameHead } from "../shared/types.js";
import type { Scene } from "./scene.js";
import type { GridState } from "./state.js";

const METHODS = {
  uniform: "uniform: all weights alike",
  zero: "zero: nothing",
  first: "first: the first token",
};
const EVERY = Object.keys(METHODS) as GridState["method"][];

/** What buttons do with heads that are off. */
export interface Switching {
  toggle(head: Head): void;
  /** All on again. */
  clear(): void;
}

const named = (heads: Head[]) => headNames(heads, 4, headName);

/** What is read aloud after heads were switched. */
export const offText = (off: Head[]) =>
  off.length ? `${counted(off.length, "head")} off: ${named(off)}` : "all heads on";

/**
 * A button for the shown head in `row`; while a head is off a row of its own, in `parent`. Returns
 * how to bring them up to date.
 */
export function switchControls(
  row: HTMLElement,
  parent: HTMLElement,
  model: Model<GridState>,
  signal: AbortSignal,
  { toggle, clear }: Switching,
) {
  const look = { type: "button", class: "attnw-button attnw-grid-switch" };
  const button = element(row, "button", {
    ...look,
    title: "read the input again without this head (x)",
  });
  const off = element(parent, "div", {
    class: "attnw-controls attnw-off-controls",
    role: "group",
    "aria-label": "heads that are off",
  });
  const list = element(off, "span");
  const all = element(off, "button", look, "switch all on");
  const method = choice<GridState["method"]>(
    off,
    "method",
    signal,
    (value) => save(model, { method: value }),
    (value) => METHODS[value],
  );
  const versus = tick(off, "difference from the intact model", signal, (checked) =>
    save(model, { versus: checked ? "intact" : null }),
  );
  let shown: Head | undefined;
  button.addEventListener("click", () => shown && toggle(shown), { signal });
  all.addEventListener("click", clear, { signal });

  return ({ state }: Scene): void => {
    const fixed = Boolean(state._source.fixed);
    shown = state.selected.at(-1);
    button.hidden = fixed || !shown;
    const isOff = shown && state.disabled.some((head) => shown && sameHead(head, shown));
    button.textContent = shown ? `switch ${isOff ? "on" : "off"} ${headName(shown)}` : "";
    off.hidden = state.disabled.length === 0;
    list.textContent = `off: ${named(state.disabled)}${fixed ? ` (${state.method})` : ""}`;
    all.hidden = fixed;
    method(fixed ? [state.method] : EVERY, state.method);
    versus.label.hidden = state.versus === "other";
    versus.input.checked = state.versus !== null;
  };
}
