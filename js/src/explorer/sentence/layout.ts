import { labelFont, type Ruler } from "../../shared/labels.js";
import { shownText, type Word } from "./words.js";

/** Where a word stands, in pixels. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** How large the sentence is written, and whether arcs have room over it. */
export interface SentenceSize {
  font: number;
  lines: number;
  hasArcs: boolean;
  /** Free height over the first line. */
  head: number;
  /** From line to line, as a multiple of the font size. */
  leading: number;
}

const LARGE = 20;
/** Sizes that a sentence takes if it has a line less in them, so that no word is left alone. */
const FITTING = [19, 18];
const MIDDLE = 17;
const SMALL = 14;
/** Of a page as narrow as a phone. */
const PHONE = 18;
const NARROW = 500;
/** Below this width arcs would cover the words. */
const LEAST_ARCS = 560;
/** The height of a word as a multiple of its font size, and of the number below it in pixels. */
const WORD_HEIGHT = 1.35;
export const NUMBER_HEIGHT = 12;
/** Of words that are drawn with arcs, at most. */
const MOST_LINES = 3;
export const CHIP_SIZE = 11;
/** Round the name of a special token. */
const CHIP_ROOM = 16;

/** Between the role of a message and the first word of its line. */
export const ROLE_ROOM = 8;

/** Room of a word and of the role before it, in pixels. */
export function roomOf(font: number, family: string, ruler: Ruler) {
  const measure = ruler(labelFont(family, false, font));
  const small = ruler(labelFont(family, false, CHIP_SIZE));
  return {
    space: measure(" "),
    word: (word: Word) =>
      word.kind === "chip" ? small(word.text) + CHIP_ROOM : measure(shownText(word)) + 2,
    role: ({ role }: Word) => (role ? small(role) + ROLE_ROOM : 0),
  };
}

/** The width of a text of words in a line, in pixels. */
function widthOf(words: readonly Word[], font: number, family: string, ruler: Ruler): number {
  const room = roomOf(font, family, ruler);
  return words.reduce((sum, word) => {
    const gap = word.before === "" || word.kind === "chip" ? 0 : room.space;
    return sum + gap + room.role(word) + room.word(word);
  }, 0);
}

/**
 * The size of a sentence on a page of this width: large where it has up to two and a half lines,
 * and without arcs where it has more than three lines or line breaks.
 */
export function sentenceSize(
  words: readonly Word[],
  width: number,
  family: string,
  ruler: Ruler,
  isOneText = true,
): SentenceSize {
  const breaks = words.filter(({ before }) => before.includes("\n")).length;
  const count = (font: number) => widthOf(words, font, family, ruler) / width;
  let font = width < NARROW ? PHONE : LARGE;
  const linesIn = (size: number) => Math.ceil(count(size) - 0.02);
  // Letters on the page can be wider than measured, and a sentence that just fits would break.
  const fits = (size: number) => Math.ceil(count(size) + 0.02) < Math.ceil(count(LARGE) + 0.02);
  if (font === LARGE) font = FITTING.find(fits) ?? LARGE;
  // A line break takes a line: the messages of a chat, the lines of code.
  if (count(font) + breaks > 2.6) font = MIDDLE;
  if (count(font) + breaks > 4) font = SMALL;
  // A second text begins a line, and arcs between the two texts need room.
  const lines = Math.max(isOneText ? 1 : 2, linesIn(font)) + breaks;
  const hasArcs = lines <= MOST_LINES && font >= MIDDLE && width >= LEAST_ARCS && !breaks;
  return {
    font,
    lines,
    hasArcs,
    head: !hasArcs ? 8 : lines === 1 ? 46 : 30,
    leading: !hasArcs ? WORD_HEIGHT + NUMBER_HEIGHT / font : lines === 1 ? 1.5 : 2.5,
  };
}
