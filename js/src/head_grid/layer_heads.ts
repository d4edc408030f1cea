import { type CellLimits, type GridLayout, lineAt, pitches, SCROLL_BAR } from "../shared/cells.js";
import { tokenInQuotes } from "../shared/labels.js";
import { percentText } from "../shared/percent_text.js";
import type { GridState } from "./state.js";
import { type LayerAnswer, layerAnswers, othersOf, type WordQuestion } from "./word_answers.js";

/** Width of row labels with the answer of a layer, and smallest cells next to them. */
const BESIDE = 92;
const LEAST_CELL = 32;
const LEAST_TALL = 13;
/** Smallest cells next to row labels with answers, if cells have no room for words anyway. */
const LEAST_BARE = 14;
/** Cell width from which the texts under the columns are horizontal. */
export const LEVEL = 36;
/** Cell width from which rotated texts under the columns do not touch. */
const ROTATED = 8;
/** Column width from which the numbers of a pair are horizontal. */
export const NUMBER = 18;
/** Heights of the texts under the columns: two lines, rotated words, and numbers of a pair. */
const FOOT = { level: 36, words: 74, numbers: 38, levelNumbers: 26 };

/** Answers of the layers about the locked words, next to the rows or under the columns. */
export interface LayerHeads {
  side: "row" | "column";
  answers: (LayerAnswer | undefined)[];
  isPair: boolean;
}

/** Function that returns the layout in the available width without `spare` pixels. */
type Make = (limits: Partial<CellLimits>, spare?: number) => GridLayout;

/** Return the height of the texts under columns of this width. */
function footOf(cell: number, isPair: boolean): number {
  if (cell >= LEVEL) return FOOT.level;
  if (!isPair) return FOOT.words;
  return cell >= NUMBER ? FOOT.levelNumbers : FOOT.numbers;
}

/** Return layouts with room for the answers of the layers, or without if cells would lose words. */
export function marginsOf({ key }: WordQuestion) {
  return {
    /** Return the layout of a grid whose rows are layers. */
    beside(plain: GridLayout, make: Make): GridLayout {
      // Cells of a deep grid in a narrow column have no words to lose, and their rows may be as
      // high as a line of text.
      const isBare = plain.cell < LEAST_CELL && plain.rows > plain.cols;
      const limits = { margin: BESIDE, ...(isBare && { least: LEAST_TALL }) };
      const free = make(limits);
      // A grid with rows of the smallest height scrolls.
      const wide = isBare && free.tall <= LEAST_TALL ? make(limits, SCROLL_BAR) : free;
      const least = isBare ? LEAST_BARE : Math.min(LEAST_CELL, plain.cell);
      return wide.cell >= least && wide.tall >= LEAST_TALL ? wide : plain;
    },
    /** Return the layout of a grid whose columns are layers. */
    below(plain: GridLayout, make: Make): GridLayout {
      if (plain.cell < ROTATED) return plain;
      const tall = make({ foot: footOf(plain.cell, key !== undefined) });
      // A lower grid may have narrower cells, whose texts need more height.
      return footOf(tall.cell, key !== undefined) === footOf(plain.cell, key !== undefined)
        ? tall
        : plain;
    },
  };
}

/** Return the answers of the layers; undefined if the layout has no room for them. */
export function layerHeadsOf(
  asked: WordQuestion,
  state: GridState,
  { x0, foot, dpr }: GridLayout,
  turns: boolean,
): LayerHeads | undefined {
  if (turns ? !foot : x0 < BESIDE - 1 / dpr) return undefined;
  const answers = layerAnswers(asked, state._axes, state.hidden);
  return { side: turns ? "column" : "row", answers, isPair: asked.key !== undefined };
}

/** Return the name of a layer for assistive technology: its strongest head and what it does. */
export function layerName(
  layer: number,
  answer: LayerAnswer | undefined,
  { rows, key }: WordQuestion,
  state: GridState,
): string {
  if (!answer?.standsOut) return `layer ${layer}: no head stands out`;
  const word = tokenInQuotes(othersOf(rows, state._axes), answer.other);
  const share = `${percentText(answer.weight)} in head ${answer.head}`;
  return `layer ${layer}: ${key === undefined ? `${word} ` : ""}${share}`;
}

/**
 * Return the layer at a point of the labels around the cells; undefined at the cells and at labels
 * of heads. `seen` is the corner of the visible part of the canvas, which keeps the labels.
 */
export function layerAt(
  layout: GridLayout,
  side: "row" | "column",
  [x, y]: readonly [x: number, y: number],
  seen: readonly [x: number, y: number],
): number | undefined {
  const [, down] = pitches(layout);
  const isLeft = x < seen[0] + layout.x0;
  const isAbove = y < seen[1] + layout.y0;
  if (side === "row") return isLeft && !isAbove ? lineAt(layout, "row", y) : undefined;
  const isBelow = y >= layout.y0 + layout.rows * down;
  return !isLeft && (isAbove || isBelow) ? lineAt(layout, "column", x) : undefined;
}
