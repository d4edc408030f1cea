import type { Table } from "../shared/caption.js";
import { element } from "../shared/dom.js";

/** The figure's numbers, folded away; filled only while it is open. */
export function foldedTable(parent: HTMLElement, signal: AbortSignal) {
  const details = element(parent, "details", { class: "attnw-arcs-details" });
  element(details, "summary", {}, "table of arcs");
  const box = element(details, "div", { class: "attnw-arcs-tablebox" });
  let filled = "";
  let fill = () => {};
  details.addEventListener("toggle", () => fill(), { signal });
  return ({ columns, rows }: Table, name: string): void => {
    fill = () => {
      const now = JSON.stringify([columns, rows, name]);
      if (!details.open || now === filled) return;
      filled = now;
      box.replaceChildren();
      const table = element(box, "table", { class: "attnw-arcs-table" });
      element(table, "caption", {}, name);
      const heading = element(element(table, "thead"), "tr");
      for (const column of columns) element(heading, "th", { scope: "col" }, column);
      const body = element(table, "tbody");
      for (const [word, ...cells] of rows) {
        const tr = element(body, "tr");
        element(tr, "th", { scope: "row" }, String(word));
        for (const cell of cells) element(tr, "td", {}, String(cell));
      }
    };
    fill();
  };
}
