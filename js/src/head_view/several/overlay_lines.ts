import { clamp } from "../../shared/clamp.js";
import { cssWord, levelOf } from "../../shared/color_levels.js";
import type { Pen } from "../../shared/pen.js";
import { type Lines, MOST_LINES } from "../lines/lines_choose.js";
import { linesRange } from "../lines/lines_focus.js";
import { type LinesLayout, rowCenter, rowsInSight } from "../lines/lines_layout.js";
import { leads, type Scene } from "../scene.js";
import { weightAt } from "../source/source_of.js";
import { LEVELS } from "./head_colors.js";

const GAP = 8;
const WIDEST_CELL = 12;
/** Height of the bars above the cells, in the colors of their heads. */
const KEY_HEIGHT = 3;

/**
 * Merge the lines of several heads, weakest first. Levels become entries in the concatenated tables
 * of the heads.
 */
export function together(lists: Lines[]): Lines {
  const [only] = lists;
  if (only && lists.length === 1) return only;
  const counts = new Int32Array(LEVELS + 1);
  for (const { level } of lists) for (const at of level) counts[at + 1] = (counts[at + 1] ?? 0) + 1;
  for (let i = 1; i <= LEVELS; i++) counts[i] = (counts[i] ?? 0) + (counts[i - 1] ?? 0);
  const total = counts[LEVELS] ?? 0;
  const tooMany = Math.max(0, total - MOST_LINES);
  const count = total - tooMany;
  const leftOut = tooMany + lists.reduce((sum, list) => sum + list.leftOut, 0);
  const query = new Int32Array(count);
  const key = new Int32Array(count);
  const level = new Uint16Array(count);
  for (const [head, list] of lists.entries())
    for (let i = 0; i < list.count; i++) {
      const at = list.level[i] ?? 0;
      const place = (counts[at] ?? 0) - tooMany;
      counts[at] = (counts[at] ?? 0) + 1;
      if (place < 0) continue;
      query[place] = list.query[i] ?? 0;
      key[place] = list.key[i] ?? 0;
      level[place] = head * LEVELS + at;
    }
  return { count, query, key, level, leftOut };
}

/** Return the position and width of the cells next to the labels of a side. */
export function cellsBeside(
  at: LinesLayout,
  side: "query" | "key",
  count: number,
): { x: number; cell: number } {
  const room = (side === "query" ? at.x0 : at.width - at.x1) - at.labelWidth - 3 * GAP;
  const cell = clamp(Math.floor(room / count), 2, WIDEST_CELL);
  const near = at.labelWidth + 2 * GAP;
  return { cell, x: side === "query" ? at.x0 - near - count * cell : at.x1 + near };
}

/**
 * Draw the weights between the leading token and each token of the other side, as a column of cells
 * per head.
 */
export function paintHeadCells(pen: Pen, at: LinesLayout, scene: Scene, table: Uint32Array): void {
  const members = scene.map.members ?? [];
  const lead = leads(scene);
  const toLevel = levelOf(scene.state.scale, linesRange(scene).maximum);
  for (const side of ["query", "key"] as const) {
    const { start, end } = rowsInSight(at, side);
    const pitch = at.pitch[side];
    const from = side === "query" ? lead.key : lead.query;
    if (from === undefined) continue;
    const { x, cell } = cellsBeside(at, side, members.length);
    const width = cell > 3 ? cell - 1 : cell;
    for (const [head, map] of members.entries()) {
      const left = x + head * cell;
      pen.fillStyle = cssWord(table[head * LEVELS + LEVELS - 1]);
      pen.fillRect(left, 0, width, KEY_HEIGHT);
      for (let i = start; i < end; i++) {
        const weight = side === "query" ? weightAt(map, i, from) : weightAt(map, from, i);
        const level = toLevel(weight);
        if (!(level > 0)) continue;
        pen.fillStyle = cssWord(table[head * LEVELS + level]);
        pen.fillRect(left, rowCenter(at, side, i) - pitch / 2 + 1, width, Math.max(1, pitch - 2));
      }
    }
  }
}
