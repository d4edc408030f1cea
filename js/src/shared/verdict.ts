import type { Pen } from "./pen.js";

export type Outcome = "right" | "wrong";

/** Mark before an outcome, which is never shown by color only. */
export const SIGNS = { right: "✓", wrong: "×" } as const;

/** Points of a check mark or a cross of 6 pixels, relative to its center. */
export const VERDICTS: Record<Outcome, [x: number, y: number][][]> = {
  right: [
    [
      [-4, 0],
      [-1, 3],
      [4, -3],
    ],
  ],
  wrong: [
    [
      [-3, -3],
      [3, 3],
    ],
    [
      [3, -3],
      [-3, 3],
    ],
  ],
};

/** Draw a check mark or a cross of 6 pixels, which distinguishes outcomes without color. */
export function paintVerdict(
  pen: Pen,
  theme: Record<Outcome, string>,
  outcome: Outcome,
  x: number,
  y: number,
): void {
  pen.strokeStyle = theme[outcome];
  pen.lineWidth = 1.5;
  for (const stroke of VERDICTS[outcome]) {
    pen.beginPath();
    for (const [dx, dy] of stroke) pen.lineTo(x + dx, y + dy);
    pen.stroke();
  }
}
