import type { Pen } from "./pen.js";
import type { Theme } from "./theme.js";
import type { Method } from "./types.js";

/** Distance from a strike to the corners of its box. */
const INSET = 2;

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Draw a line through an empty box, from its lower left corner: its head is off. */
export function paintStrike(pen: Pen, theme: Theme, { x, y, width, height }: Box): void {
  pen.strokeStyle = theme.text;
  pen.lineWidth = 2;
  pen.beginPath();
  pen.moveTo(x + INSET, y + height - INSET);
  pen.lineTo(x + width - INSET, y + INSET);
  pen.stroke();
}

/** Return the note on a head that is off. `method`: Replacement method in use. */
export const offNote = (name: string, method?: Method | null) =>
  `${name} is off: ${method === "rule" ? "its rule is in its place" : "it looks nowhere"}`;
