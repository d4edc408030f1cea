import type { Pen } from "./pen.js";
import type { Theme } from "./theme.js";

/** Space at both ends for a mark at an extreme value. */
const END = 4;
/** Opacity of one tick. Overlapping ticks add up, to at most that of `MOST` ticks. */
const OPACITY = 0.45;
const MOST = 6;

/** Return the position of a value between two others on a strip, in pixels. */
export function stripPlace(value: number, low: number, high: number, width: number): number {
  const share = high > low ? (value - low) / (high - low) : 0.5;
  return END + share * (width - 2 * END);
}

/** Draw a tick for every value. Marked values are highlighted, the last one with an arrowhead. */
export function paintStrip(
  pen: Pen,
  [width, height]: [number, number],
  theme: Theme,
  values: Float32Array,
  [low, high]: [number, number],
  marked: number[],
): void {
  const place = (index: number) => stripPlace(values[index] ?? 0, low, high, width);
  pen.fillStyle = theme.hairline;
  pen.fillRect(END, height - 1, width - 2 * END, 1);
  const places = Array.from(values, (_, i) => place(i));
  paintTicks(pen, theme, places, height);
  for (const [i, index] of marked.entries()) {
    const x = place(index);
    pen.fillStyle = theme.background;
    pen.fillRect(x - 2, 3, 4, height - 4);
    pen.fillStyle = theme.accent;
    pen.fillRect(x - 1, 3, 2, height - 3);
    if (i < marked.length - 1) continue;
    pen.beginPath();
    pen.moveTo(x - 4, 0);
    pen.lineTo(x + 4, 0);
    pen.lineTo(x, 5);
    pen.fill();
  }
}

/**
 * Draw ticks of equal opacity as one path, so that a thousand ticks are as fast and as small as
 * ten.
 */
function paintTicks(pen: Pen, theme: Theme, places: number[], height: number): void {
  const crowds = new Map<number, number>();
  for (const place of places) {
    // Round to half a pixel, so that ticks that look the same are drawn once.
    const x = Math.round(2 * place) / 2;
    crowds.set(x, (crowds.get(x) ?? 0) + 1);
  }
  pen.strokeStyle = theme.muted;
  pen.lineWidth = 1;
  for (let count = 1; count <= MOST; count++) {
    pen.globalAlpha = 1 - (1 - OPACITY) ** count;
    pen.beginPath();
    for (const [x, n] of crowds) {
      if (Math.min(n, MOST) !== count) continue;
      pen.moveTo(x, 5);
      pen.lineTo(x, height - 1);
    }
    pen.stroke();
  }
  pen.globalAlpha = 1;
}
