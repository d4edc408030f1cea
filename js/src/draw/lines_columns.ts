import type { Side } from "../model/types.js";
import { AXIS_LABEL_SIZE, drawToken, labelFont, labelOf } from "./labels.js";
import { cssWord } from "./levels.js";
import {
  type LinesLayout,
  NUMBER_WIDTH,
  ROW_HEIGHT,
  rowCentre,
  rowsInSight,
} from "./lines_layout.js";
import { leads, type Scene, weightAt } from "./scene.js";

const GAP = 8;
const BAR_HEIGHT = 7;

interface Column {
  side: Side;
  /** Where labels start, at the lines' end, and which way they run from it. */
  x: number;
  way: 1 | -1;
  shown: number[];
}

/** The two columns of tokens in sight, with the leading tokens' weights beside the other side's. */
export function paintColumns(
  context: CanvasRenderingContext2D,
  layout: LinesLayout,
  scene: Scene,
  table: Uint32Array,
): void {
  const columns: Column[] = [
    { side: "query", x: layout.x0 - GAP, way: -1, shown: scene.map.rows },
    { side: "key", x: layout.x1 + GAP, way: 1, shown: scene.map.cols },
  ];
  for (const column of columns) paintColumn(context, layout, scene, table, column);
}

function paintColumn(
  context: CanvasRenderingContext2D,
  layout: LinesLayout,
  scene: Scene,
  table: Uint32Array,
  column: Column,
): void {
  const { theme, map, axes } = scene;
  const { side, x, way, shown } = column;
  const axis = axes[side];
  const lead = leads(scene)[side === "query" ? "key" : "query"];
  const weightTo = (position: number) => {
    if (lead === undefined) return undefined;
    return side === "query" ? weightAt(map, position, lead) : weightAt(map, lead, position);
  };
  const { start, end } = rowsInSight(layout);
  let most = 0;
  for (let i = 0; i < shown.length; i++) most = Math.max(most, weightTo(i) || 0);
  for (let i = start; i < Math.min(end, shown.length); i++) {
    const y = rowCentre(layout, i);
    const weight = weightTo(i);
    const index = shown[i] ?? 0;
    const locked = scene.locked[side].has(i);
    const active = scene.active[side] === i;
    context.font = labelFont(scene.font, locked || active);
    context.fillStyle = axis.special[index] ? theme.muted : theme.text;
    if (scene.highlighted[side].has(i)) context.fillStyle = theme.second;
    if (locked || active) context.fillStyle = theme.accent;
    context.globalAlpha = Number.isNaN(weight) ? 0.45 : 1;
    const align = way === 1 ? "left" : "right";
    drawToken(context, labelOf(axis, index), x, y, align, layout.labelWidth);
    context.globalAlpha = 1;
    if (locked) paintLock(context, x - way * GAP, y, theme.accent);
    if (weight !== undefined && weight > 0)
      paintWeight(context, layout, scene, column, y, weight, most, cssWord(table[170]));
    if (i > 0 && axis.segments[index] !== axis.segments[shown[i - 1] ?? 0]) {
      context.fillStyle = theme.muted;
      const near = way === 1 ? x : x - layout.labelWidth;
      context.fillRect(near, Math.round(y - ROW_HEIGHT / 2), layout.labelWidth, 1);
    }
  }
}

/** A filled diamond at the line's end: a lock shows by shape as well as by colour. */
function paintLock(context: CanvasRenderingContext2D, x: number, y: number, colour: string): void {
  context.fillStyle = colour;
  context.beginPath();
  for (const [dx, dy] of [
    [0, -4],
    [4, 0],
    [0, 4],
    [-4, 0],
  ] as const)
    context.lineTo(x + dx, y + dy);
  context.fill();
}

function paintWeight(
  context: CanvasRenderingContext2D,
  layout: LinesLayout,
  scene: Scene,
  { x, way }: Column,
  y: number,
  weight: number,
  most: number,
  colour: string,
): void {
  const number = x + way * (layout.labelWidth + GAP + (way === 1 ? NUMBER_WIDTH : 0));
  context.font = labelFont(scene.font, false, AXIS_LABEL_SIZE);
  context.fillStyle = scene.theme.text;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillText(scene.print(weight), number, y);
  const length = Math.max(1, (layout.barWidth * weight) / most);
  const bar = x + way * (layout.labelWidth + 2 * GAP + NUMBER_WIDTH);
  context.fillStyle = colour;
  context.fillRect(way === 1 ? bar : bar - length, y - BAR_HEIGHT / 2, length, BAR_HEIGHT);
}
