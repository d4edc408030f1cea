import { element } from "../model/dom.js";
import type { Reading, Tree } from "./arcs_data.js";
import { digits } from "./colour_bar.js";

const COLUMNS = ["", "word", "relation", "governor", "predicted", "weight", "right or wrong"];

/** Every arc as a row, folded away; filled only while it is open. */
export function arcsTable(parent: HTMLElement, signal: AbortSignal) {
  const details = element(parent, "details", { class: "attnw-arcs-details" });
  element(details, "summary", {}, "table of arcs");
  const box = element(details, "div", { class: "attnw-arcs-tablebox" });
  const table = element(box, "table", { class: "attnw-arcs-table" });
  const caption = element(table, "caption");
  const line = element(element(table, "thead"), "tr");
  for (const name of COLUMNS) element(line, "th", { scope: "col" }, name || "no.");
  const body = element(table, "tbody");
  let state: [Tree, Reading | undefined, string] | undefined;
  let filled: typeof state;

  function fill(): void {
    if (!details.open || !state || state === filled) return;
    filled = state;
    const [tree, reading, name] = state;
    caption.textContent = name;
    body.replaceChildren();
    const predicted = new Map(reading?.predicted.map((arc) => [arc.dependent, arc]));
    for (const [i, word] of tree.words.entries()) {
      const tr = element(body, "tr");
      const governor = tree.governors[i] ?? -1;
      const arc = predicted.get(i);
      element(tr, "td", {}, String(i + 1));
      element(tr, "th", { scope: "row" }, word);
      const cells = [
        tree.relations[i] ?? "",
        governor < 0 ? "" : `${governor + 1} ${tree.words[governor] ?? ""}`,
        arc ? `${arc.governor + 1} ${tree.words[arc.governor] ?? ""}` : "",
        arc ? digits(arc.weight) : "",
        arc ? (arc.right ? "right" : "wrong") : "",
      ];
      for (const text of cells) element(tr, "td", {}, text);
    }
  }
  details.addEventListener("toggle", fill, { signal });
  return (tree: Tree, reading: Reading | undefined, name: string): void => {
    if (state?.[0] !== tree || state[1] !== reading || state[2] !== name)
      state = [tree, reading, name];
    fill();
  };
}
