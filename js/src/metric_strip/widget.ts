import { captionText } from "../shared/caption.js";
import { element } from "../shared/dom.js";
import type { StripState } from "../shared/head_types.js";
import { type Look, mount } from "../shared/mount.js";
import { fresh } from "../shared/pen.js";
import { releasing } from "../shared/release.js";
import { snapshot } from "../shared/snapshot.js";
import { paintStrip } from "../shared/tick_strip.js";
import type { RenderContext } from "../shared/types.js";
import { captionOf, HEADINGS, NO_SELECTION, sceneOf, titleOf } from "./scene.js";
import { GAP, type PlacedRow, STRIP_HEIGHT, stripLayout } from "./strip_table.js";

const WATCHED: (keyof StripState)[] = ["selected", "_metrics"];

function render(context: RenderContext<StripState>): void {
  const { model } = context;
  const { inner } = mount(context, "strip", WATCHED, { update });
  const message = element(inner, "p", { class: "attnw-strip-note", hidden: true }, NO_SELECTION);
  const box = element(inner, "div", { class: "attnw-strip-box attnw-drawn" });
  const table = element(box, "table", { class: "attnw-strip-table" });
  const title = element(table, "caption", { "aria-live": "polite" });
  const group = element(table, "colgroup");
  const columns = HEADINGS.map(() => element(group, "col"));
  const head = element(element(table, "thead"), "tr");
  for (const text of HEADINGS) element(head, "th", { scope: "col" }, text);
  const body = element(table, "tbody");
  const note = element(inner, "p", { class: "attnw-strip-caption", "data-caption": "" });
  let rows: ReturnType<typeof tableRow>[] = [];

  function update(look: Look): void {
    const state = snapshot(model, WATCHED);
    message.hidden = state.selected.length > 0;
    box.hidden = !message.hidden;
    note.hidden = box.hidden;
    const scene = sceneOf(state);
    // Until the kernel has answered with the metrics of the head's stack, the table stays as it is.
    if (!scene) return;
    const layout = stripLayout(scene, look);
    box.style.width = `${layout.width}px`;
    for (const [i, column] of columns.entries()) {
      const gap = i < columns.length - 1 ? GAP : 0;
      column.style.width = `${(layout.columns[i] ?? 0) + gap}px`;
    }
    if (title.textContent !== titleOf(scene)) title.textContent = titleOf(scene);
    if (rows.length !== layout.rows.length) {
      body.replaceChildren();
      rows = layout.rows.map(() => tableRow(body));
    }
    for (const [i, row] of rows.entries()) {
      const placed = layout.rows[i];
      const metric = scene.rows[i];
      if (!placed || !metric) continue;
      row.fill(placed);
      const size: [number, number] = [layout.columns[2], STRIP_HEIGHT];
      const pen = fresh(row.canvas, ...size);
      const { values, low, high } = metric;
      if (pen) paintStrip(pen, size, look.theme, values, [low, high], scene.marked);
    }
    note.textContent = captionText(captionOf(scene));
  }
}

/** The elements of a row; its numbers and marks follow the selection. */
function tableRow(body: HTMLElement) {
  const line = element(body, "tr");
  const name = element(line, "th", { scope: "row" });
  const value = element(line, "td");
  const plot = element(line, "td", { class: "attnw-strip-plot" });
  const track = element(plot, "div", { class: "attnw-strip-track" });
  const canvas = element(track, "canvas", { "aria-hidden": "true" });
  // The ends of the strip, as text for screen readers and for the figure.
  const range = element(plot, "span", { class: "attnw-strip-ends" });
  const low = element(range, "span");
  element(range, "span", { class: "attnw-unseen" }, " to ");
  const high = element(range, "span");
  const share = element(line, "td");
  return {
    canvas,
    fill(row: PlacedRow): void {
      line.style.height = `${row.height}px`;
      name.replaceChildren();
      for (const [i, text] of row.lines.entries()) {
        if (i > 0) element(name, "br");
        name.append(text);
      }
      value.textContent = row.value;
      low.textContent = row.low;
      high.textContent = row.high;
      share.textContent = row.percentile;
    },
  };
}

export default () => ({ initialize: releasing<StripState>("_metrics"), render });
