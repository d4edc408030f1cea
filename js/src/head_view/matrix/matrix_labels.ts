import { drawToken, labelFont, labelOf, write } from "../../shared/labels.js";
import type { Pen } from "../../shared/pen.js";
import type { Side } from "../../shared/types.js";
import { type Scene, writtenFrom } from "../scene.js";
import { isBlock, isPair } from "../source/target.js";
import {
  ANGLE,
  HEADING,
  labelStep,
  type MatrixLayout,
  namesTokens,
  xOf,
  yOf,
} from "./matrix_layout.js";
import { axisSize, BESIDE, CONTINUATION } from "./matrix_paint.js";

const GAP = 6;
/** Token with further bytes of a character. The token with the first bytes shows the character. */
const CONTINUED = /^…\d+\/\d+$/;
/** Cell size below which frames are thinner. */
const LARGE = 6;
/** Number of highlighted tokens above which they are labeled like the others. */
const MOST_KEPT = 12;

/**
 * Draw the tokens on both axes, thinned if cells are small, and the marks of locked and active rows
 * and columns.
 */
export function paintMatrixLabels(pen: Pen, layout: MatrixLayout, scene: Scene): void {
  const { locked, active } = scene;
  pen.strokeStyle = scene.theme.accent;
  const { labeled = { query: true, key: true } } = scene;
  for (const side of ["query", "key"] as const) {
    for (const index of locked[side]) paintMark(pen, layout, side, index, 2);
    const at = active[side];
    if (at !== undefined && !isBlock(active)) paintMark(pen, layout, side, at, 1);
    if (!labeled[side]) continue;
    paintAxis(pen, layout, scene, side);
    paintPrompt(pen, layout, scene, side);
  }
  if (isBlock(active)) paintBlock(pen, layout, scene);
  if (!labeled.key) return;
  pen.font = labelFont(scene.font, false, axisSize(scene));
  pen.textBaseline = "middle";
  if (labeled.query)
    write(
      pen,
      "from",
      [(layout.strip ?? layout.x0) - 1.5 * GAP, layout.y0 - GAP - axisSize(scene) / 2],
      scene.theme.muted,
      "right",
    );
  write(pen, "to", [layout.x0, HEADING / 2], scene.theme.muted);
}

/**
 * Draw a frame around a row or column. It covers the neighbors, so that its own cells stay
 * unchanged.
 */
function paintMark(pen: Pen, layout: MatrixLayout, side: Side, index: number, width: number): void {
  const { x0, y0, cellWidth, cellHeight, rows, cols } = layout;
  const across = side === "query";
  const [start, end] = inSight(layout, side);
  if (index + 1 <= start || index >= end) return;
  const cell = across ? cellHeight : cellWidth;
  const from = across ? yOf(layout, index) : xOf(layout, index);
  const line = cell < LARGE ? 1 : width;
  pen.lineWidth = line;
  const length = (across ? cols * cellWidth : rows * cellHeight) + line;
  const thick = cell + line;
  if (across) pen.strokeRect(x0 - line / 2, from - line / 2, length, thick);
  else pen.strokeRect(from - line / 2, y0 - line / 2, thick, length);
}

/** Draw a frame around the block under the pointer, with a rim that contrasts with every color. */
function paintBlock(pen: Pen, layout: MatrixLayout, { active, theme }: Scene): void {
  if (!isPair(active)) return;
  const { step = 1 } = active;
  const left = xOf(layout, active.key) - 1;
  const top = yOf(layout, active.query) - 1;
  const width = Math.max(3, step * layout.cellWidth) + 2;
  const height = Math.max(3, step * layout.cellHeight) + 2;
  for (const [color, line] of [
    [theme.background, 3],
    [theme.text, 1],
  ] as const) {
    pen.strokeStyle = color;
    pen.lineWidth = line;
    pen.strokeRect(left, top, width, height);
  }
}

/** Return the visible positions of a side. */
const inSight = ({ part: [q0, q1, k0, k1] }: MatrixLayout, side: Side) =>
  side === "query" ? ([q0, q1] as const) : ([k0, k1] as const);

/** Label the prompt and the generated part of an axis next to the plot. */
function paintPrompt(pen: Pen, layout: MatrixLayout, scene: Scene, side: Side): void {
  const across = side === "query";
  const [start, end] = inSight(layout, side);
  const written = writtenFrom(scene.axes[side], across ? scene.map.rows : scene.map.cols);
  if (written <= start || written >= end) return;
  const { x0, y0, cellWidth, cellHeight, rows, cols } = layout;
  const right = x0 + cols * cellWidth;
  const below = y0 + rows * cellHeight;
  const at = across ? yOf(layout, written) : xOf(layout, written);
  const size = axisSize(scene);
  pen.font = labelFont(scene.font, false, size);
  pen.textBaseline = "middle";
  pen.fillStyle = scene.theme.muted;
  if (across) {
    pen.fillRect(right, Math.round(at), 2 * BESIDE, 1);
    write(pen, "prompt", [right + BESIDE, at - size / 2 - 1], scene.theme.muted);
    write(pen, CONTINUATION, [right + BESIDE, at + size / 2 + 2], scene.theme.muted);
    return;
  }
  pen.fillRect(Math.round(at), below, 1, size + BESIDE);
  write(pen, "prompt", [at - BESIDE, below + BESIDE + size / 2], scene.theme.muted, "right");
  write(pen, CONTINUATION, [at + BESIDE, below + BESIDE + size / 2], scene.theme.muted);
}

function paintAxis(pen: Pen, layout: MatrixLayout, scene: Scene, side: Side): void {
  const across = side === "query";
  const cell = across ? layout.cellHeight : layout.cellWidth;
  const [start, end] = inSight(layout, side);
  const needed = axisSize(scene) + Number(!across) * 1.5;
  const step = labelStep(cell, needed);
  const names = namesTokens(step);
  const strong = new Set(scene.locked[side]);
  const at = scene.active[side];
  if (at !== undefined && !isBlock(scene.active)) strong.add(at);
  const kept = new Set(strong);
  if (names && scene.highlighted[side].size <= MOST_KEPT)
    for (const index of scene.highlighted[side]) kept.add(index);
  for (const index of kept) if (index < start || index >= end) kept.delete(index);
  // Fixed labels are always printed; plain labels that overlap them are dropped.
  const clear = (i: number) => [...kept].every((other) => Math.abs(other - i) * cell >= needed);
  const { axes, map } = scene;
  const shown = across ? map.rows : map.cols;
  const thins = names && step > 1;
  const isPart = (i: number) => thins && CONTINUED.test(axes[side].text[shown[i] ?? -1] ?? "");
  // Skip labels that are half out of sight, because they would overlap text next to the plot.
  let last = Number.NEGATIVE_INFINITY;
  for (let i = Math.ceil((start - 0.5) / step) * step; i < end - 0.5; i += step) {
    const places = Array.from({ length: thins ? step : 1 }, (_, k) => i + k);
    const at = places.find((to) => to < end - 0.5 && to - last >= step && !isPart(to));
    if (at === undefined || kept.has(at) || !clear(at)) continue;
    last = at;
    paintLabel(pen, layout, scene, side, at, names ? "name" : "place");
  }
  for (const i of kept) paintLabel(pen, layout, scene, side, i, strong.has(i) ? "strong" : "name");
}

function paintLabel(
  pen: Pen,
  layout: MatrixLayout,
  scene: Scene,
  side: Side,
  position: number,
  as: "name" | "strong" | "place",
): void {
  const { y0 } = layout;
  const x0 = layout.strip ?? layout.x0;
  const strong = as === "strong";
  const { theme, axes, map } = scene;
  const axis = axes[side];
  const index = (side === "query" ? map.rows : map.cols)[position] ?? 0;
  const lit = scene.highlighted[side].has(position);
  pen.font = labelFont(scene.font, strong || (lit && as === "name"), axisSize(scene));
  pen.fillStyle = axis.special[index] || as === "place" ? theme.muted : theme.text;
  if (lit && as === "name") pen.fillStyle = theme.second;
  if (strong) pen.fillStyle = theme.accent;
  const text = as === "place" ? String(index) : labelOf(axis, index);
  const locked = scene.locked[side].has(position);
  if (side === "query") {
    const y = yOf(layout, position + 0.5);
    drawToken(pen, text, x0 - 1.5 * GAP, y, "right", layout.rowLabel);
    if (locked) paintDot(pen, x0 - GAP / 2 - 1, y);
    return;
  }
  pen.save();
  pen.translate(xOf(layout, position + 0.5), y0 - GAP / 2 - 1);
  if (locked) paintDot(pen, 0, 0);
  pen.rotate(-ANGLE);
  drawToken(pen, text, GAP, 0, "left", layout.colLabel);
  pen.restore();
}

/** Draw a dot, so that a lock is marked by shape as well as by color. */
function paintDot(pen: Pen, x: number, y: number): void {
  pen.fillRect(x - 2, y - 2, 4, 4);
}
