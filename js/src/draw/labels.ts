import type { Axis } from "../model/types.js";

export const LABEL_SIZE = 12;
export const AXIS_LABEL_SIZE = 11;
const MARK = "##";

export const labelFont = (family: string, bold = false, size = LABEL_SIZE) =>
  `${bold ? "600 " : ""}${size}px ${family}`;

/** A token as a figure prints it: a token of blanks by what the vocabulary calls it. */
export function labelOf(axis: Axis, index: number): string {
  const text = axis.text[index] ?? "";
  return text.trim() === "" ? axis.raw[index] || "␣" : text;
}

export type Measure = (text: string) => number;

const widths = new Map<string, number>();

/** Widths of texts in the context's font; without a context a fair guess. */
function measurer(context: CanvasRenderingContext2D | null): Measure {
  if (!context) return (text) => text.length * LABEL_SIZE * 0.6;
  const { font } = context;
  return (text) => {
    const known = widths.get(`${font}|${text}`);
    if (known !== undefined) return known;
    if (widths.size > 20_000) widths.clear();
    const width = context.measureText(text).width;
    widths.set(`${font}|${text}`, width);
    return width;
  };
}

/** Widths of texts on a canvas in a font. */
export function measureOn(canvas: HTMLCanvasElement, font: string): Measure {
  const context = canvas.getContext("2d");
  if (context) context.font = font;
  return measurer(context);
}

/** `text`, or as much of it as fits with an ellipsis. */
export function shorten(measure: Measure, text: string, width: number): string {
  if (measure(text) <= width) return text;
  const letters = [...text];
  let [low, high] = [0, letters.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (measure(`${letters.slice(0, middle).join("")}…`) <= width) low = middle;
    else high = middle - 1;
  }
  return `${letters.slice(0, low).join("")}…`;
}

export function widestLabel(measure: Measure, axis: Axis, shown: number[]): number {
  return shown.reduce((most, i) => Math.max(most, measure(labelOf(axis, i))), 0);
}

/** A token's text from `x` on (or up to it), its wordpiece mark at half strength. */
export function drawToken(
  context: CanvasRenderingContext2D,
  text: string,
  x: number,
  y: number,
  align: "left" | "right",
  width: number,
): void {
  const measure = measurer(context);
  const fitted = shorten(measure, text, width);
  const mark = fitted.length > MARK.length && fitted.startsWith(MARK) ? MARK : "";
  const rest = fitted.slice(mark.length);
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.direction = "ltr";
  const start = align === "left" ? x : x - measure(mark) - measure(rest);
  const alpha = context.globalAlpha;
  context.globalAlpha = alpha / 2;
  context.fillText(mark, start, y);
  context.globalAlpha = alpha;
  context.fillText(rest, start + measure(mark), y);
}
