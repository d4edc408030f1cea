import { isRtl } from "../../shared/bidi.js";
import { clamp } from "../../shared/clamp.js";
import { labelFont, labelOf } from "../../shared/labels.js";
import type { Axis, Side } from "../../shared/types.js";
import { ANGLE } from "../matrix/matrix_layout.js";
import { type Scene, widestOf } from "../scene.js";
import type { Target } from "../source/target.js";
import type { Lines } from "./lines_choose.js";
import { nearestLine } from "./lines_layout.js";

/** Between a line's end and the token. */
export const TOKEN_GAP = 6;
/** Between tokens that stand upright, at least. */
const BETWEEN = 8;
/** Tokens that have room are drawn no further apart. */
const MOST_BETWEEN = 28;
/** The room of the lines, from the upper to the lower row of tokens. */
const LEAST_AREA = 130;
const MOST_AREA = 250;
const PADDING = 4;
/** The longest bar of a weight, and its number. */
export const BAR = 26;
/** Of sloping tokens, longer ones end with an ellipsis. */
const LONGEST = 120;
const LONGEST_SHARE = "99\u00a0%";
/** The names of the rows stand before the tokens. */
const NAME = 36;

/** The size of the letters of numbers, for the size of the letters of tokens. */
export const numberSize = (size: number): number => Math.max(10, size - 2);

/** Where the two rows of tokens and the lines between them lie, in CSS pixels. */
export interface RowsLayout {
  width: number;
  height: number;
  /** Whether tokens are written as a text; else they slope. */
  upright: boolean;
  /** The longest token. */
  labelWidth: number;
  /** The middle of each token, and the room from one token to the next. */
  middles: Record<Side, number[]>;
  rooms: Record<Side, number[]>;
  /** The first token stands at the right. */
  rightToLeft: boolean;
  /** The lines' ends. */
  y0: number;
  y1: number;
  /** Where the tokens begin, without the names of the rows. */
  x0: number;
  x1: number;
}

/** Whether most tokens with letters belong to a script that is written from right to left. */
export function readsRightToLeft({ text, special }: Axis): boolean {
  const words = text.filter((word, i) => !special[i] && /\p{L}/u.test(word));
  return words.filter(isRtl).length > words.length / 2;
}

export function rowsLayout(scene: Scene): RowsLayout {
  const { map, axes, size, ruler, font } = scene;
  const shown = { query: map.rows, key: map.cols };
  const sides = ["query", "key"] as const;
  const measure = ruler(labelFont(font, true, size));
  // The share of a token stands below or above it, in smaller letters.
  const share = ruler(labelFont(font, false, numberSize(size)))(LONGEST_SHARE) + 2;
  const natural = (side: Side) =>
    shown[side].map((i) => Math.max(share, measure(labelOf(axes[side], i)) + BETWEEN));
  const widths = { query: natural("query"), key: natural("key") };
  const total = (of: number[]) => of.reduce((sum, width) => sum + width, 0);
  const count = Math.max(1, map.rows.length, map.cols.length);
  const room = Math.max(120, scene.room - NAME - PADDING);
  const widest = Math.max(...sides.map((side) => total(widths[side])));
  const upright = widest <= room;
  const longest = Math.max(widestOf(scene, "query", size), widestOf(scene, "key", size));
  const labelWidth = upright ? longest : Math.min(longest, LONGEST);
  const overhang = upright ? 0 : Math.ceil(labelWidth * Math.cos(ANGLE));
  // Sloping tokens need the height of a letter each; where that is too wide, the figure scrolls.
  const pitch = Math.max(size + 2, Math.floor((room - 2 * overhang) / count));
  // Rounded down, because a sum that is larger than the room by a rounding would be cut.
  const free = Math.floor((10 * (room - widest)) / count) / 10;
  const spare = upright ? Math.min(MOST_BETWEEN - BETWEEN, free) : 0;
  const rooms = { query: [] as number[], key: [] as number[] };
  for (const side of sides)
    rooms[side] = widths[side].map((width) => (upright ? width + spare : Math.min(pitch, 40)));
  const x0 = NAME + overhang;
  const across = Math.max(...sides.map((side) => total(rooms[side])));
  const rightToLeft = readsRightToLeft(axes.key);
  const middles = { query: [] as number[], key: [] as number[] };
  for (const side of sides) {
    let at = 0;
    for (const width of rooms[side]) {
      const middle = at + width / 2;
      middles[side].push(Math.round(2 * (x0 + (rightToLeft ? across - middle : middle))) / 2);
      at += width;
    }
  }
  const label = upright ? size + 4 : Math.ceil(labelWidth * Math.sin(ANGLE)) + size / 2;
  const beside = PADDING + BAR + size + label + TOKEN_GAP;
  const area = Math.round(clamp(across * 0.3, LEAST_AREA, MOST_AREA));
  return {
    width: Math.ceil(x0 + across + overhang + PADDING),
    height: 2 * beside + area,
    upright,
    labelWidth,
    middles,
    rooms,
    rightToLeft,
    y0: beside,
    y1: beside + area,
    x0,
    x1: x0 + across,
  };
}

/** The token of a side at a place; undefined beside the tokens. */
function tokenAt({ middles, rooms }: RowsLayout, side: Side, x: number): number | undefined {
  const at = middles[side].findIndex(
    (middle, i) => Math.abs(x - middle) <= (rooms[side][i] ?? 0) / 2,
  );
  return at < 0 ? undefined : at;
}

/** The token or line under a point. */
export function hitRows(layout: RowsLayout, x: number, y: number, lines: Lines): Target {
  const { y0, y1, middles } = layout;
  if (y <= y0 || y >= y1) {
    const side = y <= y0 ? "query" : "key";
    const index = tokenAt(layout, side, x);
    return index === undefined ? {} : { [side]: index };
  }
  const point = { from: y - y0, length: y1 - y0, along: x };
  return nearestLine(lines, point, (side, index) => middles[side][index] ?? 0);
}
