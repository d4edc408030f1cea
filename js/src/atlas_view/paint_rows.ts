import { AXIS_LABEL_SIZE, LABEL_SIZE, labelFont, shorten, write } from "../shared/labels.js";
import type { Pen } from "../shared/pen.js";
import type { Theme } from "../shared/theme.js";
import { headingOf } from "./card_text.js";
import { type AtlasLayout, GAP, NUMBERS } from "./layout.js";
import { printed, type Row } from "./rows.js";
import { type AtlasState, COLUMNS, type Column } from "./state.js";

const ROW = 20;
const MIDDLE = ROW / 2;
/** Widths of the columns other than the names. */
const WIDTHS = { head: 62, strength: 60, "held out": 60, outcome: 120 };
/** Opacity of the background of the selected row, and width of the mark at its start. */
const CHOSEN = { opacity: 0.14, mark: 2 };

export const rowsHeight = (rows: Row[]): number => ROW * (rows.length + 1);

/** Draw the table of heads in a picture. */
export function paintRows(
  pen: Pen,
  theme: Theme,
  font: string,
  { rows, state, width }: { rows: Row[]; state: AtlasState; width: number },
): void {
  const strength = width - WIDTHS.outcome - WIDTHS["held out"];
  const ends: Record<Column, number> = {
    head: 4,
    name: WIDTHS.head,
    strength,
    "held out": strength + WIDTHS["held out"],
    outcome: strength + WIDTHS["held out"] + 2 * GAP,
  };
  const room = strength - WIDTHS.strength - WIDTHS.head;
  const put = (column: Column, text: string, color: string, isBold = false, size = LABEL_SIZE) => {
    pen.font = labelFont(font, isBold, size);
    const isNumber = column === "strength" || column === "held out";
    const shown =
      column === "name" ? shorten((part) => pen.measureText(part).width, text, room) : text;
    write(pen, shown, [ends[column], MIDDLE], color, isNumber ? "right" : "left");
  };
  pen.save();
  pen.textBaseline = "middle";
  for (const column of COLUMNS) {
    const isOrder = column === state.sort;
    const color = isOrder ? theme.text : theme.muted;
    put(column, headingOf(column), color, isOrder, AXIS_LABEL_SIZE);
  }
  pen.fillStyle = theme.muted;
  pen.fillRect(0, ROW - 1, width, 1);
  const chosen = state.selected.at(-1)?.join();
  for (const row of rows) {
    pen.translate(0, ROW);
    const isChosen = row.head.join() === chosen;
    if (isChosen) {
      pen.fillStyle = theme.accent;
      pen.globalAlpha = CHOSEN.opacity;
      pen.fillRect(0, 0, width, ROW);
      pen.globalAlpha = 1;
      pen.fillRect(0, 0, CHOSEN.mark, ROW - 1);
    }
    pen.fillStyle = theme.hairline;
    pen.fillRect(0, ROW - 1, width, 1);
    const texts = printed(row);
    for (const column of COLUMNS) {
      const isQuiet = column === "name" && !row.name && !isChosen;
      put(column, texts[column], isQuiet ? theme.muted : theme.text, isChosen && column === "head");
    }
  }
  pen.restore();
}

/** Row of the card: a name, a bar and numbers. */
export interface BarRow {
  label: string;
  isBold: boolean;
  /** Number in the text color, and number in the muted color. */
  numbers: [text: string, muted: string];
  paint(pen: Pen): void;
}

/** Draw rows of bars with equal heights, as in the table of the page. */
export function paintBarRows(
  pen: Pen,
  theme: Theme,
  font: string,
  { rows, layout, height }: { rows: BarRow[]; layout: AtlasLayout; height: number },
): void {
  const { label, bar } = layout;
  const end = label + bar + 2 * GAP + NUMBERS;
  pen.save();
  pen.textBaseline = "middle";
  for (const row of rows) {
    pen.font = labelFont(font, row.isBold);
    const name = shorten((part) => pen.measureText(part).width, row.label, label);
    write(pen, name, [0, height / 2], theme.text);
    const [text, muted] = row.numbers;
    pen.font = labelFont(font);
    const tail = muted && text ? `   ${muted}` : muted;
    write(pen, tail, [end, height / 2], theme.muted, "right");
    pen.font = labelFont(font);
    const taken = pen.measureText(tail).width;
    write(pen, text, [end - taken, height / 2], theme.text, "right");
    pen.save();
    pen.translate(label + GAP, 0);
    row.paint(pen);
    pen.restore();
    pen.translate(0, height);
  }
  pen.restore();
}
