import { corner, type GridLayout, outline } from "../shared/cells.js";
import { css } from "../shared/color.js";
import { AXIS_LABEL_SIZE, labelFont, write } from "../shared/labels.js";
import type { Look } from "../shared/mount.js";
import type { Pen } from "../shared/pen.js";
import type { Theme } from "../shared/theme.js";
import { paintWhisker } from "../shared/whisker.js";
import { ARROW, directionOf, LINE, NAME, ROW, STAR, type TableLayout } from "./layout.js";
import { type Heat, isBelow, LEVEL, printed, type Row, type Scene } from "./scene.js";
import type { Column } from "./state.js";

/** Height of a row without the line below it. */
const INNER = ROW - 1;
const MIDDLE = INNER / 2;
/** Opacity of the background of the selected row, and width of the mark at its start. */
const CHOSEN = { opacity: 0.14, mark: 2 };
/** Height of the frame around a head's name. */
const CHIP = 18;
/** Distance from the center of a line of text to its baseline, in font sizes. */
const BASELINE = 0.31;
/** Dashes of the bar and the frame of a best head below the offset. */
const DASHED = [3, 2];
/** Font size of the arrow next to a heading. */
const ARROW_SIZE = 8;

/**
 * Draw the accuracy of a row's head as a bar over a line of 100 %, its interval as a line across
 * the end of the bar, and the best offset's accuracy as a tick.
 */
export function paintAccuracy(pen: Pen, theme: Theme, row: Row, width: number): void {
  const length = width - 2;
  const at = (share: number) => 1 + share * length;
  pen.fillStyle = theme.hairline;
  pen.fillRect(1, MIDDLE + 6, length, 1);
  const color = css(theme, 0.45);
  if (isBelow(row)) {
    pen.strokeStyle = color;
    pen.lineWidth = 1;
    pen.setLineDash(DASHED);
    pen.strokeRect(1.5, MIDDLE - 3.5, Math.max(0, row.accuracy * length - 1), 7);
    pen.setLineDash([]);
  } else {
    pen.fillStyle = color;
    pen.fillRect(1, MIDDLE - 4, row.accuracy * length, 8);
  }
  paintWhisker(pen, theme, [at(row.low), at(row.high)], MIDDLE);
  pen.fillStyle = theme.second;
  pen.fillRect(at(row.baseline) - 1, MIDDLE - 7, 2, 14);
}

/** Draw the table as on the page. */
export function paintTable(
  pen: Pen,
  layout: TableLayout,
  scene: Scene,
  { theme, font }: Look,
): void {
  const put = (text: string, x: number, color: string, right = false, bold = false) => {
    pen.font = labelFont(font, bold, layout.size);
    write(pen, text, [x, MIDDLE], color, right ? "right" : "left");
  };
  pen.textBaseline = "middle";
  pen.font = labelFont(font, false, AXIS_LABEL_SIZE);
  for (const [i, line] of layout.lines.entries())
    write(pen, line, [0, LINE * (i + 0.5)], theme.muted);
  pen.save();
  pen.translate(0, layout.top);
  paintHeadings();
  for (const [i, row] of scene.rows.entries()) {
    pen.translate(0, ROW);
    paintRow(row, layout.names[i] ?? "", row === scene.chosen);
  }
  pen.restore();

  function paintHeadings(): void {
    for (const name of layout.shown) {
      const { left, right } = layout.columns[name];
      const sorts = scene.state.sort === name;
      const color = sorts ? theme.text : theme.muted;
      const ends = layout.toTheRight.has(name);
      const text = layout.headings[name];
      const x = ends ? right : left + (name === "relation" ? NAME : 0);
      pen.font = labelFont(font, sorts, AXIS_LABEL_SIZE);
      write(pen, text, [x, MIDDLE], color, ends ? "right" : "left");
      if (!sorts) continue;
      const length = pen.measureText(text).width + ARROW / 2;
      const at = [ends ? x - length : x + length, MIDDLE + BASELINE * AXIS_LABEL_SIZE] as const;
      pen.font = labelFont(font, true, ARROW_SIZE);
      pen.textBaseline = "alphabetic";
      write(pen, scene.state.descending ? "▼" : "▲", at, color, "center");
      pen.textBaseline = "middle";
    }
    pen.fillStyle = theme.muted;
    pen.fillRect(0, INNER, layout.width, 1);
  }

  function paintRow(row: Row, name: string, chosen: boolean): void {
    const { columns, chip, frame } = layout;
    const text = printed(row);
    const quiet = chosen ? theme.text : theme.muted;
    if (chosen) {
      pen.fillStyle = theme.accent;
      pen.globalAlpha = CHOSEN.opacity;
      pen.fillRect(0, 0, layout.width, ROW);
      pen.globalAlpha = 1;
      pen.fillRect(0, 0, CHOSEN.mark, INNER);
    }
    pen.fillStyle = theme.hairline;
    pen.fillRect(0, INNER, layout.width, 1);
    if (layout.bar) {
      pen.save();
      pen.translate(columns.accuracy.left, 0);
      paintAccuracy(pen, theme, row, layout.bar);
      pen.restore();
    }
    const ends = (name: Column) => columns[name].right;
    put(name, NAME, theme.text, false, chosen);
    put(text.n, ends("n"), theme.text, true);
    const below = isBelow(row);
    put(text.head, ends("head") - chip, below ? theme.muted : theme.text, true);
    pen.strokeStyle = chosen || below ? theme.muted : theme.hairline;
    pen.lineWidth = 1;
    pen.setLineDash(below ? DASHED : []);
    pen.strokeRect(ends("head") - frame + 0.5, MIDDLE - CHIP / 2 + 0.5, frame - 1, CHIP - 1);
    pen.setLineDash([]);
    put(directionOf(text.direction, layout), columns.direction.left, theme.text);
    put(text.accuracy, ends("accuracy") - layout.interval, theme.text, true, true);
    if (layout.interval) put(text.interval, ends("accuracy"), quiet, true);
    if (layout.shown.includes("other_texts"))
      put(text.other_texts, ends("other_texts"), theme.text, true);
    if (layout.shown.includes("baseline")) {
      put(text.baseline, ends("baseline") - layout.offset, theme.text, true);
      put(text.offset, ends("baseline"), quiet, true);
    }
    put(text.gain, ends("gain"), theme.text, true);
    put(text.star, ends("gain") + STAR / 4, theme.text, false, true);
  }
}

/** Cell size from which every layer and head is numbered. */
const NUMBERED = 16;

/**
 * Draw layers x heads, colored by accuracy. A dot marks heads better than the offset, a frame
 * selected heads.
 */
export function paintHeat(
  pen: Pen,
  layout: GridLayout,
  { heads, scores, most, selected }: Heat,
  look: Look,
): void {
  const { cell } = layout;
  const { theme } = look;
  paintNumbers(pen, layout, look);
  for (const [i, { accuracy, p }] of scores.entries()) {
    if (Number.isNaN(p)) continue; // its layer has no attention
    const [x, y] = corner(layout, [Math.floor(i / heads), i % heads]);
    const t = most > 0 ? accuracy / most : 0;
    pen.fillStyle = css(theme, t);
    pen.fillRect(x, y, cell, cell);
    if (p > LEVEL) continue;
    // The scale runs from the background to a color near the text color, so the dot takes the
    // opposite end.
    pen.fillStyle = t < 0.5 ? theme.text : theme.background;
    pen.beginPath();
    pen.arc(x + cell / 2, y + cell / 2, Math.max(1.5, cell / 10), 0, 2 * Math.PI);
    pen.fill();
  }
  for (const at of selected) outline(pen, layout, at, theme.accent, 2);
}

function paintNumbers(pen: Pen, layout: GridLayout, { theme, font }: Look): void {
  const { rows, cols, x0, y0, cell } = layout;
  const every = cell >= NUMBERED ? 1 : 5;
  pen.font = labelFont(font, false, AXIS_LABEL_SIZE);
  pen.textBaseline = "middle";
  for (let row = 0; row < rows; row += every) {
    const middle = corner(layout, [row, 0])[1] + cell / 2;
    write(pen, String(row), [x0 - 6, middle], theme.muted, "right");
  }
  for (let col = 0; col < cols; col += every) {
    const middle = corner(layout, [0, col])[0] + cell / 2;
    write(pen, String(col), [middle, y0 - 9], theme.muted, "center");
  }
}
