import { canvasSize, corner, type Hand, pitches } from "../shared/cells.js";
import { inkOf } from "../shared/ink.js";
import { AXIS_LABEL_SIZE, labelFont, shorten, spelledOf, write } from "../shared/labels.js";
import type { Pen } from "../shared/pen.js";
import { type LayerHeads, LEVEL, NUMBER } from "./layer_heads.js";
import type { Scene } from "./scene.js";
import { type LayerAnswer, othersOf } from "./word_answers.js";

/** Font size of heads and shares. */
const SMALL = 10;
/** Distance between the two lines of an answer, and row height from which an answer has two. */
const LINE = 12;
const TWO_LINES = 24;
/** Width of the line beside the present layer, and space around texts. */
const STROKE = 2.5;
const PAD = 6;
/** Opacity of the color behind the present layer. */
const TINT = 0.12;
/** Height of the colors of shares under the columns, and space around them. */
const INK = 5;
const GAP = 2;
/** Column width from which rotated texts have the size of axis labels. */
const ROOMY = 16;

const share = (weight: number) => String(Math.round(100 * weight));

/** Return the layer of the shown head; -1 if it is not in this grid. */
function presentLayer({ selected, heads }: Scene): number {
  const last = selected.at(-1);
  return last ? last[heads?.side === "column" ? 1 : 0] : -1;
}

/** Return the word of an answer, or its percentage for a locked pair, and the other text. */
function textsOf(scene: Scene, { isPair }: LayerHeads, answer: LayerAnswer) {
  const { asked, state } = scene;
  if (isPair) return { main: `${share(answer.weight)}\u00a0%`, more: `H${answer.head}` };
  const axis = asked && othersOf(asked.rows, state._axes);
  const isOneText = state._axes.query.text.join() === state._axes.key.text.join();
  const isItself = isOneText && answer.other === asked?.rows.of;
  const main = isItself ? "self" : axis ? spelledOf(axis, answer.other) : "";
  return { main, more: `H${answer.head} · ${share(answer.weight)}` };
}

/** Draw a tint behind the present layer. */
function tint(pen: Pen, { theme }: Scene, x: number, y: number, width: number, height: number) {
  if (theme.forced) return;
  pen.globalAlpha = TINT;
  pen.fillStyle = theme.accent;
  pen.fillRect(x, y, width, height);
  pen.globalAlpha = 1;
}

/** Draw the strongest head of each layer left of its row, and mark the present layer. */
export function paintRowHeads(
  pen: Pen,
  scene: Scene,
  heads: LayerHeads,
  [left, top]: Hand["scrolled"],
): void {
  const { layout, theme, font } = scene;
  const right = left + layout.x0 - PAD - 2;
  const present = presentLayer(scene);
  const bold = labelFont(font, true, AXIS_LABEL_SIZE);
  const small = labelFont(font, false, SMALL);
  const plain = labelFont(font, false, AXIS_LABEL_SIZE);
  const measureIn = (style: string) => (text: string) => {
    pen.font = style;
    return pen.measureText(text).width;
  };
  for (const [row, answer] of heads.answers.entries()) {
    const [, y] = corner(layout, [row, 0]);
    if (y + layout.tall / 2 < top + layout.y0) continue;
    const middle = y + layout.tall / 2;
    const isPresent = row === present;
    if (isPresent) {
      tint(pen, scene, left, y, layout.x0 - layout.gap, layout.tall);
      pen.fillStyle = theme.accent;
      pen.fillRect(left, y, STROKE, layout.tall);
    }
    const number = String(row);
    const numberWidth = measureIn(bold)(number);
    pen.font = isPresent ? bold : plain;
    write(pen, number, [left + PAD, middle], isPresent ? theme.text : theme.muted);
    if (!answer?.standsOut) {
      if (answer || !scene.emptyRows.includes(row))
        write(pen, "–", [right, middle], theme.muted, "right");
      continue;
    }
    const { main, more } = textsOf(scene, heads, answer);
    const quiet = isPresent ? theme.text : theme.muted;
    const room = right - left - 2 * PAD - numberWidth;
    if (layout.tall >= TWO_LINES) {
      const size = [AXIS_LABEL_SIZE, SMALL].find(
        (each) => measureIn(labelFont(font, true, each))(main) <= room,
      );
      const style = labelFont(font, true, size ?? SMALL);
      const word = shorten(measureIn(style), main, room);
      pen.font = style;
      write(pen, word, [right, middle - LINE / 2], theme.text, "right");
      pen.font = small;
      write(pen, more, [right, middle + LINE / 2], quiet, "right");
      continue;
    }
    const tail = heads.isPair ? more : share(answer.weight);
    const tailWidth = measureIn(small)(tail);
    write(pen, tail, [right, middle], quiet, "right");
    const style = labelFont(font, true, SMALL);
    const end = right - tailWidth - GAP - 1;
    const word = shorten(measureIn(style), main, room - tailWidth - GAP - 1);
    pen.font = style;
    write(pen, word, [end, middle], theme.text, "right");
  }
}

/** Draw the strongest head of each layer under its column, and frame the present layer. */
export function paintColumnHeads(
  pen: Pen,
  scene: Scene,
  heads: LayerHeads,
  [left]: Hand["scrolled"],
): void {
  const { layout, theme, font } = scene;
  const [, down] = pitches(layout);
  const top = layout.y0 + layout.rows * down;
  const height = (layout.foot ?? 0) - GAP;
  const present = presentLayer(scene);
  const first = top + GAP + INK + PAD / 2;
  for (const [column, answer] of heads.answers.entries()) {
    const [x] = corner(layout, [0, column]);
    if (column === present) {
      tint(pen, scene, x, top, layout.cell, height);
      pen.strokeStyle = theme.accent;
      pen.lineWidth = 2;
      pen.strokeRect(x - 1, top - 1, layout.cell + 2, height);
    }
    if (!answer?.standsOut) {
      if (!answer && scene.emptyRows.includes(column)) continue;
      pen.font = labelFont(font, false, SMALL);
      write(pen, "–", [x + layout.cell / 2, first + PAD], theme.muted, "center");
      continue;
    }
    pen.fillStyle = inkOf(theme, answer.weight).ground;
    pen.fillRect(x + 1, top + GAP, layout.cell - 2, INK);
    if (layout.cell >= LEVEL) paintLevel(pen, scene, heads, answer, x, first);
    else paintNarrow(pen, scene, heads, answer, x, first);
  }
  if (left) {
    pen.fillStyle = theme.background;
    pen.fillRect(left, top - 1, layout.x0 - layout.gap, canvasSize(layout)[1] - top + 1);
  }
  pen.font = labelFont(font, false, AXIS_LABEL_SIZE);
  write(pen, "best", [left + layout.x0 - 8, top + GAP + INK], theme.muted, "right");
}

/** Draw an answer on two lines. */
function paintLevel(
  pen: Pen,
  scene: Scene,
  heads: LayerHeads,
  answer: LayerAnswer,
  x: number,
  top: number,
): void {
  const { layout, theme, font } = scene;
  const middle = x + layout.cell / 2;
  const { main, more } = textsOf(scene, heads, answer);
  const measureIn = (isBold: boolean) => (text: string) => {
    pen.font = labelFont(font, isBold, SMALL);
    return pen.measureText(text).width;
  };
  const room = layout.cell - GAP;
  const word = shorten(measureIn(measureIn(true)(main) <= room), main, room);
  write(pen, word, [middle, top + LINE / 2], theme.text, "center");
  pen.font = labelFont(font, false, SMALL);
  write(pen, more, [middle, top + LINE / 2 + LINE], theme.text, "center");
}

/** Draw the word and its share from the top down, or the share of a pair. */
function paintNarrow(
  pen: Pen,
  scene: Scene,
  heads: LayerHeads,
  answer: LayerAnswer,
  x: number,
  top: number,
): void {
  const { layout, theme, font } = scene;
  const number = share(answer.weight);
  const { main } = textsOf(scene, heads, answer);
  const text = heads.isPair ? number : `${main} ${number}`;
  const room = (layout.foot ?? 0) - (top - layout.y0 - layout.rows * pitches(layout)[1]) - 2 * GAP;
  const measureIn = (size: number) => (part: string) => {
    pen.font = labelFont(font, false, size);
    return pen.measureText(part).width;
  };
  const isLarge = layout.cell >= ROOMY && measureIn(AXIS_LABEL_SIZE)(text) <= room;
  const measure = measureIn(isLarge ? AXIS_LABEL_SIZE : SMALL);
  const left = room - measure(` ${number}`);
  const word = heads.isPair ? "" : `${shorten(measure, main, left)} `;
  if (heads.isPair && layout.cell >= NUMBER) {
    pen.font = labelFont(font, false, SMALL);
    write(pen, number, [x + layout.cell / 2, top + PAD], theme.text, "center");
    return;
  }
  pen.save();
  pen.translate(x + layout.cell / 2, top);
  pen.rotate(Math.PI / 2);
  write(pen, `${word}${number}`, [0, 0], theme.text);
  pen.restore();
}
