import { html } from "lit-html";
import { ramp } from "./colour.js";
import { paintBar } from "./colour_bar.js";
import { painted } from "./painted.js";
import type { Theme } from "./theme.js";

/** A colour bar over its three values. */
export function barView(theme: Theme, texts: readonly string[], words = ramp(theme)) {
  const paint = (canvas: HTMLCanvasElement) => {
    canvas.width = 256;
    canvas.height = 1;
    const context = canvas.getContext("2d");
    if (context) paintBar(context, words, 0, 0, 256, 1);
  };
  return html`<div class="attnw-colour-bar"
    ><canvas aria-hidden="true" ${painted(paint, words)}></canvas
    >${texts.map((text) => html`<span>${text}</span>`)}</div>`;
}
