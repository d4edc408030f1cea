import { element } from "../model/dom.js";
import type { Cell } from "./grid_layout.js";

/** The one gridcell that assistive technology sees: it stands for the focused cell of the canvas. */
export function gridCursor(grid: HTMLElement) {
  // Two widgets can share a page, and this module's scope may or may not be shared between them.
  const prefix = `attnw-${Math.random().toString(36).slice(2)}`;
  const row = element(grid, "div", { role: "row", class: "attnw-unseen" });
  let last = "";
  return (cell: Cell, rows: number, cols: number, name: string, selected: boolean): void => {
    const state = [...cell, rows, cols, name, selected].join();
    if (state === last) return;
    last = state;
    const id = `${prefix}-${cell.join("-")}`;
    grid.setAttribute("aria-rowcount", String(rows));
    grid.setAttribute("aria-colcount", String(cols));
    row.setAttribute("aria-rowindex", String(cell[0] + 1));
    // A fresh element with its own id: screen readers only speak when the active descendant changes.
    if (row.firstElementChild?.id !== id) row.replaceChildren();
    const node = (row.firstElementChild as HTMLElement | null) ?? element(row, "div", { id });
    for (const [attribute, value] of [
      ["role", "gridcell"],
      ["aria-colindex", String(cell[1] + 1)],
      ["aria-selected", String(selected)],
      ["aria-label", name],
    ] as const)
      node.setAttribute(attribute, value);
    grid.setAttribute("aria-activedescendant", id);
  };
}

const KEYS = [
  ["Arrow keys", "move between heads"],
  ["Home / End", "first / last head of the layer, with Ctrl of the grid"],
  ["Page Up / Page Down", "four layers up / down"],
  ["Enter or Space, click", "select the head"],
  ["Shift + Enter, Shift + click", "add or remove the head"],
  ["double click", "select only this head"],
  ["[ and ]", "step to the layer above / below"],
  ["Escape", "back to the selection before"],
  ["?", "show or hide this list"],
] as const;

export function keyList(parent: HTMLElement): HTMLElement {
  const list = element(parent, "dl", { class: "attnw-keys", hidden: true });
  for (const [key, meaning] of KEYS) {
    const line = element(list, "div");
    element(line, "dt", {}, key);
    element(line, "dd", {}, meaning);
  }
  return list;
}
