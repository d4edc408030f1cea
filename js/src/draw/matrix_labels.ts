import type { Side } from "../model/types.js";
import { AXIS_LABEL_SIZE, drawToken, labelFont, labelOf } from "./labels.js";
import { ANGLE, labelStep, type MatrixLayout } from "./matrix_layout.js";
import { isPair, type Scene } from "./scene.js";

const GAP = 6;
/** Cells smaller than this are marked by a line through them, larger ones by an outline. */
const OUTLINED = 6;
/** A line through a row leaves the cell that is pointed at free. */
const CLEARANCE = 5;
/** More highlighted tokens than this are labelled like the others. */
const MOST_KEPT = 12;

/** Tokens on both axes, thinned where cells are small, and the marks of locked and active rows and columns. */
export function paintMatrixLabels(
  context: CanvasRenderingContext2D,
  layout: MatrixLayout,
  scene: Scene,
): void {
  const { locked, active } = scene;
  context.strokeStyle = scene.theme.accent;
  for (const side of ["query", "key"] as const) {
    for (const index of locked[side]) paintMark(context, layout, scene, side, index, 2);
    const at = active[side];
    if (at !== undefined) paintMark(context, layout, scene, side, at, 1);
    paintAxis(context, layout, scene, side);
  }
}

function paintMark(
  context: CanvasRenderingContext2D,
  layout: MatrixLayout,
  { active }: Scene,
  side: Side,
  index: number,
  width: number,
): void {
  const { x0, y0, cellWidth, cellHeight, rows, cols } = layout;
  const across = side === "query";
  const cell = across ? cellHeight : cellWidth;
  const length = across ? cols * cellWidth : rows * cellHeight;
  const start = (across ? y0 : x0) + index * cell;
  context.lineWidth = width;
  if (cell >= OUTLINED) {
    if (across) context.strokeRect(x0, start, length, cell);
    else context.strokeRect(start, y0, cell, length);
    return;
  }
  const middle = Math.floor(start + cell / 2) + (width % 2) / 2;
  const crossing = isPair(active)
    ? across
      ? active.key * cellWidth
      : active.query * cellHeight
    : -1;
  const segments = isPair(active)
    ? [
        [0, crossing - CLEARANCE],
        [crossing + CLEARANCE, length],
      ]
    : [[0, length]];
  context.beginPath();
  for (const [from = 0, to = 0] of segments) {
    if (to <= from) continue;
    context.moveTo(across ? x0 + from : middle, across ? middle : y0 + from);
    context.lineTo(across ? x0 + to : middle, across ? middle : y0 + to);
  }
  context.stroke();
}

function paintAxis(
  context: CanvasRenderingContext2D,
  layout: MatrixLayout,
  scene: Scene,
  side: Side,
): void {
  const across = side === "query";
  const cell = across ? layout.cellHeight : layout.cellWidth;
  const count = across ? layout.rows : layout.cols;
  const needed = AXIS_LABEL_SIZE + Number(!across) * 1.5;
  const step = labelStep(cell, needed);
  const strong = new Set(scene.locked[side]);
  const at = scene.active[side];
  if (at !== undefined) strong.add(at);
  const kept = new Set(strong);
  if (scene.highlighted[side].size <= MOST_KEPT)
    for (const index of scene.highlighted[side]) kept.add(index);
  // These are always printed; the plain ones that they would touch give way.
  const clear = (i: number) => [...kept].every((other) => Math.abs(other - i) * cell >= needed);
  for (let i = 0; i < count; i += step)
    if (!kept.has(i) && clear(i)) paintLabel(context, layout, scene, side, i, false);
  for (const i of kept) paintLabel(context, layout, scene, side, i, strong.has(i));
}

function paintLabel(
  context: CanvasRenderingContext2D,
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
  context.font = labelFont(scene.font, strong, AXIS_LABEL_SIZE);
  context.fillStyle = axis.special[index] ? theme.muted : theme.text;
  if (scene.highlighted[side].has(position)) context.fillStyle = theme.second;
  if (strong) context.fillStyle = theme.accent;
  const text = labelOf(axis, index);
  const locked = scene.locked[side].has(position);
  if (side === "query") {
    const y = y0 + (position + 0.5) * cellHeight;
    drawToken(context, text, x0 - 1.5 * GAP, y, "right", layout.rowLabel);
    if (locked) paintDot(context, x0 - GAP / 2 - 1, y);
    return;
  }
  context.save();
  context.translate(x0 + (position + 0.5) * cellWidth, y0 - GAP / 2 - 1);
  if (locked) paintDot(context, 0, 0);
  context.rotate(-ANGLE);
  drawToken(context, text, GAP, 0, "left", layout.colLabel);
  context.restore();
}

/** Marks a lock by shape as well as by colour. */
function paintDot(context: CanvasRenderingContext2D, x: number, y: number): void {
  context.fillRect(x - 2, y - 2, 4, 4);
}
