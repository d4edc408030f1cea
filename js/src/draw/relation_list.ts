import { element } from "../model/dom.js";
import { COLUMNS, type Column, DIRECTIONS, type TableState } from "../model/relation_types.js";
import { svgElement } from "../model/svg.js";
import { headName, paperName } from "../model/types.js";
import { LEVEL, percent, type Row, rowText, signed } from "./relation_rows.js";

const TITLES: Record<Column, [title: string, meaning: string]> = {
  relation: ["relation", "kind of dependency, with its subtype"],
  n: ["n", "words"],
  head: ["best head", "the most accurate head of either direction"],
  direction: ["direction", "who attends to whom"],
  accuracy: ["accuracy %", "bar: accuracy; line: 95 % interval; tick: best fixed offset"],
  baseline: ["offset %", "accuracy of the best fixed offset"],
  gain: ["gain", "percentage points above the offset; * corrected p up to 0.05"],
};
/** What a heading is where every column has to fit beside the others. */
const SHORT: Partial<Record<Column, string>> = {
  head: "head",
  direction: "dir.",
  accuracy: "acc. %",
};
const BAR = { width: 96, height: 14 };

export interface ListActions {
  choose(row: Row): void;
  sort(column: Column): void;
}

/** The table of relations: one tab stop for the headings' buttons each, and one for all rows. */
export function relationList(parent: HTMLElement, signal: AbortSignal, actions: ListActions) {
  const box = element(parent, "div", { class: "attnw-rel-box" });
  const table = element(box, "table", { class: "attnw-rel" });
  const caption = element(table, "caption");
  const line = element(element(table, "thead"), "tr");
  const headings = COLUMNS.map((column) => {
    const [title, meaning] = TITLES[column];
    const cell = element(line, "th", { scope: "col", title: meaning });
    const button = element(cell, "button", { type: "button", class: "attnw-rel-sort" });
    const short = SHORT[column];
    element(button, "span", short ? { class: "attnw-rel-long" } : {}, title);
    if (short) element(button, "span", { class: "attnw-rel-short", "aria-hidden": "true" }, short);
    const arrow = element(button, "span", { "aria-hidden": "true", class: "attnw-rel-arrow" });
    button.addEventListener("click", () => actions.sort(column), { signal });
    return { column, cell, arrow };
  });
  const body = element(table, "tbody");
  const nothing = element(box, "p", { class: "attnw-rel-nothing", hidden: true });
  nothing.textContent = "No relation is left: search for less, or ask for fewer words.";

  let listed = "";
  let rows: Row[] = [];
  let buttons: HTMLButtonElement[] = [];
  /** The relation of the row that Tab reaches. */
  let current = "";

  function bar(cell: HTMLElement, { accuracy, low, high, baseline }: Row): void {
    const { width, height } = BAR;
    const svg = svgElement(cell, "svg", {
      ...{ viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    });
    const middle = height / 2;
    const at = (share: number) => (share * (width - 2) + 1).toFixed(1);
    svgElement(svg, "rect", {
      ...{ class: "attnw-rel-track", x: 1, y: height - 1, width: width - 2, height: 1 },
    });
    svgElement(svg, "rect", {
      ...{ class: "attnw-rel-bar", x: 1, y: 3, width: at(accuracy), height: height - 6 },
    });
    const interval = [
      `M${at(low)} ${middle}H${at(high)}`,
      ...[low, high].map((end) => `M${at(end)} ${middle - 2.5}v5`),
    ];
    svgElement(svg, "path", { class: "attnw-rel-halo", d: interval.join("") });
    svgElement(svg, "path", { class: "attnw-rel-whisker", d: interval.join("") });
    svgElement(svg, "path", { class: "attnw-rel-tick", d: `M${at(baseline)} 0V${height}` });
  }

  function addRow(row: Row): HTMLButtonElement {
    const tr = element(body, "tr");
    const head = element(tr, "th", { scope: "row" });
    const button = element(head, "button", { type: "button", class: "attnw-rel-name" });
    button.textContent = row.relation;
    element(tr, "td", {}, row.n.toLocaleString("en"));
    const best = element(tr, "td");
    element(best, "span", { class: "attnw-rel-chip", title: paperName(row.head) }).textContent =
      headName(row.head);
    const way = element(tr, "td", { class: "attnw-rel-way" });
    const [from, to] = row.direction === DIRECTIONS[0] ? ["dep", "gov"] : ["gov", "dep"];
    const arrow = element(way, "span", { "aria-hidden": "true", title: row.direction });
    element(arrow, "span", { class: "attnw-rel-from" }, `${from} `);
    arrow.append(`→ ${to}`);
    element(way, "span", { class: "attnw-unseen" }, row.direction);
    const accuracy = element(tr, "td", { class: "attnw-rel-accuracy" });
    bar(accuracy, row);
    element(accuracy, "b", {}, percent(row.accuracy, row.n));
    element(accuracy, "span", { class: "attnw-unseen" }, ", interval ");
    const interval = `${percent(row.low, row.n)}–${percent(row.high, row.n)}`;
    element(accuracy, "span", { class: "attnw-rel-muted attnw-rel-interval" }, interval);
    const baseline = element(tr, "td", {}, `${percent(row.baseline, row.n)} `);
    element(baseline, "span", { class: "attnw-unseen" }, "offset ");
    element(baseline, "span", { class: "attnw-rel-muted attnw-rel-offset" }, signed(row.offset));
    const gain = element(tr, "td", {}, percent(row.gain, row.n));
    const star = row.p <= LEVEL;
    element(gain, "span", { "aria-hidden": "true", class: "attnw-rel-star" }, star ? "*" : "");
    element(gain, "span", { class: "attnw-unseen" }, star ? " significant" : "");
    tr.addEventListener("click", () => choose(row, button), { signal });
    return button;
  }

  function choose(row: Row, button: HTMLButtonElement): void {
    rove(row.relation);
    if (box.ownerDocument.getSelection()?.type !== "Range") button.focus({ preventScroll: true });
    actions.choose(row);
  }

  function rove(relation: string): void {
    current = rows.some((row) => row.relation === relation) ? relation : (rows[0]?.relation ?? "");
    for (const [i, button] of buttons.entries())
      button.tabIndex = rows[i]?.relation === current ? 0 : -1;
  }

  body.addEventListener(
    "keydown",
    (event) => {
      const from = rows.findIndex(({ relation }) => relation === current);
      const target = { ArrowUp: from - 1, ArrowDown: from + 1, Home: 0, End: rows.length - 1 }[
        event.key
      ];
      if (target === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      const index = Math.max(0, Math.min(rows.length - 1, target));
      rove(rows[index]?.relation ?? "");
      buttons[index]?.focus();
    },
    { signal },
  );

  return {
    caption,
    /** Show these rows; `chosen` is the relation shown beside the table. */
    update(all: Row[], shown: Row[], state: TableState, chosen: string): void {
      for (const { column, cell, arrow } of headings) {
        const isOrder = column === state.sort;
        if (isOrder) cell.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
        else cell.removeAttribute("aria-sort");
        arrow.textContent = !isOrder ? "" : state.descending ? "▼" : "▲";
      }
      const text = `${shown.length} of ${all.length} rows`;
      if (caption.textContent !== text) caption.textContent = text;
      const key = JSON.stringify(shown);
      if (key !== listed) {
        const held = body.contains(box.ownerDocument.activeElement);
        body.replaceChildren();
        rows = shown;
        buttons = shown.map(addRow);
        rove(current || chosen);
        if (held) buttons[rows.findIndex(({ relation }) => relation === current)]?.focus();
      }
      listed = key;
      nothing.hidden = shown.length > 0;
      for (const [i, button] of buttons.entries()) {
        const isChosen = rows[i]?.relation === chosen;
        button.setAttribute("aria-pressed", String(isChosen));
        button.closest("tr")?.classList.toggle("attnw-rel-chosen", isChosen);
        button.title = rows[i] ? rowText(rows[i]) : "";
      }
    },
    /** Bring the chosen row into sight, and Tab to it. */
    reveal(relation: string): void {
      rove(relation);
      const row = buttons[rows.findIndex((other) => other.relation === relation)]?.closest("tr");
      if (!row) return;
      const [top, bottom] = [row.offsetTop - line.offsetHeight, row.offsetTop + row.offsetHeight];
      if (top < box.scrollTop) box.scrollTop = top;
      else if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight;
    },
  };
}
