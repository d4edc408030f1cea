import { inverse, ramp } from "./colour.js";
import { element } from "./dom.js";
import { digits } from "./numbers.js";
import { type Pen, paintRaster } from "./pen.js";
import type { Theme } from "./theme.js";
import type { Scale } from "./types.js";

/** The values at the start, the middle and the end of a colour bar. */
export function barTexts(
  scale: Scale,
  maximum: number,
  print: (x: number) => string = digits,
): [string, string, string] {
  const at = inverse(scale);
  // One digit tells an order of magnitude; three would run into the next label.
  const low = scale === "log" ? `≤${Number((at(0) * maximum).toPrecision(1))}` : "0";
  return [low, print(at(0.5) * maximum), print(maximum)];
}

/** A scale, left to right. */
export function paintBar(
  pen: Pen,
  words: Uint32Array,
  ...box: [number, number, number, number]
): void {
  paintRaster(pen, { across: 256, down: 1, words }, ...box);
}

/** A colour bar over its three values; returns how to bring it up to date. */
export function colourBar(parent: HTMLElement) {
  const bar = element(parent, "div", { class: "attnw-colour-bar" });
  const strip = element(bar, "canvas", { "aria-hidden": "true" });
  const ends = [element(bar, "span"), element(bar, "span"), element(bar, "span")];
  let drawn: Uint32Array | undefined;
  return (theme: Theme, texts: string[], words = ramp(theme)): void => {
    for (const [i, node] of ends.entries())
      if (node.textContent !== texts[i]) node.textContent = texts[i] ?? "";
    if (drawn === words) return;
    drawn = words;
    strip.width = 256;
    strip.height = 1;
    const context = strip.getContext("2d");
    if (context) paintBar(context, words, 0, 0, 256, 1);
  };
}
