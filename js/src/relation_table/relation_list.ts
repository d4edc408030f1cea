import { html, nothing } from "lit-html";
import { ref } from "lit-html/directives/ref.js";
import { repeat } from "lit-html/directives/repeat.js";
import type { Look } from "../shared/mount.js";
import { painted } from "../shared/painted.js";
import { fresh } from "../shared/pen.js";
import { tableRows } from "../shared/table_rows.js";
import { paperName } from "../shared/types.js";
import { directionOf, ROW, type TableLayout, titlesOf } from "./layout.js";
import { paintAccuracy } from "./paint.js";
import { isBelow, LEVEL, NOTHING, printed, type Row, rowText, type Scene } from "./scene.js";
import type { Column } from "./state.js";

/** Number of visible rows in a long table. Half a row shows that more rows follow. */
const IN_SIGHT = 14.5;
const MEANINGS: Record<Column, string> = {
  relation: "kind of dependency, with its subtype",
  n: "words",
  head: "the most accurate head of either direction",
  direction: "the word that the head looks at: the governor of the word, or its dependent",
  accuracy: "bar: accuracy; line: 95\u00a0% interval; tick: best fixed offset",
  other_texts: "accuracy of the same head on other texts, which did not choose it",
  baseline: "accuracy of the best fixed offset",
  gain: "percentage points above the offset; * corrected p up to 0.05",
};
/** Fields of the layout that the style sheet uses as variables. */
const LENGTHS = ["pad", "number", "interval", "offset", "frame", "chip", "size"] as const;

interface Actions {
  choose(row: Row): void;
  sort(column: Column): void;
  redraw(): void;
}

/** Return whether the table has more rows than are visible at once. */
const scrolls = (rows: number) => rows > IN_SIGHT;

/** Return the class of the cells of a column that narrow tables hide. */
const hidden = (column: Column): string => (column === "baseline" ? "attnw-rel-baseline" : "");

const classOf = (column: Column, layout: TableLayout): string =>
  [hidden(column), layout.toTheRight.has(column) ? "" : "attnw-rel-start"]
    .filter(Boolean)
    .join(" ");

/**
 * Return the table of relations. Each heading's button is a tab stop, and all rows together are
 * one. The texts are at the positions of the layout, as in a picture.
 */
export function relationList(actions: Actions) {
  let rows: Row[] = [];
  const list = tableRows(() => rows.map(({ relation }) => relation), actions.redraw);

  function choose(row: Row): void {
    list.clicked(row.relation);
    actions.choose(row);
    actions.redraw();
  }

  function headingView(column: Column, layout: TableLayout, scene: Scene) {
    const { state } = scene;
    const title = titlesOf(scene)[column];
    const isOrder = column === state.sort;
    const order = state.descending ? "descending" : "ascending";
    const text = layout.headings[column];
    const arrow = !isOrder ? "" : state.descending ? "▼" : "▲";
    return html`<th scope="col" title=${MEANINGS[column]} aria-sort=${isOrder ? order : nothing}
      class=${classOf(column, layout)}><button type="button"
      class="attnw-rel-sort" @click=${() => actions.sort(column)}
      aria-label=${text === title ? nothing : `${text} (${title})`}
      ><span>${text}</span><span aria-hidden="true" class="attnw-rel-arrow">${arrow}</span></button
      ></th>`;
  }

  function rowView(row: Row, index: number, layout: TableLayout, scene: Scene) {
    const text = printed(row);
    const called = layout.names[index] ?? "";
    const isChosen = row.relation === scene.state.relation;
    const { interval } = layout;
    const shown = interval
      ? html`<span class="attnw-rel-muted attnw-rel-interval">${text.interval}</span>`
      : nothing;
    const said = rowText(row, scene);
    const classes = [isChosen ? "attnw-rel-chosen" : "", isBelow(row) ? "attnw-rel-below" : ""];
    return html`<tr class=${classes.filter(Boolean).join(" ")} @click=${() => choose(row)}
      ><th scope="row"><button type="button" class="attnw-rel-name" title=${said}
        tabindex=${row.relation === list.current() ? 0 : -1} aria-pressed=${isChosen}
        aria-label=${called === text.relation ? nothing : text.relation}>${called}</button></th
      ><td>${text.n}</td
      ><td><span class="attnw-rel-chip" title=${`counted from 1: ${paperName(row.head)}`}
        >${text.head}</span></td
      ><td><span aria-hidden="true" title=${row.direction}
        >${directionOf(text.direction, layout)}</span
        ><span class="attnw-unseen">${row.direction}</span></td
      ><td><b>${text.accuracy}</b
        ><span class="attnw-unseen">, interval ${interval ? "" : text.interval}</span
        >${shown}</td
      >${scene.other ? html`<td>${text.other_texts}</td>` : nothing}<td
        class=${hidden("baseline")}>${text.baseline}<span class="attnw-unseen"> offset </span
        ><span class="attnw-rel-muted attnw-rel-offset">${text.offset}</span></td
      ><td>${text.gain}<span aria-hidden="true" class="attnw-rel-star">${text.star}</span
        ><span class="attnw-unseen">${row.p <= LEVEL ? " significant" : ""}</span></td
    ></tr>`;
  }

  /**
   * Return the bars of all rows in one canvas. Browsers composite each canvas separately, so a
   * canvas per row would slow down every change of the page.
   */
  function barsView({ bar, columns, top }: TableLayout, { theme, density }: Look) {
    const paint = (canvas: HTMLCanvasElement) => {
      const pen = fresh(canvas, bar, ROW * rows.length);
      if (!pen) return;
      for (const row of rows) {
        paintAccuracy(pen, theme, row, bar);
        pen.translate(0, ROW);
      }
    };
    const place = `left: ${columns.accuracy.left}px; top: ${top + ROW}px`;
    return html`<div class="attnw-rel-bars" .style=${place}
      ><canvas aria-hidden="true" ${painted(paint, theme, bar, density, ...rows)}></canvas></div>`;
  }

  return {
    /** Return the width that the scroll bar takes if there are this many rows. */
    gutter(count: number): number {
      const box = list.box.value;
      return box && scrolls(count) ? box.offsetWidth - box.clientWidth : 0;
    },
    view(scene: Scene, layout: TableLayout, look: Look) {
      rows = scene.rows;
      const { relation } = scene.state;
      if (!list.has(list.current()))
        list.reach(list.has(relation) ? relation : (rows[0]?.relation ?? ""));
      const isLong = scrolls(rows.length);
      const high = layout.top + ROW * (1 + IN_SIGHT);
      const lengths = LENGTHS.map((name) => `--attnw-rel-${name}: ${layout[name]}px`);
      const isTight = layout.shown.length < scene.columns.length;
      const last = layout.lines.length - 1;
      const tight = isTight ? " attnw-rel-tight" : "";
      return html`<div class="attnw-rel-box" ${ref(list.box)}
        .style=${isLong ? `overflow-y: scroll; max-height: ${high}px` : "overflow-y: hidden"}>
        <table class=${`attnw-table attnw-rel-table attnw-drawn${tight}`}
          .style=${[`width: ${layout.width}px`, ...lengths].join("; ")}>
          <caption>${layout.lines.map(
            (line, i) => html`<span>${i < last ? `${line} ` : line}</span>`,
          )}</caption>
          <colgroup>${scene.columns.map(
            (name) =>
              html`<col class=${hidden(name)} .style=${`width: ${layout.columns[name].whole}px`}>`,
          )}</colgroup>
          <thead><tr ${ref(list.headings)}>${scene.columns.map((column) =>
            headingView(column, layout, scene),
          )}</tr></thead>
          <tbody @keydown=${(event: KeyboardEvent) => list.move(event, (button) => button.focus())}
            ${ref(list.body)}>${repeat(
              rows,
              ({ relation }) => relation,
              (row, i) => rowView(row, i, layout, scene),
            )}</tbody>
        </table>
        ${layout.bar && rows.length ? barsView(layout, look) : nothing}
        <p class="attnw-rel-nothing" ?hidden=${rows.length > 0}>${NOTHING}</p>
      </div>`;
    },
    reach: list.reach,
    reveal: list.reveal,
  };
}
