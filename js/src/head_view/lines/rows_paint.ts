import { cssWord } from "../../shared/colour_levels.js";
import { AXIS_LABEL_SIZE, drawToken, labelFont, labelOf, write } from "../../shared/labels.js";
import type { Pen } from "../../shared/pen.js";
import type { Side } from "../../shared/types.js";
import { ANGLE } from "../matrix/matrix_layout.js";
import { leads, type Scene, writtenFrom } from "../scene.js";
import { weightAt } from "../source/source_of.js";
import { lineTables } from "./line_tables.js";
import type { Lines } from "./lines_choose.js";
import { barLevel, isShareOf, LEAST_SHARE, paintLock, styleToken } from "./lines_columns.js";
import { EASED, STRAIGHT } from "./lines_layout.js";
import { type Drawn, paintFocused, paintLinesOn } from "./lines_paint.js";
import { BAR, numberSize, type RowsLayout, TOKEN_GAP } from "./rows_layout.js";

const BAR_WIDTH = 7;

/** How lines run between two rows of tokens. */
const drawnInRows = ({ middles, x0, x1, y0, y1 }: RowsLayout): Drawn => ({
  box: { x: x0, y: y0, width: x1 - x0, height: y1 - y0 },
  isWhole: true,
  trace(pen, query, key, curved) {
    const from = middles.query[query] ?? 0;
    const to = middles.key[key] ?? 0;
    pen.moveTo(from, y0);
    for (const [across, along] of (curved && from !== to ? EASED : STRAIGHT).slice(1))
      pen.lineTo(from + along * (to - from), y0 + across * (y1 - y0));
  },
});

/** All lines between the two rows. */
export const paintRowsLines = (
  pen: Pen,
  at: RowsLayout,
  lines: Lines,
  scene: Scene,
  fade = 1,
): void => paintLinesOn(pen, drawnInRows(at), lines, scene, fade);

/** Before each row of tokens: which side it is. */
function paintNames(pen: Pen, at: RowsLayout, scene: Scene): void {
  pen.font = labelFont(scene.font, false, AXIS_LABEL_SIZE);
  pen.textBaseline = "middle";
  const { muted } = scene.theme;
  write(pen, "from", [0, at.y0 - TOKEN_GAP - scene.size / 2], muted);
  write(pen, "to", [0, at.y1 + TOKEN_GAP + scene.size / 2], muted);
}

/** What follows the pointer and the locks: their lines, and the two rows of tokens. */
export function paintOverRows(pen: Pen, at: RowsLayout, focused: Lines | undefined, scene: Scene) {
  paintFocused(pen, drawnInRows(at), focused, scene);
  paintNames(pen, at, scene);
  for (const side of ["query", "key"] as const) paintRow(pen, at, scene, side);
}

function paintRow(pen: Pen, at: RowsLayout, scene: Scene, side: Side): void {
  const { theme, map, axes, size, font } = scene;
  const axis = axes[side];
  const shown = side === "query" ? map.rows : map.cols;
  const lead = leads(scene)[side === "query" ? "key" : "query"];
  const weightTo = (place: number, of = map) =>
    lead === undefined
      ? undefined
      : side === "query"
        ? weightAt(of, place, lead)
        : weightAt(of, lead, place);
  const most = shown.reduce(
    (largest, _, i) => Math.max(largest, Math.abs(weightTo(i, scene.reach ?? map) || 0)),
    0,
  );
  const isShare = isShareOf(map);
  const table = lineTables(scene).first;
  const written = writtenFrom(axis, shown);
  const way = side === "query" ? -1 : 1;
  const end = (side === "query" ? at.y0 : at.y1) + way * TOKEN_GAP;
  for (const [i, index] of shown.entries()) {
    const x = at.middles[side][i] ?? 0;
    const weight = weightTo(i);
    const locked = scene.locked[side].has(i);
    const isMuted = Boolean(axis.special[index]);
    styleToken(pen, scene, { side, i, weight, isMuted, showsLit: true });
    paintToken(pen, at, labelOf(axis, index), x, end, way, size);
    pen.globalAlpha = 1;
    if (locked) paintLock(pen, x, end - way * TOKEN_GAP, theme.accent);
    const outside = end + way * outerEdge(at, size);
    if (weight && !scene.colours && !(isShare && Math.abs(weight) < LEAST_SHARE)) {
      const height = Math.max(1, (BAR * Math.abs(weight)) / (isShare ? 1 : most));
      pen.fillStyle = cssWord(table[barLevel(map, weight)]);
      pen.fillRect(
        x - BAR_WIDTH / 2,
        way < 0 ? outside - height : outside,
        Math.min(BAR_WIDTH, (at.rooms[side][i] ?? BAR_WIDTH) - 2),
        height,
      );
      const text = scene.printBeside(weight, most);
      pen.font = labelFont(font, false, numberSize(size));
      if (pen.measureText(text).width < (at.rooms[side][i] ?? 0)) {
        pen.textBaseline = "middle";
        const beyond = outside + way * (height + size / 2 + 1);
        write(pen, text, [x, beyond], theme.text, "center");
      }
    }
    const isNewPart =
      i > 0 &&
      (axis.segments[index] !== axis.segments[shown[i - 1] ?? 0] || (written > 0 && i === written));
    if (isNewPart) {
      pen.fillStyle = theme.muted;
      const half = ((at.rooms[side][i] ?? 0) / 2) * (at.rightToLeft ? 1 : -1);
      pen.fillRect(Math.round(x + half), way < 0 ? end - size - 4 : end, 1, size + 4);
    }
  }
}

/** The height of the tokens. */
const outerEdge = ({ upright, labelWidth }: RowsLayout, size: number) =>
  upright ? size + 4 : Math.ceil(labelWidth * Math.sin(ANGLE)) + size / 2;

/** A token upright above or below its line's end, or sloping from there. */
function paintToken(
  pen: Pen,
  { upright, labelWidth }: RowsLayout,
  text: string,
  x: number,
  end: number,
  way: 1 | -1,
  size: number,
): void {
  if (upright) {
    const half = pen.measureText(text).width / 2;
    drawToken(pen, text, x - half, end + (way * size) / 2, "left", labelWidth + 1);
    return;
  }
  pen.save();
  pen.translate(x, end);
  pen.rotate(-ANGLE);
  drawToken(pen, text, 0, 0, way < 0 ? "left" : "right", labelWidth);
  pen.restore();
}
