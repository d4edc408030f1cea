import { ARC_WIDTH, flatArc, PORT, paintArc } from "../shared/arc.js";
import { clamp } from "../shared/clamp.js";
import { css } from "../shared/color.js";
import { LABEL_SIZE, labelFont, write } from "../shared/labels.js";
import type { Pen } from "../shared/pen.js";
import type { Theme } from "../shared/theme.js";
import { paintWhisker } from "../shared/whisker.js";
import type { EffectRow } from "./card_text.js";
import type { PlacedPiece } from "./example_line.js";
import type { Score } from "./state.js";

/** Height of a row with a bar, and of an example with the arc of its link. */
export const BAR_HEIGHT = 20;
export const EXAMPLE_HEIGHT = 36;
const MIDDLE = BAR_HEIGHT / 2;
/**
 * Vertical position of the text of an example, and positions of the ends and the top of its arc.
 */
export const EXAMPLE_BASE = 25;
const ARC_FOOT = 16;
const ARC_TOP = 3;
const HALF_LINE = 8;
/** Positions on the color scale of scores that may name the head, and of other scores. */
const NAMED = 0.75;
const UNNAMED = 0.45;

/**
 * Draw a score as a bar on an axis from 0 to 1, with its control as a tick and the interval of
 * score minus control as a whisker.
 */
export function paintScore(pen: Pen, theme: Theme, score: Score, width: number): void {
  const length = width - 2;
  const at = (value: number) => 1 + clamp(value, 0, 1) * length;
  pen.fillStyle = theme.hairline;
  pen.fillRect(1, MIDDLE + 6, length, 1);
  pen.fillStyle = css(theme, score.names ? NAMED : UNNAMED);
  pen.fillRect(1, MIDDLE - 4, at(score.score) - 1, 8);
  if (score.low !== null && score.high !== null)
    paintWhisker(
      pen,
      theme,
      [at(score.control + score.low), at(score.control + score.high)],
      MIDDLE,
    );
  pen.fillStyle = theme.second;
  pen.fillRect(at(score.control) - 1, MIDDLE - 7, 2, 14);
}

/** Return the range of the numbers of an effect. It includes 0. */
export function effectRange(rows: EffectRow[]): [low: number, high: number] {
  const values = rows.flatMap(({ values, interval }) => [...values, ...(interval ?? [])]);
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  const reach = high - low || 1;
  return [low - 0.03 * reach, high + 0.03 * reach];
}

/** Draw one row of an effect: its points, its interval and a line at 0. */
export function paintEffect(
  pen: Pen,
  theme: Theme,
  { values, interval }: EffectRow,
  [low, high]: [number, number],
  width: number,
): void {
  const at = (value: number) => 4 + ((value - low) / (high - low)) * (width - 8);
  pen.fillStyle = theme.muted;
  pen.fillRect(at(0) - 0.5, 0, 1, BAR_HEIGHT);
  if (interval) paintWhisker(pen, theme, [at(interval[0]), at(interval[1])], MIDDLE);
  const isOne = values.length === 1;
  pen.fillStyle = isOne ? theme.accent : theme.muted;
  for (const value of values) {
    pen.beginPath();
    pen.arc(at(value), MIDDLE, isOne ? 3.5 : 2.5, 0, 2 * Math.PI);
    pen.fill();
  }
}

/** Draw a sentence with its link as an arc from the query to the key. */
export function paintExample(pen: Pen, theme: Theme, font: string, line: PlacedPiece[]): void {
  pen.textBaseline = "middle";
  for (const { text, x, width, end } of line) {
    pen.font = labelFont(font, false, LABEL_SIZE);
    write(pen, text, [x, EXAMPLE_BASE], end ? theme.text : theme.muted);
    if (!end) continue;
    pen.strokeStyle = theme.accent;
    pen.lineWidth = 1;
    if (end !== "query")
      pen.strokeRect(x - 1, EXAMPLE_BASE - HALF_LINE + 0.5, width + 2, 2 * HALF_LINE - 1);
    pen.fillStyle = theme.accent;
    if (end !== "key") pen.fillRect(x, EXAMPLE_BASE + HALF_LINE - 1, width, 2);
  }
  paintLink(pen, theme, line);
}

function paintLink(pen: Pen, theme: Theme, line: PlacedPiece[]): void {
  const query = line.find(({ end }) => end === "query" || end === "both");
  const key = line.find(({ end }) => end === "key" || end === "both");
  if (!query || !key) return;
  const middle = ({ x, width }: PlacedPiece) => x + width / 2;
  const isOne = query === key;
  const from = middle(query) + (isOne ? PORT : 0);
  const to = middle(key) - (isOne ? PORT : 0);
  const arc = flatArc([from, ARC_FOOT], [to, ARC_FOOT + 1], ARC_FOOT - ARC_TOP);
  paintArc(pen, arc, { color: theme.accent, width: ARC_WIDTH, hasArrow: true });
}
