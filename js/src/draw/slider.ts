import { element } from "../model/dom.js";

/** A slider that hears its arrow keys in a notebook too: JupyterLab would take them for its own. */
export function slider(parent: HTMLElement, range: { max: number; step: number }) {
  const input = element(parent, "input", { type: "range", min: 0, ...range });
  input.addEventListener("keydown", (event) => {
    if (/^Arrow/.test(event.key)) event.stopPropagation();
  });
  return input;
}
