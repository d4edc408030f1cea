/**
 * Isolation of right-to-left text. Without isolation, the arrow and the numbers next to such a
 * token swap sides: "A → B 0.5" would read as "B → A".
 */

/**
 * Blocks of right-to-left scripts (Hebrew, Arabic, Adlam and others), and the right-to-left mark.
 */
export const RTL =
  /[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const LETTER = /\p{L}/u;
const ISOLATE = "\u2067";
const END = "\u2069";
/** Number of a part of a character, as byte tokens are printed: "ש 1/2". */
const PART = /( \d+\/\d+)\u2069$/;

/** Return whether the first letter of a text belongs to a right-to-left script. */
export const isRtl = (text: string): boolean => RTL.test(LETTER.exec(text)?.[0] ?? "");

/**
 * Return the text with isolation, so that it and its surroundings do not affect each other's order.
 */
export const isolated = (text: string): string =>
  isRtl(text) ? `${ISOLATE}${text}${END}`.replace(PART, `${END}$1`) : text;

/** Return the text without isolation characters, for use as table data. */
export const plain = <T>(value: T): T =>
  typeof value === "string" ? (value.replace(/[\u2066-\u2069]/g, "") as T) : value;
