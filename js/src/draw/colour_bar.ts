import type { Theme } from "../model/theme.js";
import type { Scale } from "../model/types.js";
import { inverse, lookup } from "./colour.js";

/** Three significant digits, never in exponents, no trailing zeros. */
export function digits(x: number): string {
  if (!(x > 0)) return "0";
  if (x < 0.0005) return "<0.0005";
  return String(Number(x.toPrecision(3)));
}

/** Fill `canvas` with the scale, left to right; returns the values at its start, middle and end. */
export function drawColourBar(
  canvas: HTMLCanvasElement,
  theme: Theme,
  scale: Scale,
  maximum: number,
  print: (x: number) => string = digits,
): [string, string, string] {
  canvas.width = 256;
  canvas.height = 1;
  const context = canvas.getContext("2d");
  if (context) {
    const image = context.createImageData(256, 1);
    new Uint32Array(image.data.buffer).set(lookup(theme.dark));
    context.putImageData(image, 0, 0);
  }
  const at = inverse(scale);
  const low = scale === "log" ? `≤${print(at(0) * maximum)}` : "0";
  return [low, print(at(0.5) * maximum), print(maximum)];
}
