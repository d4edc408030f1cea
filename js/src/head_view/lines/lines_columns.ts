import { cssWord } from "../../shared/color_levels.js";
import { drawToken, labelFont, labelOf, write } from "../../shared/labels.js";
import type { Pen } from "../../shared/pen.js";
import type { Side } from "../../shared/types.js";
import { labelStep, namesTokens } from "../matrix/matrix_layout.js";
import { leads, type Scene, writtenFrom } from "../scene.js";
import { sourceOf, weightAt } from "../source/source_of.js";
import type { VisibleMap } from "../source/visible_map.js";
import { type LinesLayout, rowCenter, rowsInSight } from "./lines_layout.js";

/** Distance between lines and labels. */
export const LABEL_GAP = 8;
const BAR_HEIGHT = 7;
/** Share below which a token has no number. */
const LEAST_SHARE = 0.01;

interface Column {
  side: Side;
  /** Position of the labels at the end of the lines, and the direction of the labels. */
  x: number;
  way: 1 | -1;
  shown: number[];
}

/**
 * Set the font and the color of a token. Special tokens are muted, locked and active tokens are
 * highlighted, and a token without a known weight is pale.
 */
function styleToken(
  pen: Pen,
  { theme, font, size, locked, active, highlighted, absent }: Scene,
  token: {
    side: Side;
    i: number;
    weight: number | undefined;
    isMuted: boolean;
    showsLit: boolean;
  },
): void {
  const { side, i, weight, isMuted, showsLit } = token;
  const isChosen = locked[side].has(i) || active[side] === i;
  const lit = highlighted[side].has(i);
  pen.font = labelFont(font, isChosen || lit, size);
  pen.fillStyle = isMuted ? theme.muted : theme.text;
  if (lit && showsLit) pen.fillStyle = theme.second;
  if (isChosen) pen.fillStyle = theme.accent;
  pen.globalAlpha = Number.isNaN(weight) || absent?.[side].has(i) ? 0.45 : 1;
}

/**
 * Draw the two columns of visible tokens. Tokens show their weights to or from the leading token of
 * the other side.
 */
export function paintColumns(
  pen: Pen,
  layout: LinesLayout,
  scene: Scene,
  table: Uint32Array,
): void {
  const columns: Column[] = [
    { side: "query", x: layout.x0 - LABEL_GAP, way: -1, shown: scene.map.rows },
    { side: "key", x: layout.x1 + LABEL_GAP, way: 1, shown: scene.map.cols },
  ];
  for (const column of columns) paintColumn(pen, layout, scene, table, column);
}

function paintColumn(
  pen: Pen,
  layout: LinesLayout,
  scene: Scene,
  table: Uint32Array,
  column: Column,
): void {
  const { theme, map, axes } = scene;
  const { side, x, way, shown } = column;
  const axis = axes[side];
  const lead = leads(scene)[side === "query" ? "key" : "query"];
  const weightTo = (position: number, of = map) => {
    if (lead === undefined) return undefined;
    const weight = side === "query" ? weightAt(of, position, lead) : weightAt(of, lead, position);
    // The weight of a long input may be unknown, which does not mean masked.
    return Number.isNaN(weight) && of && !sourceOf(of).isComplete ? undefined : weight;
  };
  const { start, end } = rowsInSight(layout, side);
  const step = labelStep(layout.pitch[side], scene.size + 1);
  const names = namesTokens(step);
  const written = writtenFrom(axis, shown);
  let most = 0;
  for (let i = 0; i < shown.length; i++)
    most = Math.max(most, Math.abs(weightTo(i, scene.reach) || 0));
  // Bars of the absolute scale run from 0 to 1, and small shares have no bar.
  const isShare = isShareOf(map);
  const full = isShare ? 1 : most;
  for (let i = start; i < end; i++) {
    const y = rowCenter(layout, side, i);
    const weight = weightTo(i);
    const index = shown[i] ?? 0;
    const locked = scene.locked[side].has(i);
    const active = scene.active[side] === i;
    const lit = scene.highlighted[side].has(i);
    const isNamed = locked || active || (names && lit);
    if (!isNamed && i % step !== 0) continue;
    const text = names || isNamed ? labelOf(axis, index) : String(index);
    const isMuted = axis.special[index] || !(names || isNamed);
    styleToken(pen, scene, { side, i, weight, isMuted: Boolean(isMuted), showsLit: names });
    const align = way === 1 ? "left" : "right";
    drawToken(pen, text, x, y, align, layout.labelWidth);
    pen.globalAlpha = 1;
    if (locked) paintLock(pen, x - way * LABEL_GAP, y, theme.accent);
    if (weight && !scene.colors && !(isShare && weight < LEAST_SHARE))
      paintWeight(
        pen,
        layout,
        scene,
        column,
        y,
        weight,
        most,
        full,
        cssWord(table[barLevel(map, weight)]),
      );
    if (written > 0 && i === written) paintPrompt(pen, layout, scene, column, lead === undefined);
    if (i > 0 && axis.segments[index] !== axis.segments[shown[i - 1] ?? 0]) {
      pen.fillStyle = theme.muted;
      const near = way === 1 ? x : x - layout.labelWidth;
      pen.fillRect(near, Math.round(y - layout.pitch[side] / 2), layout.labelWidth, 1);
    }
  }
}

/** Return whether weights are shares on the absolute scale. */
const isShareOf = ({ least, maximum, signed }: VisibleMap): boolean =>
  least !== undefined && maximum === 1 && !signed;

/** Return the table entry for a weight's bar, well inside its side of the scale. */
const barLevel = ({ signed }: VisibleMap, weight: number) =>
  !signed ? 170 : weight > 0 ? 212 : 44;

/**
 * Draw the boundary between the prompt and the generated text. It has names if no weights are
 * printed and there is room next to the tokens.
 */
function paintPrompt(
  pen: Pen,
  layout: LinesLayout,
  scene: Scene,
  { x, way, side, shown }: Column,
  named: boolean,
): void {
  const { theme, axes, font, size } = scene;
  const first = writtenFrom(axes[side], shown);
  const y = Math.round(rowCenter(layout, side, first) - layout.pitch[side] / 2);
  const beside = LABEL_GAP + layout.numberWidth + layout.barWidth;
  const length = layout.labelWidth + beside;
  pen.fillStyle = theme.muted;
  pen.fillRect(way === 1 ? x : x - length, y, length, 1);
  if (!named) return;
  pen.font = labelFont(font, false, Math.max(10, size - 2));
  const tokens = [first - 1, first].map((i) => labelOf(axes[side], shown[i] ?? 0));
  const measure = scene.ruler(labelFont(font, true, size));
  const free = length - Math.max(...tokens.map(measure)) - LABEL_GAP;
  // In a narrow column the names would overlap the tokens; the caption contains them as well.
  if (scene.ruler(pen.font)("continuation") > free) return;
  pen.textBaseline = "middle";
  const at = x + way * length;
  write(pen, "prompt", [at, y - size / 2], theme.muted, way === 1 ? "right" : "left");
  write(pen, "continuation", [at, y + size / 2 + 1], theme.muted, way === 1 ? "right" : "left");
}

/** Draw a filled diamond at the end of a line: a lock is marked by shape as well as by color. */
function paintLock(pen: Pen, x: number, y: number, color: string): void {
  pen.fillStyle = color;
  pen.beginPath();
  for (const [dx, dy] of [
    [0, -4],
    [4, 0],
    [0, 4],
    [-4, 0],
  ] as const)
    pen.lineTo(x + dx, y + dy);
  pen.fill();
}

function paintWeight(
  pen: Pen,
  layout: LinesLayout,
  scene: Scene,
  { x, way }: Column,
  y: number,
  weight: number,
  most: number,
  full: number,
  color: string,
): void {
  const { labelWidth, numberWidth, barWidth } = layout;
  if (numberWidth) {
    pen.font = labelFont(scene.font, false, scene.size - 1);
    pen.fillStyle = scene.theme.text;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.fillText(
      scene.printBeside(weight, most),
      x + way * (labelWidth + LABEL_GAP + (way === 1 ? numberWidth : 0)),
      y,
    );
  }
  if (!barWidth) return;
  const length = Math.max(1, (barWidth * Math.abs(weight)) / full);
  const bar = x + way * (labelWidth + (numberWidth ? numberWidth + 2 * LABEL_GAP : LABEL_GAP / 2));
  pen.fillStyle = color;
  pen.fillRect(way === 1 ? bar : bar - length, y - BAR_HEIGHT / 2, length, BAR_HEIGHT);
}
