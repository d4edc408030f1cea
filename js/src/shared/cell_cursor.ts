import type { Cell } from "./cells.js";
import { element } from "./dom.js";

/**
 * The one descendant of a box that assistive technology sees: it stands for what the keyboard is on
 * in the canvas.
 */
export function activeDescendant(box: HTMLElement, holder: HTMLElement) {
  // Two widgets can share a page, and this module's scope may or may not be shared between them.
  const prefix = `attnw-${Math.random().toString(36).slice(2)}`;
  return (key: string, attributes: Record<string, string>): void => {
    const id = `${prefix}-${key}`;
    // A fresh element with its own id: screen readers only speak when the active descendant
    // changes.
    if (holder.firstElementChild?.id !== id) holder.replaceChildren();
    const node = holder.firstElementChild ?? element(holder, "div", { id });
    for (const [name, value] of Object.entries(attributes))
      if (node.getAttribute(name) !== value) node.setAttribute(name, value);
    box.setAttribute("aria-activedescendant", id);
  };
}

/** The focused cell of a grid, as a gridcell. */
export function gridCursor(grid: HTMLElement) {
  const row = element(grid, "div", { role: "row", class: "attnw-unseen" });
  const point = activeDescendant(grid, row);
  return (cell: Cell, rows: number, cols: number, name: string, selected: boolean): void => {
    grid.setAttribute("aria-rowcount", String(rows));
    grid.setAttribute("aria-colcount", String(cols));
    row.setAttribute("aria-rowindex", String(cell[0] + 1));
    point(cell.join("-"), {
      role: "gridcell",
      "aria-colindex": String(cell[1] + 1),
      "aria-selected": String(selected),
      "aria-label": name,
    });
  };
}
