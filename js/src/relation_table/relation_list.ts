import { element, listening } from "../shared/dom.js";
import { fresh } from "../shared/pen.js";
import { COLUMNS, type Column } from "../shared/relation_types.js";
import type { Theme } from "../shared/theme.js";
import { paperName } from "../shared/types.js";
import { directionOf, ROW, type TableLayout, TITLES } from "./layout.js";
import { INNER, paintAccuracy } from "./paint.js";
import { LEVEL, NOTHING, printed, type Row, rowText, type Scene } from "./scene.js";

/** Long tables scroll; a part of the next row shows that more rows follow. */
const IN_SIGHT = 14.5;
const MEANINGS: Record<Column, string> = {
  relation: "kind of dependency, with its subtype",
  n: "words",
  head: "the most accurate head of either direction",
  direction: "who attends to whom",
  accuracy: "bar: accuracy; line: 95 % interval; tick: best fixed offset",
  baseline: "accuracy of the best fixed offset",
  gain: "percentage points above the offset; * corrected p up to 0.05",
};

interface Listed {
  row: Row;
  line: HTMLElement;
  button: HTMLButtonElement;
  bar: HTMLCanvasElement | undefined;
}

/**
 * The table of relations: each heading's button is a tab stop, and all rows together are a tab
 * stop. Its texts stand where the layout says, as in a picture.
 */
export function relationList(
  parent: HTMLElement,
  signal: AbortSignal,
  actions: { choose(row: Row): void; sort(column: Column): void },
) {
  const on = listening(signal);
  const box = element(parent, "div", { class: "attnw-rel-box" });
  const table = element(box, "table", { class: "attnw-rel-table attnw-drawn" });
  const caption = element(table, "caption");
  const group = element(table, "colgroup");
  const cols = COLUMNS.map(() => element(group, "col"));
  const line = element(element(table, "thead"), "tr");
  const headings = COLUMNS.map((column) => {
    const cell = element(line, "th", { scope: "col", title: MEANINGS[column] });
    const button = element(cell, "button", { type: "button", class: "attnw-rel-sort" });
    const text = element(button, "span");
    const arrow = element(button, "span", { "aria-hidden": "true", class: "attnw-rel-arrow" });
    on(button, "click", () => actions.sort(column));
    return { column, cell, button, text, arrow };
  });
  const body = element(table, "tbody");
  const nothing = element(box, "p", { class: "attnw-rel-nothing", hidden: true }, NOTHING);

  let written = "";
  let drawn: unknown[] = [];
  let painted: unknown[] = [];
  let listed: Listed[] = [];
  /** The relation of the row that Tab reaches. */
  let current = "";

  const find = (relation: string) => listed.find(({ row }) => row.relation === relation);

  function addRow(row: Row, called: string, layout: TableLayout): Listed {
    const text = printed(row);
    const tr = element(body, "tr");
    const span = (cell: HTMLElement, name: string, said: string) =>
      element(cell, "span", { class: name }, said);
    const name = { type: "button", class: "attnw-rel-name", title: rowText(row) };
    const button = element(element(tr, "th", { scope: "row" }), "button", name, called);
    if (called !== text.relation) button.setAttribute("aria-label", text.relation);
    element(tr, "td", {}, text.n);
    const head = { class: "attnw-rel-chip", title: paperName(row.head) };
    element(element(tr, "td"), "span", head, text.head);
    const way = element(tr, "td");
    const shown = { "aria-hidden": "true", title: row.direction };
    element(way, "span", shown, directionOf(text.direction, layout));
    span(way, "attnw-unseen", row.direction);
    const accuracy = element(tr, "td");
    const bar = layout.bar ? element(accuracy, "canvas", { "aria-hidden": "true" }) : undefined;
    element(accuracy, "b", {}, text.accuracy);
    span(accuracy, "attnw-unseen", `, interval ${layout.interval ? "" : text.interval}`);
    if (layout.interval) span(accuracy, "attnw-rel-muted attnw-rel-interval", text.interval);
    const baseline = element(tr, "td", {}, text.baseline);
    span(baseline, "attnw-unseen", " offset ");
    span(baseline, "attnw-rel-muted attnw-rel-offset", text.offset);
    const gain = element(tr, "td", {}, text.gain);
    element(gain, "span", { "aria-hidden": "true", class: "attnw-rel-star" }, text.star);
    span(gain, "attnw-unseen", row.p <= LEVEL ? " significant" : "");
    const made = { row, line: tr, button, bar };
    on(tr, "click", () => choose(made));
    return made;
  }

  function choose({ row, button }: Listed): void {
    rove(row.relation);
    if (box.ownerDocument.getSelection()?.type !== "Range") button.focus({ preventScroll: true });
    actions.choose(row);
  }

  function rove(relation: string): void {
    current = (find(relation) ?? listed[0])?.row.relation ?? "";
    for (const { row, button } of listed) button.tabIndex = row.relation === current ? 0 : -1;
  }

  on(body, "keydown", (event) => {
    const from = listed.findIndex(({ row }) => row.relation === current);
    const last = listed.length - 1;
    const target = { ArrowUp: from - 1, ArrowDown: from + 1, Home: 0, End: last }[event.key];
    if (target === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const next = listed[Math.max(0, Math.min(last, target))];
    rove(next?.row.relation ?? "");
    next?.button.focus();
  });

  function arrange(layout: TableLayout): void {
    const text = layout.lines.join("\n");
    if (text !== written) {
      written = text;
      caption.replaceChildren();
      for (const [i, said] of layout.lines.entries())
        element(caption, "span", {}, i < layout.lines.length - 1 ? `${said} ` : said);
    }
    for (const [i, name] of COLUMNS.entries())
      cols[i]?.style.setProperty("width", `${layout.columns[name].whole}px`);
    table.style.width = `${layout.width}px`;
    table.classList.toggle("attnw-rel-tight", layout.shown.length < COLUMNS.length);
    for (const name of ["pad", "number", "interval", "offset", "frame", "chip", "size"] as const)
      table.style.setProperty(`--attnw-rel-${name}`, `${layout[name]}px`);
  }

  function head(layout: TableLayout, { state }: Scene): void {
    for (const { column, cell, button, text, arrow } of headings) {
      const isOrder = column === state.sort;
      if (isOrder) cell.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
      text.textContent = layout.headings[column];
      if (text.textContent === TITLES[column]) button.removeAttribute("aria-label");
      else button.setAttribute("aria-label", `${text.textContent} (${TITLES[column]})`);
      arrow.textContent = !isOrder ? "" : state.descending ? "▼" : "▲";
      cell.classList.toggle("attnw-rel-start", !layout.toTheRight.has(column));
    }
  }

  /** Whether there are more rows than are in sight at once. */
  const scrolls = (rows: number) => rows > IN_SIGHT;

  return {
    /** What the scroll bar takes of the room for so many rows. */
    gutter(rows: number): number {
      box.style.overflowY = scrolls(rows) ? "scroll" : "hidden";
      return scrolls(rows) ? box.offsetWidth - box.clientWidth : 0;
    },
    update(scene: Scene, layout: TableLayout, theme: Theme): void {
      arrange(layout);
      head(layout, scene);
      const high = layout.top + ROW * (1 + IN_SIGHT);
      box.style.maxHeight = scrolls(scene.rows.length) ? `${high}px` : "";
      const { bar, interval, short, names } = layout;
      const key = [JSON.stringify([scene.rows, names]), bar > 0, interval > 0, short];
      if (key.some((value, i) => value !== drawn[i])) {
        const held = body.contains(box.ownerDocument.activeElement);
        body.replaceChildren();
        listed = scene.rows.map((row, i) => addRow(row, layout.names[i] ?? "", layout));
        rove(current || scene.state.relation);
        if (held) find(current)?.button.focus();
        drawn = key;
        painted = [];
      }
      const looks = [theme, bar, globalThis.devicePixelRatio];
      if (looks.some((value, i) => value !== painted[i]))
        for (const { bar: canvas, row } of listed) {
          const context = canvas && fresh(canvas, bar, INNER);
          if (context) paintAccuracy(context, theme, row, bar);
        }
      painted = looks;
      nothing.hidden = scene.rows.length > 0;
      for (const { row, line: tr, button } of listed) {
        const isChosen = row.relation === scene.state.relation;
        button.setAttribute("aria-pressed", String(isChosen));
        tr.classList.toggle("attnw-rel-chosen", isChosen);
      }
    },
    /** Bring the chosen row into sight, and Tab to it. */
    reveal(relation: string): void {
      rove(relation);
      const row = find(relation)?.line;
      if (!row) return;
      const top = row.offsetTop - line.offsetHeight;
      const bottom = row.offsetTop + row.offsetHeight;
      if (top < box.scrollTop) box.scrollTop = top;
      else if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight;
    },
  };
}
