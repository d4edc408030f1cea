/**
 * Text of right-to-left scripts among other text. Without isolation, the arrow and the numbers
 * beside such a token change places: "A → B 0.5" would read as "B → A".
 */

/**
 * The blocks of scripts that are written from right to left: Hebrew, Arabic, Adlam, others; and the
 * mark of this direction.
 */
export const RTL =
  /[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const LETTER = /\p{L}/u;
const ISOLATE = "\u2067";
const END = "\u2069";
/** The number of a part of a character, as tokens of bytes are spelled: "ש 1/2". */
const PART = /( \d+\/\d+)\u2069$/;

/** Whether the first letter of a text belongs to a script that is written from right to left. */
export const isRtl = (text: string): boolean => RTL.test(LETTER.exec(text)?.[0] ?? "");

/** A text whose order does not depend on the text around, and changes nothing around it. */
export const isolated = (text: string): string =>
  isRtl(text) ? `${ISOLATE}${text}${END}`.replace(PART, `${END}$1`) : text;

/** The same text without the characters that isolate it, as data of a table. */
export const plain = <T>(value: T): T =>
  typeof value === "string" ? (value.replace(/[\u2066-\u2069]/g, "") as T) : value;
