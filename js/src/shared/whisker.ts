import type { Pen } from "./pen.js";
import type { Theme } from "./theme.js";

/**
 * Draw an interval as a line with ends over a bar. A halo separates the line from the bar's end.
 */
export function paintWhisker(
  pen: Pen,
  theme: Theme,
  [low, high]: [low: number, high: number],
  middle: number,
): void {
  pen.beginPath();
  pen.moveTo(low, middle);
  pen.lineTo(high, middle);
  for (const end of [low, high]) {
    pen.moveTo(end, middle - 2.5);
    pen.lineTo(end, middle + 2.5);
  }
  for (const [color, width] of [
    [theme.background, 3],
    [theme.text, 1],
  ] as const) {
    pen.strokeStyle = color;
    pen.lineWidth = width;
    pen.stroke();
  }
}
