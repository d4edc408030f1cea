import { labelFont, type Ruler } from "../../shared/labels.js";
import { shownText, type Word } from "./words.js";

/** Rectangle of a word in pixels. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Size of the written sentence, and whether it has arcs. */
export interface SentenceSize {
  font: number;
  lines: number;
  hasArcs: boolean;
  /** Free height above the first line. */
  head: number;
  /** Line height as a multiple of the font size. */
  leading: number;
}

const LARGE = 20;
/** Font sizes to try if they save a line, so that no word is alone on the last line. */
const FITTING = [19, 18];
const MIDDLE = 17;
const SMALL = 14;
/** Font size on a page as narrow as a phone. */
const PHONE = 18;
const NARROW = 500;
/** Width below which arcs would cover the words. */
const LEAST_ARCS = 560;
/** Height of a word as a multiple of its font size, and of the number below it in pixels. */
const WORD_HEIGHT = 1.35;
export const NUMBER_HEIGHT = 12;
/** Largest number of lines with arcs. */
const MOST_LINES = 3;
export const CHIP_SIZE = 11;
/** Padding around the name of a special token. */
const CHIP_ROOM = 16;

/** Space between the role of a message and its first word. */
export const ROLE_ROOM = 8;

/** Return functions for the width of a word and of the role before it, in pixels. */
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

/** Return the width of words in one line, in pixels. */
function widthOf(words: readonly Word[], font: number, family: string, ruler: Ruler): number {
  const room = roomOf(font, family, ruler);
  return words.reduce((sum, word) => {
    const gap = word.before === "" || word.kind === "chip" ? 0 : room.space;
    return sum + gap + room.role(word) + room.word(word);
  }, 0);
}

/**
 * Return the size of a sentence on a page of this width. It is large up to two and a half lines,
 * and without arcs above three lines or with line breaks.
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
  // Letters on the page can be wider than measured, so leave a margin: a sentence that just fits
  // could wrap.
  const fits = (size: number) => Math.ceil(count(size) + 0.02) < Math.ceil(count(LARGE) + 0.02);
  if (font === LARGE) font = FITTING.find(fits) ?? LARGE;
  // Each line break (of chat messages or code) takes a line.
  if (count(font) + breaks > 2.6) font = MIDDLE;
  if (count(font) + breaks > 4) font = SMALL;
  // A second text starts a new line, and arcs between the two texts need space.
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
