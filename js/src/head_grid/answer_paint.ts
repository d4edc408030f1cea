import { corner } from "../shared/cells.js";
import { ramp, transfer } from "../shared/colour.js";
import { inkOf } from "../shared/ink.js";
import { labelFont, labelOf } from "../shared/labels.js";
import { type Pen, paintRaster, type Raster } from "../shared/pen.js";
import { asFloat32 } from "../shared/wire.js";
import type { Scene } from "./scene.js";
import type { Rows } from "./state.js";
import { othersOf, pairAnswers, wordAnswers } from "./word_answers.js";

/** The question that the cells answer in place of thumbnails: about one word, or about two. */
export interface WordQuestion {
  rows: Rows;
  /** The key that a query is asked about; undefined if one word is locked. */
  key: number | undefined;
}

/** From this size on a cell has the word and its number; below the next one it has a strip. */
const WITH_NUMBER = 36;
export const WITH_WORD = 28;
/** From this size on a number of a pair is printed large, and from the next one on at all. */
const LARGE = 34;
const PRINTED = 22;
const WORD_SIZE = { large: 11, small: 10 };
const NUMBER_SIZE = 10;
const PAIR_SIZE = { large: 12, small: 10 };
/** Left of a cell for the colour of its family. */
const GUTTER = 4;
const DOT = 2;

const whole = (weight: number) => String(Math.round(100 * weight));

/** As many letters as fit: half a word says more than an ellipsis. */
function cut(pen: Pen, text: string, room: number): string {
  const letters = [...text];
  while (letters.length > 2 && pen.measureText(letters.join("")).width > room) letters.pop();
  return letters.join("");
}

/** The visible weights of a word in a head: each other word has a column. */
function stripOf(row: Float32Array, shown: number[], table: Uint32Array): Raster {
  const at = transfer("absolute");
  const words = Uint32Array.from(shown, (other) => {
    const weight = row[other] ?? 0;
    return table[Math.round(255 * at(Number.isNaN(weight) ? 0 : weight))] ?? 0;
  });
  return { across: shown.length, down: 1, words };
}

/** The answers of all heads, on the ink of their weights. */
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

/** Fill the cell of a head with the ink of a weight; the colour of letters on it. */
function square(
  pen: Pen,
  scene: Scene,
  weight: number,
  { head, x, y }: { head: number; x: number; y: number },
): string {
  const { cell } = scene.layout;
  const { ground, letters } = inkOf(scene.theme, weight, scaleOf(scene, head));
  pen.fillStyle = ground;
  pen.fillRect(x, y, cell, cell);
  pen.strokeStyle = scene.theme.hairline;
  pen.lineWidth = 1;
  pen.strokeRect(x - 0.5, y - 0.5, cell + 1, cell + 1);
  return letters;
}

function paintWord(pen: Pen, scene: Scene, rows: Rows): void {
  const { layout, font, state } = scene;
  const { cell } = layout;
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
  const isStrip = cell < WITH_WORD;
  const hasNumber = cell >= WITH_NUMBER;
  pen.textBaseline = "middle";
  for (const { head, x, y } of cellsOf(scene)) {
    const answer = answers[head];
    if (!answer) continue;
    const letters = square(pen, scene, isStrip ? 0 : answer.weight, { head, x, y });
    if (isStrip) {
      const row = values.subarray(head * count, (head + 1) * count);
      paintRaster(pen, stripOf(row, shown, scaleOf(scene, head)), x, y, cell, cell);
      continue;
    }
    if (!answer.standsOut) continue;
    const isItself = isOneText && answer.other === rows.of;
    const middle = x + GUTTER / 2 + cell / 2;
    pen.fillStyle = letters;
    pen.textAlign = "center";
    pen.font = labelFont(font, false, hasNumber ? WORD_SIZE.large : WORD_SIZE.small);
    const text = isItself ? "self" : labelOf(others, answer.other);
    pen.fillText(cut(pen, text, cell - GUTTER - 2), middle, y + cell / 2 - (hasNumber ? 5 : 0));
    if (!hasNumber) continue;
    pen.font = labelFont(font, false, NUMBER_SIZE);
    pen.fillText(whole(answer.weight), middle, y + cell / 2 + 8);
  }
  pen.textAlign = "left";
}

function paintPair(pen: Pen, scene: Scene, rows: Rows, key: number): void {
  const { layout, font, state } = scene;
  const { cell } = layout;
  const answers = pairAnswers(rows, key, state._axes, state.hidden);
  pen.textBaseline = "middle";
  pen.textAlign = "center";
  for (const { head, x, y } of cellsOf(scene)) {
    const answer = answers[head];
    if (!answer) continue;
    pen.fillStyle = square(pen, scene, answer.weight, { head, x, y });
    const [middle, line] = [x + cell / 2, y + cell / 2];
    if (cell >= PRINTED && answer.isPrinted) {
      const size = cell >= LARGE ? PAIR_SIZE.large : PAIR_SIZE.small;
      pen.font = labelFont(font, answer.isLargest, size);
      pen.fillText(whole(answer.weight), middle, line);
    } else if (answer.isLargest) pen.fillRect(middle - DOT, line - DOT, 2 * DOT, 2 * DOT);
  }
  pen.textAlign = "left";
}
