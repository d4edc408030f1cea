import { html } from "lit-html";
import { ramp } from "./color.js";
import { paintBar, strip } from "./color_bar.js";
import { painted } from "./painted.js";
import type { Raster } from "./pen.js";
import type { Theme } from "./theme.js";

/** Return a color or thickness bar with its three values. */
export function barView(theme: Theme, texts: readonly string[], bar: Raster = strip(ramp(theme))) {
  const paint = (canvas: HTMLCanvasElement) => {
    canvas.width = bar.across;
    canvas.height = bar.down;
    const context = canvas.getContext("2d");
    if (context) paintBar(context, bar, 0, 0, bar.across, bar.down);
  };
  return html`<div class="attnw-color-bar"
    ><canvas aria-hidden="true" ${painted(paint, bar)}></canvas
    >${texts.map((text) => html`<span>${text}</span>`)}</div>`;
}
