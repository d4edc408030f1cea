import { html, nothing } from "lit-html";
import { ref } from "lit-html/directives/ref.js";
import { repeat } from "lit-html/directives/repeat.js";
import { clamp } from "../shared/clamp.js";
import { tableRows } from "../shared/table_rows.js";
import type { Head } from "../shared/types.js";
import { headingOf, MEANINGS, NOTHING, rowsText } from "./card_text.js";
import type { AtlasLayout } from "./layout.js";
import { anchorOf, printed, type Row } from "./rows.js";
import { type AtlasState, COLUMNS, type Column } from "./state.js";

/** Length in pixels of a bar of strength 1. */
const STRENGTH = 28;
const NUMBERS: ReadonlySet<Column> = new Set(["strength", "held out"]);

const tableClass = ({ hasStrengthBars, hasShortLines }: AtlasLayout) =>
  hasStrengthBars ? "attnw-atlas-barred" : hasShortLines ? "attnw-atlas-short" : "";

interface Actions {
  choose(head: Head): void;
  sort(column: Column): void;
  redraw(): void;
}

/**
 * Return the table of heads. Each heading's button is a tab stop, and all rows together are one.
 */
export function headList(actions: Actions) {
  let rows: Row[] = [];
  const list = tableRows(() => rows.map(({ head }) => anchorOf(head)), actions.redraw);

  function choose(row: Row): void {
    list.clicked(anchorOf(row.head));
    actions.choose(row.head);
    actions.redraw();
  }

  const move = (event: KeyboardEvent) =>
    list.move(event, (button, anchor) => {
      list.reveal(anchor);
      button.focus({ preventScroll: true });
    });

  function headingView(column: Column, { sort, descending }: AtlasState) {
    const isOrder = column === sort;
    const arrow = !isOrder ? "" : descending ? "▼" : "▲";
    const order = descending ? "descending" : "ascending";
    return html`<th scope="col" title=${MEANINGS[column]} aria-sort=${isOrder ? order : nothing}
      class=${NUMBERS.has(column) ? "attnw-atlas-number" : nothing}><button type="button"
      class="attnw-atlas-sort" @click=${() => actions.sort(column)}><span>${headingOf(column)}</span
      ><span aria-hidden="true" class="attnw-atlas-arrow">${arrow}</span></button></th>`;
  }

  function rowView(row: Row, state: AtlasState, layout: AtlasLayout) {
    const text = printed(row);
    const anchor = anchorOf(row.head);
    const last = state.selected.at(-1);
    const isChosen = last !== undefined && anchorOf(last) === anchor;
    const length = clamp(row.strength || 0, 0, 1) * STRENGTH;
    const bar = layout.hasStrengthBars
      ? html`<span class="attnw-atlas-track"><span .style=${`width: ${length}px`}></span></span>`
      : nothing;
    const also = row.runnerUp ? `also: ${row.runnerUp}` : nothing;
    const quiet = row.name ? "" : "attnw-muted";
    return html`<tr class=${isChosen ? "attnw-atlas-chosen" : ""}
      @click=${() => choose(row)}><th scope="row"><button type="button"
      tabindex=${anchor === list.current() ? 0 : -1} aria-pressed=${isChosen}
      >${text.head}</button></th
      ><td class=${quiet} title=${also}>${text.name}</td
      ><td class="attnw-atlas-number">${bar}<span>${text.strength}</span></td
      ><td class="attnw-atlas-number">${text["held out"]}</td
      ><td class=${row.outcome === "primary cause" ? "attnw-atlas-cause" : ""}>${text.outcome}</td
    ></tr>`;
  }

  return {
    reach: list.reach,
    reveal: list.reveal,
    view(shown: Row[], all: number, state: AtlasState, layout: AtlasLayout) {
      rows = shown;
      const last = state.selected.at(-1);
      const first = rows[0] ? anchorOf(rows[0].head) : "";
      const chosen = last ? anchorOf(last) : "";
      if (!list.has(list.current())) list.reach(list.has(chosen) ? chosen : first);
      return html`<p class="attnw-atlas-count">${rowsText(rows.length, all, state)}</p>
        <div class="attnw-atlas-box" ${ref(list.box)}>
        <table class=${`attnw-table attnw-atlas-table ${tableClass(layout)}`} aria-label="heads">
          <colgroup>${COLUMNS.map(
            (column) => html`<col class=${`attnw-atlas-${column.replace(" ", "-")}`}>`,
          )}</colgroup>
          <thead><tr ${ref(list.headings)}>${COLUMNS.map((column) =>
            headingView(column, state),
          )}</tr></thead>
          <tbody @keydown=${move} ${ref(list.body)}>${repeat(
            rows,
            ({ head }) => anchorOf(head),
            (row) => rowView(row, state, layout),
          )}</tbody>
        </table>
        <p class="attnw-atlas-nothing" ?hidden=${rows.length > 0}>${NOTHING}</p>
      </div>`;
    },
  };
}
