import { bounded, MOST_DRAWN } from "./bounded.js";

/**
 * Character widths in thousandths of the font size, from space to tilde, as in Helvetica's metrics,
 * which Liberation Sans and Arial share. An engine without a page cannot measure text.
 */
const REGULAR = [
  278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
  556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
  611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
  667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
  222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];
const BOLD = [
  278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
  556, 556, 556, 556, 556, 556, 556, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667,
  611, 778, 722, 278, 556, 722, 611, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
  667, 611, 333, 278, 333, 584, 556, 333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556,
  278, 889, 611, 611, 611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584,
];
const OTHERS: Record<string, number> = {
  "‘": 222,
  "’": 222,
  "‚": 222,
  "“": 333,
  "”": 333,
  "„": 333,
  "—": 1000,
  "…": 1000,
  "·": 278,
  "→": 1000,
  "×": 584,
  "−": 584,
  "–": 556,
  "≤": 549,
  "≥": 549,
  "±": 549,
};
/** Quotation marks in bold type, which are wider. */
const BOLD_QUOTES: Record<string, number> = {
  "‘": 278,
  "’": 278,
  "‚": 278,
  "“": 500,
  "”": 500,
  "„": 500,
};
/** Widths from alef to tav in Liberation Sans. */
const HEBREW = [
  628, 598, 423, 554, 634, 260, 323, 658, 653, 260, 534, 525, 530, 678, 687, 260, 389, 656, 582,
  623, 610, 504, 545, 590, 534, 730, 691,
];
const ALEF = 0x5d0;
const UNKNOWN = 600;
const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cc}\p{Cf}]/u;
const WIDE =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\uff01-\uff60\u3000-\u303f\p{Emoji_Presentation}]/u;

function letter(sign: string, table: number[]): number {
  const code = sign.codePointAt(0) ?? 0;
  const quote = table === BOLD ? BOLD_QUOTES[sign] : undefined;
  const known = table[code - 32] ?? quote ?? OTHERS[sign] ?? HEBREW[code - ALEF];
  if (known !== undefined) return known;
  if (NO_WIDTH.test(sign)) return 0;
  if (WIDE.test(sign)) return 1000;
  // Use the letter under an accent, or a normal space for a no-break space.
  return table[(sign.normalize("NFKD").codePointAt(0) ?? 0) - 32] ?? UNKNOWN;
}

/**
 * Return the width of a text in Liberation Sans or Arial, in pixels. Widths of other scripts are
 * estimates.
 */
export function textWidth(text: string, size: number, bold = false): number {
  const table = bold ? BOLD : REGULAR;
  let thousandths = 0;
  // A longer text is cut anyway, so extrapolate its width.
  const measured = text.slice(0, MOST_DRAWN);
  for (const sign of measured) thousandths += letter(sign, table);
  return (thousandths * size * (text.length / (measured.length || 1))) / 1000;
}

/** Return the size and weight of a canvas font such as "600 12px Arial". */
export function parseFont(font: string): { size: number; bold: boolean } {
  const size = /([\d.]+)px/.exec(font)?.[1];
  return { size: size ? Number(size) : 10, bold: /^(bold|[6-9]00)\b/.test(font) };
}

/** Largest number of characters wrapped in one paragraph: a caption has several bounded parts. */
const MOST_WRAPPED = 8 * MOST_DRAWN;

/**
 * Wrap text to lines of at most `room` pixels. Lines break at spaces, and inside words that are too
 * long. Longer text than a figure draws is cut.
 */
export function wrapped(text: string, room: number, measure: (text: string) => number): string[] {
  const lines: string[] = [];
  const add = (word: string) => {
    let part = "";
    for (const sign of word) {
      if (part && measure(part + sign) > room) {
        lines.push(part);
        part = "";
      }
      part += sign;
    }
    lines.push(part);
  };
  // A middle dot between two parts ends a line and never begins one. The name of a head is one
  // word.
  for (const word of bounded(text, MOST_WRAPPED).match(
    /(?:\S*\bL\d+ H\d+\S*|[\S\u00a0]+)(?: ·(?= |$))?/g,
  ) ?? []) {
    const last = lines.at(-1);
    if (last !== undefined && measure(`${last} ${word}`) <= room)
      lines[lines.length - 1] = `${last} ${word}`;
    else if (measure(word) <= room) lines.push(word);
    else add(word);
  }
  return lines;
}
