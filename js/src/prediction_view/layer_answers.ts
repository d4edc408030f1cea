import { clamp } from "../shared/clamp.js";
import { AXIS_LABEL_SIZE, drawToken, labelFont, shorten, write } from "../shared/labels.js";
import type { Look } from "../shared/mount.js";
import type { Pen } from "../shared/pen.js";
import { shareText } from "../shared/percent_text.js";
import type { PredictionState } from "./state.js";

const TITLE = 20;
const ROW = 18;
const GAP = 8;
const ABOVE = 24;
const BAR = 10;
const WIDEST_ANSWER = 160;
const LONGEST = 240;
const NAME = "Answer after each layer (logit lens)";

/** Most probable answer after a layer. */
interface LayerAnswer {
  layer: string;
  answer: string;
  probability: number;
  /** Probability of the followed answer. */
  followed: number;
  text: string;
  /** Vertical center of the row. */
  y: number;
}

/** Layout of the answers after all layers, or the reason why there are none. */
export interface LayerAnswers {
  title: string;
  note: string;
  rows: LayerAnswer[];
  top: number;
  /** Start of layer names, answers and bars, and right end of numbers. */
  answers: number;
  start: number;
  numbers: number;
  longest: number;
  height: number;
}

/** Return the strip below the answers; null if it is not requested. */
export function layerAnswersOf(
  { lens, _lens }: PredictionState,
  { width, font, ruler }: Look,
  below: number,
): LayerAnswers | null {
  if (!lens) return null;
  const top = below + ABOVE;
  const rows = _lens?.rows ?? [];
  const measure = ruler(labelFont(font));
  const small = ruler(labelFont(font, false, AXIS_LABEL_SIZE));
  const widest = (texts: string[]) => Math.ceil(Math.max(0, ...texts.map(measure)));
  const texts = rows.map(({ probability }) => shareText(probability));
  const answers = widest(rows.map(({ layer }) => layer)) + 2 * GAP;
  const room = Math.min(widest(rows.map(({ answer }) => answer)), WIDEST_ANSWER);
  const start = answers + room + GAP;
  const number = widest(texts) + GAP;
  const longest = clamp(width - start - number, 24, LONGEST);
  const problem = _lens?.problem || (_lens ? "" : "The model is being asked …");
  return {
    title: NAME,
    note: shorten(small, problem || "stroke: the answer that the effects are of", width),
    rows: rows.map((row, i) => ({
      ...row,
      text: texts[i] ?? "",
      y: top + 2 * TITLE + (i + 0.5) * ROW,
    })),
    top,
    answers,
    start,
    numbers: start + longest + number,
    longest,
    height: ABOVE + 2 * TITLE + rows.length * ROW,
  };
}

/** Draw a row per layer: its name, its most probable answer, and the probability as a bar. */
export function paintLayerAnswers(pen: Pen, strip: LayerAnswers, { theme, font }: Look): void {
  const { title, note, rows, top, answers, start, numbers, longest } = strip;
  pen.font = labelFont(font, true, AXIS_LABEL_SIZE);
  write(pen, title, [0, top + TITLE / 2], theme.text);
  pen.font = labelFont(font, false, AXIS_LABEL_SIZE);
  write(pen, note, [0, top + TITLE * 1.5 - 2], theme.muted);
  for (const { layer, answer, probability, followed, text, y } of rows) {
    pen.font = labelFont(font);
    write(pen, layer, [0, y], theme.muted);
    pen.fillStyle = theme.text;
    drawToken(pen, answer, answers, y, "left", start - GAP - answers);
    pen.fillStyle = theme.accent;
    pen.fillRect(start, y - BAR / 2, Math.max(1, longest * probability), BAR);
    pen.fillStyle = theme.text;
    pen.fillRect(start + longest * followed - 1, y - BAR / 2 - 2, 2, BAR + 4);
    write(pen, text, [numbers, y], theme.text, "right");
  }
}
