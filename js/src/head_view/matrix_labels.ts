import { drawToken, labelFont, labelOf, write } from "../shared/labels.js";
import type { Pen } from "../shared/pen.js";
import type { Side } from "../shared/types.js";
import { ANGLE, HEADING, labelStep, type MatrixLayout } from "./matrix_layout.js";
import { axisSize, BESIDE, CONTINUATION } from "./matrix_paint.js";
import { type Scene, writtenFrom } from "./scene.js";

const GAP = 6;
/** Frames of smaller cells are thinner. */
const LARGE = 6;
/** More highlighted tokens than this are labelled like the others. */
const MOST_KEPT = 12;

/**
 * Tokens on both axes, thinned where cells are small, and the marks of locked and active rows and
 * columns.
 */
export function paintMatrixLabels(pen: Pen, layout: MatrixLayout, scene: Scene): void {
  const { locked, active } = scene;
  pen.strokeStyle = scene.theme.accent;
  const { labelled = { query: true, key: true } } = scene;
  for (const side of ["query", "key"] as const) {
    for (const index of locked[side]) paintMark(pen, layout, side, index, 2);
    const at = active[side];
    if (at !== undefined) paintMark(pen, layout, side, at, 1);
    if (!labelled[side]) continue;
    paintAxis(pen, layout, scene, side);
    paintPrompt(pen, layout, scene, side);
  }
  if (!labelled.key) return;
  pen.font = labelFont(scene.font, false, axisSize(scene));
  pen.textBaseline = "middle";
  if (labelled.query)
    write(
      pen,
      "from",
      [layout.x0 - 1.5 * GAP, layout.y0 - GAP - axisSize(scene) / 2],
      scene.theme.muted,
      "right",
    );
  write(pen, "to", [layout.x0, HEADING / 2], scene.theme.muted);
}

/** A frame round a row or column, over its neighbours: its own cells stay as they are. */
function paintMark(pen: Pen, layout: MatrixLayout, side: Side, index: number, width: number): void {
  const { x0, y0, cellWidth, cellHeight, rows, cols } = layout;
  const across = side === "query";
  const { start, end } = layout.inSight[side];
  if (index < start || index >= end) return;
  const cell = across ? cellHeight : cellWidth;
  const from = (across ? y0 : x0) + (index - start) * cell;
  const line = cell < LARGE ? 1 : width;
  pen.lineWidth = line;
  const length = (across ? cols * cellWidth : rows * cellHeight) + line;
  const thick = cell + line;
  if (across) pen.strokeRect(x0 - line / 2, from - line / 2, length, thick);
  else pen.strokeRect(from - line / 2, y0 - line / 2, thick, length);
}

/** Beside the plot: which part of an axis is a prompt, and which the model wrote. */
function paintPrompt(pen: Pen, layout: MatrixLayout, scene: Scene, side: Side): void {
  const across = side === "query";
  const { start, end } = layout.inSight[side];
  const written = writtenFrom(scene.axes[side], across ? scene.map.rows : scene.map.cols);
  if (written <= start || written >= end) return;
  const { x0, y0, cellWidth, cellHeight, rows, cols } = layout;
  const right = x0 + cols * cellWidth;
  const below = y0 + rows * cellHeight;
  const at = across ? y0 + (written - start) * cellHeight : x0 + (written - start) * cellWidth;
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
  const { start, end } = layout.inSight[side];
  const needed = axisSize(scene) + Number(!across) * 1.5;
  const step = labelStep(cell, needed);
  const strong = new Set(scene.locked[side]);
  const at = scene.active[side];
  if (at !== undefined) strong.add(at);
  const kept = new Set(strong);
  if (scene.highlighted[side].size <= MOST_KEPT)
    for (const index of scene.highlighted[side]) kept.add(index);
  for (const index of kept) if (index < start || index >= end) kept.delete(index);
  // Labels that are always printed; plain labels that overlap them are dropped.
  const clear = (i: number) => [...kept].every((other) => Math.abs(other - i) * cell >= needed);
  for (let i = Math.ceil(start / step) * step; i < end; i += step)
    if (!kept.has(i) && clear(i)) paintLabel(pen, layout, scene, side, i, false);
  for (const i of kept) paintLabel(pen, layout, scene, side, i, strong.has(i));
}

function paintLabel(
  pen: Pen,
  layout: MatrixLayout,
  scene: Scene,
  side: Side,
  position: number,
  strong: boolean,
): void {
  const { x0, y0, cellWidth, cellHeight } = layout;
  const { theme, axes, map } = scene;
  const axis = axes[side];
  const index = (side === "query" ? map.rows : map.cols)[position] ?? 0;
  const lit = scene.highlighted[side].has(position);
  pen.font = labelFont(scene.font, strong || lit, axisSize(scene));
  pen.fillStyle = axis.special[index] ? theme.muted : theme.text;
  if (lit) pen.fillStyle = theme.second;
  if (strong) pen.fillStyle = theme.accent;
  const text = labelOf(axis, index);
  const locked = scene.locked[side].has(position);
  if (side === "query") {
    const y = y0 + (position - layout.inSight.query.start + 0.5) * cellHeight;
    drawToken(pen, text, x0 - 1.5 * GAP, y, "right", layout.rowLabel);
    if (locked) paintDot(pen, x0 - GAP / 2 - 1, y);
    return;
  }
  pen.save();
  pen.translate(x0 + (position - layout.inSight.key.start + 0.5) * cellWidth, y0 - GAP / 2 - 1);
  if (locked) paintDot(pen, 0, 0);
  pen.rotate(-ANGLE);
  drawToken(pen, text, GAP, 0, "left", layout.colLabel);
  pen.restore();
}

/** Marks a lock by shape as well as by colour. */
function paintDot(pen: Pen, x: number, y: number): void {
  pen.fillRect(x - 2, y - 2, 4, 4);
}
