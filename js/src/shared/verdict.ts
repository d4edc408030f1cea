import type { Pen } from "./pen.js";

export type Outcome = "right" | "wrong";

/** The mark before an outcome, which is never told by its color alone. */
export const SIGNS = { right: "✓", wrong: "×" } as const;

/** From point to point round the middle of a tick or a cross of 6 pixels. */
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

/** A tick or a cross of 6 pixels round a point: what tells outcomes apart beside their color. */
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
