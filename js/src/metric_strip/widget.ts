import { html } from "lit-html";
import { captionText } from "../shared/caption.js";
import { type Look, mount } from "../shared/mount.js";
import { painted } from "../shared/painted.js";
import { fresh } from "../shared/pen.js";
import { releasing } from "../shared/release.js";
import { captioned } from "../shared/save_menu.js";
import { snapshot } from "../shared/snapshot.js";
import type { Theme } from "../shared/theme.js";
import { paintStrip } from "../shared/tick_strip.js";
import type { RenderContext } from "../shared/types.js";
import {
  captionOf,
  HEADINGS,
  NO_SELECTION,
  type StripScene,
  type StripState,
  sceneOf,
  titleOf,
} from "./scene.js";
import { GAP, type PlacedRow, STRIP_HEIGHT, type StripLayout, stripLayout } from "./strip_table.js";

const WATCHED: (keyof StripState)[] = ["selected", "labels", "_metrics"];

function render(context: RenderContext<StripState>): void {
  const { model } = context;
  const { save } = mount(context, "strip", WATCHED, { update, view });
  let scene: StripScene | null = null;
  let layout: StripLayout | undefined;

  function update(look: Look): void {
    // Until the kernel has answered with the metrics of the head's stack, the table stays as it is.
    scene = sceneOf(snapshot(model, WATCHED)) ?? scene;
    layout = scene ? stripLayout(scene, look) : undefined;
  }

  function view({ theme }: Look): unknown {
    const isEmpty = model.get("selected").length === 0;
    const said = scene ? captionText(captionOf(scene)) : "";
    return html`<p class="attnw-strip-note" ?hidden=${!isEmpty}>${NO_SELECTION}</p>
      <div class="attnw-strip-box attnw-drawn" .style=${layout ? `width: ${layout.width}px` : ""}
        ?hidden=${isEmpty}>
        <table class="attnw-table attnw-strip-table">
          <caption aria-live="polite">${scene ? titleOf(scene) : ""}</caption>
          <colgroup>
            ${HEADINGS.map((_, i) => html`<col .style=${columnStyle(layout, i)}>`)}
          </colgroup>
          <thead><tr>${HEADINGS.map((text) => html`<th scope="col">${text}</th>`)}</tr></thead>
          <tbody>${layout?.rows.map((row, i) => rowView(row, i, theme))}</tbody>
        </table>
      </div>
      ${captioned(
        save,
        html`<p class="attnw-strip-caption" data-caption ?hidden=${isEmpty}>${said}</p>`,
      )}`;
  }

  function rowView(
    { height, lines, value, low, high, percentile }: PlacedRow,
    i: number,
    theme: Theme,
  ) {
    const size: [number, number] = [layout?.columns[2] ?? 0, STRIP_HEIGHT];
    const marked = scene?.marked ?? [];
    const paint = (canvas: HTMLCanvasElement) => {
      const pen = fresh(canvas, ...size);
      const metric = scene?.rows[i];
      if (pen && metric)
        paintStrip(pen, size, theme, metric.values, [metric.low, metric.high], marked);
    };
    // The ends of the strip are text for screen readers and for the figure.
    return html`<tr .style=${`height: ${height}px`}>
      <th scope="row">${lines.map((line, k) => (k > 0 ? html`<br>${line}` : line))}</th>
      <td>${value}</td>
      <td class="attnw-strip-plot"><div class="attnw-strip-track"
        ><canvas aria-hidden="true" ${painted(paint, layout)}></canvas></div
        ><span class="attnw-strip-ends"><span>${low}</span><span class="attnw-unseen"> to </span
        ><span>${high}</span></span></td>
      <td>${percentile}</td>
    </tr>`;
  }
}

/** The width of a column, with the gap that follows each but the last. */
const columnStyle = (layout: StripLayout | undefined, i: number) =>
  layout ? `width: ${(layout.columns[i] ?? 0) + (i < HEADINGS.length - 1 ? GAP : 0)}px` : "";

export default () => ({ initialize: releasing<StripState>("_metrics"), render });
