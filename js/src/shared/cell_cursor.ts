import { html } from "lit-html";
import { keyed } from "lit-html/directives/keyed.js";
import type { Cell } from "./cells.js";

/**
 * Ids of elements of one widget. Two widgets can share a page, and this module's scope may or may
 * not be shared between them.
 */
export function elementIds(): (name: string | number) => string {
  const prefix = `attnw-${Math.random().toString(36).slice(2)}`;
  return (name) => `${prefix}-${name}`;
}

/**
 * The one descendant of a grid that assistive technology sees: it stands for the cell of the canvas
 * that the keyboard is on. The grid names `id` as its active descendant.
 */
export function gridCell(of: { id: string; cell: Cell; name: string; selected: boolean }) {
  const { id, cell, name, selected } = of;
  // A fresh element with its own id: screen readers only speak when the active descendant changes.
  const node = html`<div id=${id} role="gridcell" aria-colindex=${cell[1] + 1}
    aria-selected=${selected} aria-label=${name}></div>`;
  return html`<div role="row" class="attnw-unseen" aria-rowindex=${cell[0] + 1}
    >${keyed(id, node)}</div>`;
}
