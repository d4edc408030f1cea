import {
  ARC_WIDTH,
  type ArcPath,
  arcBetweenLines,
  DASH,
  opacityOf,
  paintArc,
  roundArc,
} from "../shared/arc.js";
import { RTL } from "../shared/bidi.js";
import { labelFont, type Ruler, withControlPictures } from "../shared/labels.js";
import palette from "../shared/palette.json" with { type: "json" };
import type { Pen } from "../shared/pen.js";
import { CLOSING, OPENING } from "../shared/punctuation.js";
import { wrapped } from "../shared/text_width.js";
import type { Theme } from "../shared/theme.js";
import type { Outcome } from "../shared/verdict.js";
import { paintVerdict } from "../shared/verdict.js";
import type { Mention, Scene } from "./scene.js";

/** Font sizes of words and of cluster numbers. */
const WORD_SIZE = 14;
const NUMBER_SIZE = 10;
/** Height of a word. */
const BOX = 20;
/** Distance between two lines under the words. */
const LEVEL = 4;
/** Space above the first line for an arc. */
const TOP = 16;
const BOTTOM = 4;
const BETWEEN_LINES = 8;
const SPACE = 4.5;
export const AFTER_NUMBER = 3;
/** Largest width of a line, because longer lines are hard to read. */
const MOST_WIDE = 640;
const LEAST_ASIDE = 280;
/** Space between the text and the column next to it. */
const GUTTER = 24;
/**
 * Fraction of a pixel to which browsers round box positions. Unrounded sums of widths would drift
 * apart from the page.
 */
const PARTS = 64;

/**
 * Distances from the top of a word to its baseline, and to the baseline of the number before it.
 */
const BASELINE = 15;
const RAISED = 11;
const DOTTED = [1, 2];
/** Height of an arc over a line. */
const HEIGHT = 8;
const OWN_FILL = 0.16;

const DIRECTED = /[\p{L}\u200e\u200f]/u;

/**
 * Word on its line, or a part of a word that is longer than a line. Positions are relative to the
 * start of the line.
 */
export interface Piece {
  word: number;
  text: string;
  line: number;
  /** Start of the first number, or of the text if there is no number. */
  outer: number;
  start: number;
  end: number;
  numbers: { mention: Mention; start: number; end: number }[];
  /** Whether there is a space before the piece. */
  spaced: boolean;
}

/** Layout of a passage in pixels: its words, and the level of each mention's underline. */
export interface PassageLayout {
  width: number;
  height: number;
  rightToLeft: boolean;
  pieces: Piece[];
  /** Level of each mention; 0 is nearest to the words. */
  levels: Map<number, number>;
  /** Distance from one line to the next. */
  pitch: number;
}

/** Return the width of the column next to the text; null if its content is below the text. */
export function asideOf(at: PassageLayout, room: number): number | null {
  const left = room - at.width - GUTTER;
  return left >= LEAST_ASIDE ? left : null;
}

/** Return the left edge of the range from `start` to `end` of a line. */
export const leftOf = (at: PassageLayout, start: number, end: number) =>
  at.rightToLeft ? at.width - end : start;
export const topOf = (at: PassageLayout, line: number) => TOP + line * at.pitch;
const underlineOf = (at: PassageLayout, line: number, level: number) =>
  topOf(at, line) + BOX + LEVEL * level + 2;

/**
 * Return the levels of the underlines: overlapping mentions have different levels, and nested
 * mentions are above the longer mention.
 */
export function levels(mentions: Mention[]): Map<number, number> {
  const level = new Map<number, number>();
  const lines: Set<number>[] = [];
  const shortFirst = [...mentions].sort((a, b) => a.words.length - b.words.length);
  for (const { mention, words } of shortFirst) {
    const line = 1 + lines.findLastIndex((taken) => words.some((word) => taken.has(word)));
    lines[line] = new Set([...(lines[line] ?? []), ...words]);
    level.set(mention, line);
  }
  return level;
}

/** Return whether the first letter with a direction is right-to-left. */
export function isRightToLeft(words: string[]): boolean {
  return RTL.test(DIRECTED.exec(words.join(""))?.[0] ?? "");
}

/** Return groups of words that must not be separated by a line break. */
function groups<T extends { text: string }>(words: T[]): T[][] {
  const lines: T[][] = [];
  for (const [i, word] of words.entries())
    if (i && (CLOSING.test(word.text) || OPENING.test(words[i - 1]?.text ?? "")))
      lines.at(-1)?.push(word);
    else lines.push([word]);
  return lines;
}

/**
 * Return the mentions whose number is printed before a word; longer mentions open first, like
 * brackets.
 */
const opening = (mentions: Mention[], word: number) =>
  mentions
    .filter(({ cluster, words }) => cluster > 0 && words[0] === word)
    .sort((a, b) => b.words.length - a.words.length);

const sum = (all: number[]) => all.reduce((a, b) => a + b, 0);
const snapped = (place: number) => Math.round(place * PARTS) / PARTS;

/**
 * Break a text into lines of at most `room` pixels. Punctuation is spaced as in print, and a word
 * that is longer than a line is broken.
 */
export function layoutPassage(
  texts: string[],
  mentions: Mention[],
  { room, font, ruler }: { room: number; font: string; ruler: Ruler },
): PassageLayout {
  const width = Math.min(room, MOST_WIDE);
  const measure = ruler(labelFont(font, false, WORD_SIZE));
  const measureNumber = ruler(labelFont(font, true, NUMBER_SIZE));
  const words = texts.map((raw, word) => {
    const text = withControlPictures(raw);
    const numbers = opening(mentions, word).map((mention) => ({
      mention,
      width: measureNumber(String(mention.cluster)),
    }));
    const before = sum(numbers.map((number) => number.width + AFTER_NUMBER));
    return { word, text, numbers, width: before + measure(text) };
  });
  const pieces: Piece[] = [];
  let x = 0;
  let line = 0;
  const breakLine = () => {
    [x, line] = [0, line + 1];
  };

  type Measured = (typeof words)[number];
  function place({ word, text, numbers }: Measured, spaced: boolean, mayBreak: boolean): void {
    const outer = snapped(x);
    const placed = numbers.map(({ mention, width }) => {
      const start = snapped(x);
      const end = snapped(x + width);
      x += width + AFTER_NUMBER;
      return { mention, start, end };
    });
    const isBroken = mayBreak && x + measure(text) > width;
    const parts = isBroken ? wrapped(text, width - x, measure) : [text];
    for (const [i, part] of parts.entries()) {
      if (i) breakLine();
      const start = snapped(x);
      const end = snapped(x + measure(part));
      const piece = {
        word,
        text: part,
        line,
        outer: start,
        start,
        end,
        numbers: [],
        spaced: false,
      };
      pieces.push(i ? piece : { ...piece, outer, numbers: placed, spaced });
      x += measure(part);
    }
  }

  for (const group of groups(words)) {
    const whole = sum(group.map((word) => word.width));
    const isLonger = whole > width;
    if (x > 0 && x + SPACE + whole > width) breakLine();
    else if (x > 0) x += SPACE;
    for (const [i, word] of group.entries()) {
      if (isLonger && x > 0 && x + word.width > width) breakLine();
      place(word, i === 0 && pieces.length > 0, isLonger);
    }
  }
  const level = levels(mentions);
  const under = LEVEL * (1 + Math.max(-1, ...level.values()));
  const pitch = BOX + BETWEEN_LINES + under;
  const height = TOP + line * pitch + BOX + under + BOTTOM;
  const rightToLeft = isRightToLeft(texts);
  return { width, height, rightToLeft, pieces, levels: level, pitch };
}

/** Return the ranges of adjacent pieces of words on each line. */
function runs({ pieces }: PassageLayout, words: number[]) {
  const pieceRanges: Pick<Piece, "line" | "outer" | "start" | "end">[] = [];
  let last = -2;
  for (const [i, { word, line, outer, start, end }] of pieces.entries()) {
    if (!words.includes(word)) continue;
    const run = pieceRanges.at(-1);
    if (run && last === i - 1 && run.line === line) run.end = end;
    else pieceRanges.push({ line, outer, start, end });
    last = i;
  }
  return pieceRanges;
}

/** Passage with its layout. */
interface PlacedPassage {
  theme: Theme;
  font: string;
  at: PassageLayout;
}

/** Return the color of a cluster. Clusters with the same color differ in their numbers. */
export function clusterColor(theme: Theme, cluster: number): string {
  const { series } = theme.dark ? palette.dark : palette.light;
  return (!theme.forced && series[(cluster - 1) % series.length]) || theme.text;
}

function rectangle(pen: Pen, left: number, top: number, right: number, bottom: number): void {
  pen.moveTo(left, top);
  pen.lineTo(right, top);
  pen.lineTo(right, bottom);
  pen.lineTo(left, bottom);
  pen.closePath();
}

/** Draw boxes around words, with lines of this width whose edges fall on full pixels. */
function outline(pen: Pen, at: PassageLayout, words: number[], width: number): void {
  const by = 1 + width / 2;
  pen.lineWidth = width;
  pen.beginPath();
  for (const { line, start, end } of runs(at, words)) {
    const left = Math.round(leftOf(at, start, end));
    const right = Math.round(leftOf(at, start, end) + end - start);
    const top = topOf(at, line);
    rectangle(pen, left - by, top + 2 - by, right + by, top + BOX - 2 + by);
  }
}

/**
 * Draw everything except the text: underlines of mentions, marked words, and the arrow to the
 * head's choice.
 */
export function paintMarks(pen: Pen, { drawn, marked, own }: Scene, placed: PlacedPassage): void {
  const { theme, at } = placed;
  for (const { mention, cluster, words } of drawn.mentions) {
    pen.strokeStyle = cluster ? clusterColor(theme, cluster) : theme.muted;
    pen.lineWidth = cluster ? 2 : 1;
    pen.setLineDash(cluster ? [] : DOTTED);
    pen.beginPath();
    for (const { line, outer, end } of runs(at, words)) {
      const y = underlineOf(at, line, at.levels.get(mention) ?? 0) - (cluster ? 0 : 0.5);
      pen.moveTo(leftOf(at, outer, end), y);
      pen.lineTo(leftOf(at, outer, end) + end - outer, y);
    }
    pen.stroke();
  }
  pen.setLineDash([]);
  if (!marked) return;
  pen.strokeStyle = theme.muted;
  for (const { words } of own?.antecedents ?? []) {
    outline(pen, at, words, 1);
    pen.stroke();
  }
  outline(pen, at, marked.words, 1);
  pen.strokeStyle = pen.fillStyle = theme.accent;
  pen.stroke();
  pen.globalAlpha = OWN_FILL;
  pen.fill();
  pen.globalAlpha = 1;
  if (own?.choice) paintChoice(pen, placed, marked.head, own.choice);
}

/** Draw a box around the chosen word, and an arrow to it from the head word of the mention. */
function paintChoice(
  pen: Pen,
  { theme, at }: PlacedPassage,
  headWord: number,
  { word, right }: { word: number; right: boolean },
): void {
  const pieceOf = (wanted: number) => at.pieces.find((piece) => piece.word === wanted);
  const from = pieceOf(headWord);
  const to = pieceOf(word);
  if (!from || !to) return;
  const middle = ({ start, end }: Piece) => leftOf(at, start, end) + (end - start) / 2;
  const outcome = right ? "right" : "wrong";
  pen.strokeStyle = pen.fillStyle = theme[outcome];
  pen.setLineDash(right ? [] : DASH);
  outline(pen, at, [word], 2);
  pen.stroke();
  paintArc(pen, arcToChoice(at, [middle(from), from.line], [middle(to), to.line]), {
    color: theme[outcome],
    width: ARC_WIDTH,
    opacity: opacityOf(theme),
    isDashed: !right,
    hasArrow: true,
  });
  const edge = leftOf(at, to.start, to.end) + to.end - to.start;
  const x = Math.min(Math.round(edge) + 3, at.width - 4);
  const y = topOf(at, to.line) - 5;
  pen.fillStyle = theme.background;
  pen.beginPath();
  pen.arc(x, y, 6, 0, 2 * Math.PI);
  pen.fill();
  paintVerdict(pen, theme, outcome, x, y);
}

/**
 * Return an arc above the line of both words, or from the side of the line that is closer to the
 * chosen word.
 */
function arcToChoice(
  at: PassageLayout,
  [x0, line]: readonly [x: number, line: number],
  [x1, other]: readonly [x: number, line: number],
): ArcPath {
  const top = topOf(at, line);
  const otherTop = topOf(at, other);
  if (other < line) return arcBetweenLines([x0, top - 3], [x1, otherTop + BOX + 4]);
  // A flat arc would lie on the underlines of the line above.
  if (other === line) return roundArc([x0, top - 3], [x1, top - 4], HEIGHT, 1);
  return arcBetweenLines([x0, top + BOX + 3], [x1, otherTop - 4]);
}

/**
 * Add right-to-left marks to a word with punctuation. In a file every word is a separate text, so
 * its brackets would otherwise be mirrored differently than on the page.
 */
const turned = (text: string) => (ONLY_LETTERS.test(text) ? text : `\u200f${text}\u200f`);
const ONLY_LETTERS = /^[\p{L}\p{M}]*$/u;

/** Draw the text with the numbers of the clusters, where no page draws them. */
export function paintText(pen: Pen, { theme, font, at }: PlacedPassage): void {
  const write = (text: string, start: number, y: number) =>
    pen.fillText(text, at.rightToLeft ? at.width - start : start, y);
  pen.textAlign = at.rightToLeft ? "right" : "left";
  for (const { text, line, start, numbers } of at.pieces) {
    const top = topOf(at, line);
    pen.font = labelFont(font, true, NUMBER_SIZE);
    for (const { mention, start } of numbers) {
      pen.fillStyle = clusterColor(theme, mention.cluster);
      write(String(mention.cluster), start, top + RAISED);
    }
    pen.font = labelFont(font, false, WORD_SIZE);
    pen.fillStyle = theme.text;
    write(at.rightToLeft ? turned(text) : text, start, top + BASELINE);
  }
}

export const LEGEND = [
  ["own", "the mention"],
  ["antecedent", "its antecedents"],
  ["right", "solid: the head chose an antecedent's head word"],
  ["wrong", "dashed: it chose another word"],
  ["once", "dotted: mentioned once"],
  ["", "number and color: the cluster"],
] as const;
type Sample = (typeof LEGEND)[number][0];
const isOutcome = (kind: Sample): kind is Outcome => kind === "right" || kind === "wrong";
const BOXED = 18;
/** Width of a check mark or a cross next to something. */
export const VERDICT = 14;
export const SAMPLE_HEIGHT = 12;
export const sampleWidth = (kind: Sample) => (kind ? BOXED + (isOutcome(kind) ? VERDICT : 0) : 0);

/** Draw the sample of a mark in the legend. */
export function paintSample(pen: Pen, theme: Theme, kind: Sample): void {
  if (!kind) return;
  const { accent, muted, right, wrong } = theme;
  const edge = isOutcome(kind) ? 1 : 0.5;
  const bottom = SAMPLE_HEIGHT - edge;
  pen.strokeStyle = { own: accent, antecedent: muted, once: muted, right, wrong }[kind];
  pen.lineWidth = 2 * edge;
  pen.setLineDash({ own: [], antecedent: [], once: DOTTED, right: [], wrong: DASH }[kind]);
  pen.beginPath();
  if (kind === "once") {
    pen.moveTo(0, SAMPLE_HEIGHT / 2 + edge);
    pen.lineTo(BOXED, SAMPLE_HEIGHT / 2 + edge);
  } else rectangle(pen, edge, edge, BOXED - edge, bottom);
  pen.stroke();
  pen.setLineDash([]);
  if (kind === "own") {
    pen.fillStyle = accent;
    pen.globalAlpha = OWN_FILL;
    pen.fill();
    pen.globalAlpha = 1;
  }
  if (isOutcome(kind)) paintVerdict(pen, theme, kind, BOXED + VERDICT / 2, SAMPLE_HEIGHT / 2);
}
