import { ramp } from "../shared/color.js";
import { AXIS_LABEL_SIZE, labelFont, type Measure, shorten, write } from "../shared/labels.js";
import type { Look } from "../shared/mount.js";
import { type Pen, paintRaster, type Raster } from "../shared/pen.js";
import type { Theme } from "../shared/theme.js";
import type { Scene } from "./scene.js";
import { edges } from "./structural_probe_answerer.js";
import type { Distances } from "./tree.js";

const HEADING = 20;
const GAP = 24;
const LONGEST = 96;
/** Distance between a word and its row. */
const BESIDE = 6;
const LARGEST = 18;
/** Cell size from which rows have their word next to them. */
const NAMED = 11;
/** Cell size below which the matrices are stacked, if that makes cells larger. */
const SMALL = 9;
/** Space for a frame around the cells. */
const EDGE = 2;

export const MATRICES = ["annotated distances", "predicted distances"] as const;

/** Layout of two matrices of m words, in pixels. */
interface MatricesLayout {
  m: number;
  cell: number;
  /** Width of the words before the rows; 0 if there are none. */
  labels: number;
  /** Top left corners of both matrices. */
  corners: [x: number, y: number][];
  width: number;
  height: number;
}

/**
 * Return the layout: the annotated matrix next to the predicted one, or above it if cells would be
 * too small.
 */
export function matricesLayout(words: string[], room: number, measure: Measure): MatricesLayout {
  const m = words.length;
  const widest = Math.ceil(Math.min(LONGEST, Math.max(0, ...words.map(measure)))) + BESIDE;
  const fitted = (labels: number, across: number) => {
    const cell = Math.min(
      LARGEST,
      (room - labels - (across - 1) * GAP - 2 * EDGE) / (across * Math.max(1, m)),
    );
    return cell < 2 ? cell : Math.floor(cell);
  };
  const cells = (across: number): [cell: number, labels: number] => {
    const cell = fitted(widest, across);
    return cell >= NAMED ? [cell, widest] : [fitted(0, across), 0];
  };
  const beside = cells(2);
  const above = cells(1);
  const isStacked = beside[0] < SMALL && above[0] > beside[0];
  const [cell, labels] = isStacked ? above : beside;
  const left = labels + EDGE;
  const side = cell * m;
  // A matrix of few words is narrower than its heading.
  const wide = Math.max(side, ...MATRICES.map((text) => Math.ceil(measure(text))));
  const second: [number, number] = isStacked
    ? [left, side + GAP / 2 + 2 * HEADING]
    : [left + wide + GAP, HEADING];
  return {
    m,
    cell,
    labels,
    corners: [[left, HEADING], second],
    width: second[0] + wide + EDGE,
    height: second[1] + side + EDGE,
  };
}

/** Return the two words of the cell at a point. */
export function pairAt(
  { m, cell, corners }: MatricesLayout,
  x: number,
  y: number,
): [row: number, col: number] | undefined {
  for (const [left, top] of corners) {
    const row = Math.floor((y - top) / cell);
    const col = Math.floor((x - left) / cell);
    if (row >= 0 && row < m && col >= 0 && col < m) return [row, col];
  }
  return undefined;
}

/** Return both matrices as pixels on one scale; 0 is the background color. */
export function matrixPixels(distances: Distances, m: number, theme: Theme): Raster[] {
  const colors = ramp(theme);
  return [distances.gold, distances.predicted].map((distance) => ({
    across: m,
    down: m,
    words: Uint32Array.from({ length: m * m }, (_, i) => {
      const share = distance(Math.floor(i / m), i % m) / distances.most;
      return colors[Math.round(255 * share)] ?? 0;
    }),
  }));
}

/** Drawing data of two matrices, without the highlighted words. */
export interface Matrices {
  words: string[];
  layout: MatricesLayout;
  pixels: Raster[];
  /** Largest of all distances, at least 1. */
  most: number;
  /** Formatters of the annotated and the predicted distance of two words. */
  printed: ((a: number, b: number) => string)[];
}

export function matricesOf(
  { tree, answers }: Scene,
  { width, theme, font, ruler }: Look,
): Matrices | undefined {
  const distances = answers?.distances;
  if (!distances) return undefined;
  const layout = matricesLayout(tree.words, width, ruler(labelFont(font, false, AXIS_LABEL_SIZE)));
  const { gold, predicted, most } = distances;
  const printed = [
    (a: number, b: number) => String(gold(a, b)),
    (a: number, b: number) => edges(predicted(a, b)),
  ];
  return {
    words: tree.words,
    layout,
    pixels: matrixPixels(distances, layout.m, theme),
    most,
    printed,
  };
}

/**
 * Draw both matrices. The row and the column of a word are framed, and so are its cells with a
 * second word, whose distance is printed.
 */
export function paintMatrices(
  pen: Pen,
  { words, layout, pixels, printed }: Matrices,
  { theme, font, ruler }: Pick<Look, "theme" | "font" | "ruler">,
  word?: number,
  other?: number,
): void {
  const { m, cell, labels, corners } = layout;
  const side = m * cell;
  pen.textBaseline = "middle";
  for (const [i, [left, top]] of corners.entries()) {
    pen.font = labelFont(font, false, AXIS_LABEL_SIZE);
    const pair =
      word !== undefined && other !== undefined
        ? `${words[word]} – ${words[other]}: ${printed[i]?.(word, other)}`
        : "";
    const heading = shorten(ruler(pen.font), pair || (MATRICES[i] ?? ""), layout.width / 2);
    write(pen, heading, [left, top - HEADING / 2], pair ? theme.text : theme.muted);
    const raster = pixels[i];
    if (raster) paintRaster(pen, raster, left, top, side, side);
    pen.lineWidth = 1;
    pen.strokeStyle = theme.hairline;
    pen.strokeRect(left - 0.5, top - 0.5, side + 1, side + 1);
    const hasLabels = labels > 0 && left === labels + EDGE;
    for (const [row, text] of hasLabels ? words.entries() : []) {
      const isOwn = row === word || row === other;
      pen.font = labelFont(font, isOwn, AXIS_LABEL_SIZE);
      const shown = shorten(ruler(pen.font), text, labels - BESIDE);
      write(
        pen,
        shown,
        [labels - BESIDE, top + (row + 0.5) * cell],
        isOwn ? theme.accent : theme.text,
        "right",
      );
    }
    pen.strokeStyle = theme.accent;
    pen.lineWidth = 1.5;
    const frame = (row: number, col: number, down: number, across: number) =>
      pen.strokeRect(
        left + col * cell - 0.75,
        top + row * cell - 0.75,
        across * cell + 1.5,
        down * cell + 1.5,
      );
    if (word === undefined) continue;
    frame(word, 0, 1, m);
    frame(0, word, m, 1);
    if (other === undefined) continue;
    pen.lineWidth = 2.5;
    frame(word, other, 1, 1);
    frame(other, word, 1, 1);
  }
}
