import { html, nothing } from "lit-html";
import { createRef, ref } from "lit-html/directives/ref.js";
import { repeat } from "lit-html/directives/repeat.js";
import type { Head } from "../shared/types.js";
import { MEANINGS, NOTHING, rowsText } from "./card_text.js";
import type { AtlasLayout } from "./layout.js";
import { anchorOf, printed, type Row } from "./rows.js";
import { type AtlasState, COLUMNS, type Column } from "./state.js";

/** Pixels of a bar of strength 1. */
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
 * The table of heads: each heading's button is a tab stop, and all rows together are a tab stop.
 */
export function headList(actions: Actions) {
  const box = createRef<HTMLElement>();
  const heading = createRef<HTMLElement>();
  const body = createRef<HTMLElement>();
  let rows: Row[] = [];
  /** The anchor of the row that Tab reaches. */
  let current = "";

  const indexOf = (anchor: string) => rows.findIndex(({ head }) => anchorOf(head) === anchor);
  const lineOf = (index: number) => body.value?.querySelectorAll("tr")[index];

  function choose(row: Row, index: number): void {
    current = anchorOf(row.head);
    if (body.value?.ownerDocument.getSelection()?.type !== "Range")
      lineOf(index)?.querySelector("button")?.focus({ preventScroll: true });
    actions.choose(row.head);
    actions.redraw();
  }

  function move(event: KeyboardEvent): void {
    const from = indexOf(current);
    const last = rows.length - 1;
    const target = { ArrowUp: from - 1, ArrowDown: from + 1, Home: 0, End: last }[event.key];
    if (target === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const row = rows[Math.max(0, Math.min(last, target))];
    if (!row) return;
    current = anchorOf(row.head);
    reveal(current);
    lineOf(indexOf(current))?.querySelector("button")?.focus({ preventScroll: true });
    actions.redraw();
  }

  /** Bring the row of a head into sight. */
  function reveal(anchor: string): void {
    const line = lineOf(indexOf(anchor));
    if (!line || !box.value || !heading.value) return;
    const top = line.offsetTop - heading.value.offsetHeight;
    const bottom = line.offsetTop + line.offsetHeight;
    const { scrollTop, clientHeight } = box.value;
    if (top < scrollTop) box.value.scrollTop = top;
    else if (bottom > scrollTop + clientHeight) box.value.scrollTop = bottom - clientHeight;
  }

  function headingView(column: Column, { sort, descending }: AtlasState) {
    const isOrder = column === sort;
    const arrow = !isOrder ? "" : descending ? "▼" : "▲";
    const order = descending ? "descending" : "ascending";
    return html`<th scope="col" title=${MEANINGS[column]} aria-sort=${isOrder ? order : nothing}
      class=${NUMBERS.has(column) ? "attnw-atlas-number" : nothing}><button type="button"
      class="attnw-atlas-sort" @click=${() => actions.sort(column)}><span>${column}</span
      ><span aria-hidden="true" class="attnw-atlas-arrow">${arrow}</span></button></th>`;
  }

  function rowView(row: Row, index: number, state: AtlasState, layout: AtlasLayout) {
    const text = printed(row);
    const anchor = anchorOf(row.head);
    const last = state.selected.at(-1);
    const isChosen = last !== undefined && anchorOf(last) === anchor;
    const length = Math.max(0, Math.min(1, row.strength || 0)) * STRENGTH;
    const bar = layout.hasStrengthBars
      ? html`<span class="attnw-atlas-track"><span .style=${`width: ${length}px`}></span></span>`
      : nothing;
    const also = row.runnerUp ? `also: ${row.runnerUp}` : nothing;
    const quiet = row.name ? "" : "attnw-muted";
    return html`<tr class=${isChosen ? "attnw-atlas-chosen" : ""}
      @click=${() => choose(row, index)}><th scope="row"><button type="button"
      tabindex=${anchor === current ? 0 : -1} aria-pressed=${isChosen}>${text.head}</button></th
      ><td class=${quiet} title=${also}>${text.name}</td
      ><td class="attnw-atlas-number">${bar}<span>${text.strength}</span></td
      ><td class="attnw-atlas-number">${text["held out"]}</td
      ><td class=${row.outcome === "primary cause" ? "attnw-atlas-cause" : ""}>${text.outcome}</td
    ></tr>`;
  }

  return {
    reveal,
    view(shown: Row[], all: number, state: AtlasState, layout: AtlasLayout) {
      rows = shown;
      const last = state.selected.at(-1);
      if (indexOf(current) < 0) current = last ? anchorOf(last) : "";
      if (indexOf(current) < 0) current = rows[0] ? anchorOf(rows[0].head) : "";
      return html`<p class="attnw-atlas-count">${rowsText(rows.length, all, state)}</p>
        <div class="attnw-atlas-box" ${ref(box)}>
        <table class=${`attnw-atlas-table ${tableClass(layout)}`} aria-label="heads">
          <colgroup>${COLUMNS.map(
            (column) => html`<col class=${`attnw-atlas-${column.replace(" ", "-")}`}>`,
          )}</colgroup>
          <thead><tr ${ref(heading)}>${COLUMNS.map((column) => headingView(column, state))}</tr
          ></thead>
          <tbody @keydown=${move} ${ref(body)}>${repeat(
            rows,
            ({ head }) => anchorOf(head),
            (row, i) => rowView(row, i, state, layout),
          )}</tbody>
        </table>
        <p class="attnw-atlas-nothing" ?hidden=${rows.length > 0}>${NOTHING}</p>
      </div>`;
    },
    /** Tab reaches the row of a head. */
    reach(anchor: string): void {
      current = anchor;
    },
  };
}
