import { corner, type GridLayout, WITH_WORD } from "../shared/cells.js";
import { ramp, transfer } from "../shared/color.js";
import { inkOf } from "../shared/ink.js";
import { labelFont, spelledOf } from "../shared/labels.js";
import { type Pen, paintRaster, type Raster } from "../shared/pen.js";
import { asFloat32 } from "../shared/wire.js";
import type { Scene } from "./scene.js";
import type { Rows } from "./state.js";
import { othersOf, pairAnswers, type WordQuestion, wordAnswers } from "./word_answers.js";

/** Height of a line with a word or a number, and space around the lines, in pixels. */
const LINE = 11;
const EDGE = 1;
/** Largest number of lines of a word and its number. */
const MOST_LINES = 3;
/** Cell sizes from which the number of a pair is large, and from which it is printed at all. */
const LARGE = 34;
const PRINTED = 16;
/** Height of cells with words, if there is room: two lines of a word and its number. */
export const WRITTEN = { from: WITH_WORD, tall: MOST_LINES * LINE + EDGE };
const WORD_SIZES = [11, 10];
const NUMBER_SIZE = 10;
const PAIR_SIZE = { large: 12, small: 10 };
/** Width of a family's mark at the left edge of a cell, and the start of strips next to it. */
const MARK = 3;
const GUTTER = MARK + 1;
const DOT = 2;
/** Cell width from which the columns of a strip can be told apart. */
const LEAST_STRIP = 14;

const whole = (weight: number) => String(Math.round(100 * weight));

/** Return the number of lines of text in a cell; 0 if cells have strips. */
export const linesIn = ({ cell, tall }: GridLayout): number =>
  cell < WITH_WORD ? 0 : Math.min(MOST_LINES, Math.floor((tall - EDGE) / LINE));

/** Return whether cells are too narrow for strips and show the largest weight only. */
export const isOneInk = ({ cell }: GridLayout): boolean => cell < LEAST_STRIP;

/** Split a text into letters with their accents. */
const lettersOf = (text: string): string[] => text.match(/.\p{M}*/gsu) ?? [];

/** Break a word into `count` lines with about the same number of letters. */
function broken(text: string, count: number): string[] {
  const letters = lettersOf(text);
  return Array.from({ length: count }, (_, i) => {
    const [from, to] = [i, i + 1].map((at) => Math.round((at * letters.length) / count));
    return letters.slice(from, to).join("");
  });
}

/**
 * Lay out a word in a cell with room for `most` lines: on one line if it fits, otherwise in a
 * smaller font, and then on several lines. If a word does not fit at all, each line has as many
 * letters as fit, because half a word is more useful than an ellipsis.
 */
export function wordLines(
  measure: (text: string, size: number) => number,
  text: string,
  room: number,
  most: number,
): { lines: string[]; size: number } {
  const [large = NUMBER_SIZE, small = large] = WORD_SIZES;
  for (let count = 1; count <= most; count++) {
    const lines = broken(text, count);
    const size = [large, small].find((each) => lines.every((line) => measure(line, each) <= room));
    if (size !== undefined) return { lines, size };
  }
  const lines: string[] = [];
  let rest = lettersOf(text);
  while (lines.length < most && rest.length) {
    let count = rest.length;
    while (count > 1 && measure(rest.slice(0, count).join(""), small) > room) count--;
    lines.push(rest.slice(0, count).join(""));
    rest = rest.slice(count);
  }
  return { lines, size: small };
}

/**
 * Return the visible weights of a word in a head, in at most `most` columns. Each other word has a
 * column. Neighboring words of a long text share a column, which shows their largest weight.
 */
export function stripWeights(row: ArrayLike<number>, shown: number[], most: number): number[] {
  const across = Math.min(shown.length, Math.max(1, Math.floor(most)));
  const weights = Array.from({ length: across }, () => 0);
  for (const [i, other] of shown.entries()) {
    const column = Math.floor((i * across) / shown.length);
    weights[column] = Math.max(weights[column] ?? 0, row[other] || 0);
  }
  return weights;
}

function stripOf(weights: number[], table: Uint32Array): Raster {
  const at = transfer("absolute");
  const words = Uint32Array.from(weights, (weight) => table[Math.round(255 * at(weight))] ?? 0);
  return { across: weights.length, down: 1, words };
}

/** Draw the answers of all heads, on the color of their weights. */
export function paintAnswers(pen: Pen, scene: Scene, { rows, key }: WordQuestion): void {
  if (key === undefined) paintWord(pen, scene, rows);
  else paintPair(pen, scene, rows, key);
}

function cellsOf({ layout, order }: Scene): { head: number; x: number; y: number }[] {
  return order.heads.flatMap((head, i) => {
    if (head < 0) return [];
    const [x, y] = corner(layout, [Math.floor(i / order.cols), i % order.cols]);
    return [{ head, x, y }];
  });
}

const scaleOf = ({ look, theme }: Scene, head: number): Uint32Array =>
  look.papers?.get(head) ?? ramp(theme);

/** Fill the cell of a head with the color of a weight and return the color of letters on it. */
function square(
  pen: Pen,
  scene: Scene,
  weight: number,
  { head, x, y }: { head: number; x: number; y: number },
): string {
  const { cell, tall } = scene.layout;
  const { ground, letters } = inkOf(scene.theme, weight, scaleOf(scene, head));
  pen.fillStyle = ground;
  pen.fillRect(x, y, cell, tall);
  pen.strokeStyle = scene.theme.hairline;
  pen.lineWidth = 1;
  pen.strokeRect(x - 0.5, y - 0.5, cell + 1, tall + 1);
  return letters;
}

function paintWord(pen: Pen, scene: Scene, rows: Rows): void {
  const { layout, font, state } = scene;
  const { cell, tall } = layout;
  const axes = state._axes;
  const answers = wordAnswers(rows, axes, state.hidden);
  const isOneText =
    axes.query.text.length === axes.key.text.length &&
    axes.query.text.every((text, i) => text === axes.key.text[i]);
  const others = othersOf(rows, axes);
  const shown = [...others.special.keys()].filter(
    (i) => !state.hidden.includes(others.special[i] as never),
  );
  const values = asFloat32(rows.values);
  const count = others.text.length;
  const most = linesIn(layout);
  const isInk = isOneInk(layout);
  const isStrip = most === 0 && !isInk;
  // The columns of all strips are at the same positions; words use the space of their own cell.
  const gutter = scene.families.size ? GUTTER : 0;
  const measure = (text: string, size: number) => {
    pen.font = labelFont(font, false, size);
    return pen.measureText(text).width;
  };
  pen.textBaseline = "middle";
  for (const { head, x, y } of cellsOf(scene)) {
    const answer = answers[head];
    if (!answer) continue;
    const letters = square(pen, scene, isStrip ? 0 : answer.weight, { head, x, y });
    if (isStrip) {
      const row = values.subarray(head * count, (head + 1) * count);
      const strip = stripOf(stripWeights(row, shown, cell - gutter), scaleOf(scene, head));
      paintRaster(pen, strip, x + gutter, y, cell - gutter, tall);
      continue;
    }
    if (isInk || !answer.standsOut) continue;
    const isItself = isOneText && answer.other === rows.of;
    const left = (scene.families.get(head) ?? "other") === "other" ? 0 : MARK;
    const middle = x + left / 2 + cell / 2;
    pen.fillStyle = letters;
    pen.textAlign = "center";
    const text = isItself ? "self" : spelledOf(others, answer.other);
    const { lines, size } = wordLines(measure, text, cell - left - 2, most);
    // The complete word is more important than the number, because the color shows the weight as
    // well.
    const hasNumber = lines.length < most;
    const shownLines = lines.length + Number(hasNumber);
    const lineAt = (line: number) => y + tall / 2 + (line - (shownLines - 1) / 2) * LINE;
    pen.font = labelFont(font, false, size);
    for (const [line, part] of lines.entries()) pen.fillText(part, middle, lineAt(line));
    if (!hasNumber) continue;
    pen.font = labelFont(font, false, NUMBER_SIZE);
    pen.fillText(whole(answer.weight), middle, lineAt(lines.length));
  }
  pen.textAlign = "left";
}

function paintPair(pen: Pen, scene: Scene, rows: Rows, key: number): void {
  const { layout, font, state } = scene;
  const { cell, tall } = layout;
  const answers = pairAnswers(rows, key, state._axes, state.hidden);
  pen.textBaseline = "middle";
  pen.textAlign = "center";
  for (const { head, x, y } of cellsOf(scene)) {
    const answer = answers[head];
    if (!answer) continue;
    pen.fillStyle = square(pen, scene, answer.weight, { head, x, y });
    const [middle, line] = [x + cell / 2, y + tall / 2];
    if (cell >= PRINTED && tall >= LINE && answer.isPrinted) {
      const size = tall >= LARGE ? PAIR_SIZE.large : PAIR_SIZE.small;
      pen.font = labelFont(font, answer.isLargest, size);
      pen.fillText(whole(answer.weight), middle, line);
    } else if (answer.isLargest) pen.fillRect(middle - DOT, line - DOT, 2 * DOT, 2 * DOT);
  }
  pen.textAlign = "left";
}
