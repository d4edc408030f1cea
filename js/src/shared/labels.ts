import { isolated, isRtl, plain } from "./bidi.js";
import { bounded, MOST_DRAWN } from "./bounded.js";
import type { Pen } from "./pen.js";
import { parseFont, textWidth } from "./text_width.js";
import type { Axes, Axis, Special } from "./types.js";

export const LABEL_SIZE = 12;
export const AXIS_LABEL_SIZE = 11;
/** How large tokens and words are: small, as usual, or for a projector. */
export type TokenSize = "S" | "M" | "L";
export const TOKEN_PIXELS: Record<TokenSize, number> = { S: 11, M: LABEL_SIZE, L: 17 };
const MARK = "##";

export const labelFont = (family: string, bold = false, size = LABEL_SIZE) =>
  `${bold ? "600 " : ""}${size}px ${family}`;

/** Text in one color, starting at `x`, ending at `x` or centered on `x`. */
export function write(
  pen: Pen,
  text: string,
  [x, y]: readonly [x: number, y: number],
  color: string,
  align: CanvasTextAlign = "left",
): void {
  pen.fillStyle = color;
  pen.textAlign = align;
  pen.fillText(text, x, y);
}

/**
 * A token as a figure prints it: a token of blanks by what the vocabulary calls it. A token of a
 * right-to-left script is isolated, so that sentences and numbers around it keep their order.
 */
export const labelOf = (axis: Axis, index: number): string => isolated(spelledOf(axis, index));

/** A token as a figure prints it, where it stands alone. */
export function spelledOf(axis: Axis, index: number): string {
  const text = bounded(axis.text[index] ?? "");
  const shown = withControlPictures(text.trim() === "" ? bounded(axis.raw[index] ?? "") : text);
  return shown.trim() === "" ? "␣" : shown;
}

/** Name of a kind of special token, spelled as the model does: "[CLS]", "<s>". */
export function specialName(axes: Axes, kind: Special): string | undefined {
  for (const axis of [axes.query, axes.key]) {
    const index = axis?.special.indexOf(kind) ?? -1;
    if (index >= 0) return kind === "first" ? "first token" : labelOf(axis, index);
  }
  return undefined;
}

/** A word in quotes, which belong to the sentence: they do not turn with a right-to-left word. */
export const inQuotes = (text: string): string => `“${isolated(text)}”`;

/** A token in quotes: a word in a sentence is otherwise read as a word of the sentence. */
export const tokenInQuotes = (axis: Axis, index: number): string =>
  inQuotes(spelledOf(axis, index));

/**
 * A label in a line of labels: punctuation stands in quotes, to separate it from the line's
 * punctuation.
 */
export const quoted = (label: string): string =>
  /[\p{L}\p{N}]/u.test(label) ? label : inQuotes(label);

/** Control characters have no shape of their own: their pictures stand for them. */
export const withControlPictures = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  text.replace(/[\u0000-\u001f\u007f]/g, (sign) =>
    String.fromCharCode(sign === "\u007f" ? 0x2421 : 0x2400 + sign.charCodeAt(0)),
  );

export type Measure = (text: string) => number;
/** Widths in a font, which is named as a canvas names it: "600 12px Arial". */
export type Ruler = (font: string) => Measure;

/** Widths from the table: what pictures are laid out with, and pages that have no canvas. */
export const tableRuler: Ruler = (font) => {
  const { size, bold } = parseFont(font);
  return (text) => textWidth(text, size, bold);
};

const widths = new Map<string, number>();

/** Widths as this page draws them. */
export function pageRuler(document: Document): Ruler {
  const context = document.createElement("canvas").getContext("2d");
  if (!context) return tableRuler;
  // As in the table of pictures: pairs that are drawn closer take a little less.
  context.fontKerning = "none";
  return (font) => (whole) => {
    const text = bounded(whole);
    const known = widths.get(`${font}|${text}`);
    if (known !== undefined) return known;
    if (widths.size > 20_000) widths.clear();
    context.font = font;
    const { width } = context.measureText(text);
    widths.set(`${font}|${text}`, width);
    return width;
  };
}

/** `text`, or as much of it as fits with an ellipsis. */
export function shorten(measure: Measure, text: string, width: number): string {
  if (text.length <= MOST_DRAWN && measure(text) <= width) return text;
  const letters = [...bounded(text)];
  let low = 0;
  let high = letters.length;
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

/**
 * A token's text from `x` on (or up to it), its wordpiece mark at half strength. The mark stands
 * where the reading of the token begins: at the right of a right-to-left text.
 */
export function drawToken(
  pen: Pen,
  text: string,
  x: number,
  y: number,
  align: "left" | "right",
  width: number,
): void {
  const measure = (part: string) => pen.measureText(part).width;
  const fitted = shorten(measure, plain(text), width);
  const mark = fitted.length > MARK.length && fitted.startsWith(MARK) ? MARK : "";
  const rest = isolated(fitted.slice(mark.length));
  const marksEnd = isRtl(rest);
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  pen.direction = "ltr";
  const start = align === "left" ? x : x - measure(mark) - measure(rest);
  const alpha = pen.globalAlpha;
  pen.globalAlpha = alpha / 2;
  const markAt = align === "right" ? x - measure(mark) : start + measure(rest);
  pen.fillText(mark, marksEnd ? markAt : start, y);
  pen.globalAlpha = alpha;
  if (marksEnd && align === "right") {
    // The width of the rest is a guess in pictures: this end is exact.
    pen.textAlign = "right";
    pen.fillText(rest, x - measure(mark), y);
    return;
  }
  pen.fillText(rest, marksEnd ? start : start + measure(mark), y);
}
