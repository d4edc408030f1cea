import { type Box, NUMBER_HEIGHT } from "./layout.js";
import { leastDrawn } from "./looks.js";
import type { Reading } from "./reading.js";

/** Pixels of the arc of a weight of 1: thickness is linear in the weight. */
const THICKEST = 10;
const ARC_OPACITY = 0.8;
const DIM = 0.15;
/** The height of arcs over a sentence of one line, and over a sentence of several lines. */
const HIGHEST = { one: 46, several: 24 };
/** The strongest words with numbers under them. */
const NUMBERED = 3;
/** Below this weight no number stands under a word. */
const LEAST_NUMBER = 0.08;

/** A curve from a query to a key. */
export interface Arc {
  key: number;
  weight: number;
  /** Start, two control points, end. */
  points: [x: number, y: number][];
  width: number;
  opacity: number;
}

/** What a word of the sentence shows: its weight as a tint, or nothing, and a number. */
export interface Mark {
  weight: number;
  isNumbered: boolean;
}

/** The weights that are drawn on the words, by key: those that are links. */
export function marksOf(reading: Reading): Map<number, Mark> {
  const { looks, from, to, isOff, isOneText, quantity } = reading;
  const marks = new Map<number, Mark>();
  if (!looks || from === undefined || isOff || quantity !== "weights") return marks;
  const least = leastDrawn(looks);
  const numbered = looks.seen
    .filter(({ weight }) => weight >= Math.max(2 * looks.even, LEAST_NUMBER))
    .slice(0, NUMBERED)
    .map(({ key }) => key);
  for (const { key, weight } of looks.seen) {
    const isLink = weight >= least && !(isOneText && key === from);
    const isNumbered = numbered.includes(key) || key === to;
    if (isLink || isNumbered) marks.set(key, { weight: isLink ? weight : 0, isNumbered });
  }
  return marks;
}

/** The weight that stands under a word. */
export const numberOf = ({ looks }: Reading, key: number): number => looks?.row[key] ?? 0;

/** Curves over the words, the strongest drawn last. */
export function arcsOf(
  reading: Reading,
  boxOf: (side: "query" | "key", at: number) => Box | undefined,
  isOneLine: boolean,
): Arc[] {
  const { from, to } = reading;
  if (from === undefined) return [];
  const start = boxOf("query", from);
  if (!start) return [];
  const arcs: Arc[] = [];
  for (const [key, { weight, isNumbered }] of marksOf(reading)) {
    const foot = isNumbered ? NUMBER_HEIGHT : 0;
    const end = boxOf("key", key);
    if (!end || !weight) continue;
    arcs.push({
      key,
      weight,
      points:
        Math.abs(start.y - end.y) > start.height / 2
          ? across(start, end, foot)
          : curve(start, end, isOneLine),
      width: THICKEST * weight,
      opacity: to !== undefined && to !== key ? DIM : ARC_OPACITY,
    });
  }
  return arcs.sort((a, b) => a.weight - b.weight);
}

const middle = ({ x, width }: Box) => x + width / 2;

/** Over the line of both words. */
function curve(start: Box, end: Box, isOneLine: boolean): Arc["points"] {
  const [x1, x2] = [middle(start), middle(end)];
  const y = Math.min(start.y, end.y) + 2;
  const limit = isOneLine ? HIGHEST.one : HIGHEST.several;
  const height = Math.min(limit, 10 + 0.14 * Math.abs(x2 - x1));
  const lean = 0.12 * (x2 - x1);
  const top = y - 1.33 * height;
  return [
    [x1, y],
    [x1 + lean, top],
    [x2 - lean, top],
    [x2, y],
  ];
}

/** From a word down to a word of another line, or up to the number below a word. */
function across(start: Box, end: Box, foot: number): Arc["points"] {
  const isUp = end.y < start.y;
  const y1 = isUp ? start.y : start.y + start.height - 2;
  const y2 = isUp ? end.y + end.height - 3 + foot : end.y;
  const between = (y1 + y2) / 2;
  return [
    [middle(start), y1],
    [middle(start), between],
    [middle(end), between],
    [middle(end), y2],
  ];
}
