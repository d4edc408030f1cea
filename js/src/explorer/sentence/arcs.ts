import {
  ARC_WIDTH,
  type ArcLook,
  type ArcPath,
  arcBetweenLines,
  FAINT,
  opacityOf,
  roundArc,
  roundHeight,
  widthOf,
} from "../../shared/arc.js";
import { lineColor } from "../../shared/ink.js";
import type { Theme } from "../../shared/theme.js";
import { type Box, NUMBER_HEIGHT } from "./layout.js";
import { leastDrawn } from "./looks.js";
import type { Reading } from "./reading.js";

/** Largest height of arcs above a sentence of one line, and of several lines. */
const HIGHEST = { one: 46, several: 24 };
/** Number of strongest words that show a number. */
const NUMBERED = 3;
/** Weight below which a word shows no number. */
const LEAST_NUMBER = 0.08;

/** Arc from a query to a key. */
export interface Arc {
  key: number;
  weight: number;
  path: ArcPath;
  look: ArcLook;
}

/** Mark of a word: its weight as a background color (0 for none), and whether it shows a number. */
export interface Mark {
  weight: number;
  isNumbered: boolean;
}

/** Return the marks of the words, by key: of links and of numbered words. */
export function marksOf(reading: Reading): Map<number, Mark> {
  const { looks, from, to, isOff, isOneText, quantity, scaled } = reading;
  const marks = new Map<number, Mark>();
  if (!looks || from === undefined || isOff || quantity !== "weights") return marks;
  const least = leastDrawn(looks);
  const numbered = looks.seen
    .filter(({ weight }) => weight >= Math.max(2 * looks.even, LEAST_NUMBER))
    .slice(0, NUMBERED)
    .map(({ key }) => key);
  for (const { key, weight } of looks.seen) {
    const isCut = scaled?.key === key && scaled.factor === 0;
    const isLink = weight >= least && !(isOneText && key === from) && !isCut;
    const isNumbered = numbered.includes(key) || key === to;
    if (isLink || isNumbered) marks.set(key, { weight: isLink ? weight : 0, isNumbered });
  }
  return marks;
}

/** Return the weight that is printed below a word. */
export const numberOf = ({ looks, scaled }: Reading, key: number): number =>
  scaled?.key === key && scaled.factor === 0 ? 0 : (looks?.row[key] ?? 0);

/** Return the arcs above the words; the strongest is drawn last. */
export function arcsOf(
  reading: Reading,
  boxOf: (side: "query" | "key", at: number) => Box | undefined,
  isOneLine: boolean,
  theme: Theme,
): Arc[] {
  const { from, to, scaled } = reading;
  if (from === undefined) return [];
  const start = boxOf("query", from);
  if (!start) return [];
  const arcs: Arc[] = [];
  for (const [key, { weight, isNumbered }] of marksOf(reading)) {
    const foot = isNumbered ? NUMBER_HEIGHT : 0;
    const end = boxOf("key", key);
    const isScaled = scaled?.key === key;
    if (!end || !(weight || isScaled)) continue;
    arcs.push({
      key,
      weight,
      path: arcPath(start, end, isOneLine, foot),
      look: isScaled
        ? scaledLook(scaled.factor, weight, theme)
        : {
            color: lineColor(theme),
            width: widthOf(weight),
            opacity: to !== undefined && to !== key ? FAINT : opacityOf(theme),
          },
    });
  }
  return arcs.sort((a, b) => a.weight - b.weight);
}

/** Return the look of the arc of a changed link: dashed if it is cut. */
const scaledLook = (factor: number, weight: number, theme: Theme): ArcLook => ({
  color: theme.wrong,
  width: factor === 0 ? ARC_WIDTH : widthOf(weight, ARC_WIDTH),
  isDashed: factor === 0,
});

/** Return an arc between two words, over their line or between their lines. */
export const arcPath = (start: Box, end: Box, isOneLine: boolean, foot = 0): ArcPath =>
  Math.abs(start.y - end.y) > start.height / 2
    ? toOtherLine(start, end, foot)
    : overLine(start, end, isOneLine);

const middle = ({ x, width }: Box) => x + width / 2;

/** Return an arc above the line of both words. */
function overLine(start: Box, end: Box, isOneLine: boolean): ArcPath {
  const [from, to] = [middle(start), middle(end)];
  const y = Math.min(start.y, end.y) + 2;
  const height = roundHeight(to - from, isOneLine ? HIGHEST.one : HIGHEST.several);
  return roundArc([from, y], [to, y], height, 1);
}

/** Return an arc from a word down to a word of another line, or up to the number below a word. */
function toOtherLine(start: Box, end: Box, foot: number): ArcPath {
  const isUp = end.y < start.y;
  return arcBetweenLines(
    [middle(start), isUp ? start.y : start.y + start.height - 2],
    [middle(end), isUp ? end.y + end.height - 3 + foot : end.y],
  );
}
