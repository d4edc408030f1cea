import { isolated, isRtl, plain } from "./bidi.js";
import { bounded, MOST_DRAWN } from "./bounded.js";
import type { Pen } from "./pen.js";
import { parseFont, textWidth } from "./text_width.js";
import type { Axes, Axis, Special } from "./types.js";

export const LABEL_SIZE = 12;
export const AXIS_LABEL_SIZE = 11;
/** Size of tokens and words: small, medium, or large for a projector. */
export type TokenSize = "S" | "M" | "L";
export const TOKEN_PIXELS: Record<TokenSize, number> = { S: 11, M: LABEL_SIZE, L: 17 };
const MARK = "##";

export const labelFont = (family: string, bold = false, size = LABEL_SIZE) =>
  `${bold ? "600 " : ""}${size}px ${family}`;

/** Write text in one color, aligned at `x`. */
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
 * Return a token as figures print it: blank tokens by their name in the vocabulary. A token of a
 * right-to-left script is isolated, so that sentences and numbers around it keep their order.
 */
export const labelOf = (axis: Axis, index: number): string => isolated(spelledOf(axis, index));

/** Return a token as figures print it, without isolation. */
export function spelledOf(axis: Axis, index: number): string {
  const text = bounded(axis.text[index] ?? "");
  const shown = withControlPictures(text.trim() === "" ? bounded(axis.raw[index] ?? "") : text);
  return shown.trim() === "" ? "␣" : shown;
}

/** Return the name of a kind of special token as the model spells it: "[CLS]", "<s>". */
export function specialName(axes: Axes, kind: Special): string | undefined {
  for (const axis of [axes.query, axes.key]) {
    const index = axis?.special.indexOf(kind) ?? -1;
    if (index >= 0) return kind === "first" ? "first token" : labelOf(axis, index);
  }
  return undefined;
}

/**
 * Return a word in quotes. The quotes belong to the sentence and keep its direction around a
 * right-to-left word.
 */
export const inQuotes = (text: string): string => `“${isolated(text)}”`;

/** Return a token in quotes, so that it is not read as a word of the sentence around it. */
export const tokenInQuotes = (axis: Axis, index: number): string =>
  inQuotes(spelledOf(axis, index));

/**
 * Return a label for a line of labels. Punctuation is put in quotes to set it apart from the
 * punctuation of the line.
 */
export const quoted = (label: string): string =>
  /[\p{L}\p{N}]/u.test(label) ? label : inQuotes(label);

/** Replace control characters, which have no glyph, with their Unicode control pictures. */
export const withControlPictures = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  text.replace(/[\u0000-\u001f\u007f]/g, (sign) =>
    String.fromCharCode(sign === "\u007f" ? 0x2421 : 0x2400 + sign.charCodeAt(0)),
  );

export type Measure = (text: string) => number;
/** Function from a font ("600 12px Arial", as a canvas names it) to text widths. */
export type Ruler = (font: string) => Measure;

/** Text widths from a table, for pictures and for pages without a canvas. */
export const tableRuler: Ruler = (font) => {
  const { size, bold } = parseFont(font);
  return (text) => textWidth(text, size, bold);
};

const widths = new Map<string, number>();

/** Return text widths as this page draws them. */
export function pageRuler(document: Document): Ruler {
  const context = document.createElement("canvas").getContext("2d");
  if (!context) return tableRuler;
  // Without kerning, as in the table of pictures; kerned text is slightly narrower.
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

/** Return `text`, cut with an ellipsis if it is too wide. */
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
 * Draw a token from `x` on (or up to it), with its wordpiece mark at half strength. The mark is
 * where reading begins: on the right of a right-to-left text.
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
    // In pictures the width of the rest is an estimate, so align the exact end.
    pen.textAlign = "right";
    pen.fillText(rest, x - measure(mark), y);
    return;
  }
  pen.fillText(rest, marksEnd ? start : start + measure(mark), y);
}
