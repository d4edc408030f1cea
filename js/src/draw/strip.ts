import type { Theme } from "../model/theme.js";
import { fresh } from "./scene.js";

/** Room at both ends for a mark at an extreme. */
const END = 4;

/** Where a value lies between two others on a strip of `width`, in pixels. */
export function stripPlace(value: number, low: number, high: number, width: number): number {
  const share = high > low ? (value - low) / (high - low) : 0.5;
  return END + share * (width - 2 * END);
}

/** A tick for every value; the marked ones stand out, the last of them with an arrow head. */
export function drawStrip(
  canvas: HTMLCanvasElement,
  [width, height]: [number, number],
  theme: Theme,
  values: Float32Array,
  [low, high]: [number, number],
  marked: number[],
): void {
  const context = fresh(canvas, width, height);
  if (!context) return;
  const place = (index: number) => stripPlace(values[index] ?? 0, low, high, width);
  context.fillStyle = theme.hairline;
  context.fillRect(END, height - 1, width - 2 * END, 1);
  context.fillStyle = theme.muted;
  // Where heads crowd, their ticks add up.
  context.globalAlpha = 0.45;
  for (let i = 0; i < values.length; i++) context.fillRect(place(i) - 0.5, 5, 1, height - 6);
  context.globalAlpha = 1;
  for (const [i, index] of marked.entries()) {
    const x = place(index);
    context.fillStyle = theme.background;
    context.fillRect(x - 2, 3, 4, height - 4);
    context.fillStyle = theme.accent;
    context.fillRect(x - 1, 3, 2, height - 3);
    if (i < marked.length - 1) continue;
    context.beginPath();
    context.moveTo(x - 4, 0);
    context.lineTo(x + 4, 0);
    context.lineTo(x, 5);
    context.fill();
  }
}

/** The share of the other values that are smaller than one of them, ties by half, in per cent. */
export function percentile(values: Float32Array, index: number): number {
  const own = values[index] ?? 0;
  let below = 0;
  for (const [i, value] of values.entries())
    if (i !== index) below += value < own ? 1 : value === own ? 0.5 : 0;
  return (100 * below) / (values.length - 1);
}
