import { clamp } from "../shared/clamp.js";
import { AXIS_LABEL_SIZE, LABEL_SIZE, labelFont } from "../shared/labels.js";
import type { Look } from "../shared/mount.js";
import type { Pen } from "../shared/pen.js";
import { wrapped } from "../shared/text_width.js";
import { paintStrip } from "../shared/tick_strip.js";
import { HEADINGS, printed, type RowTexts, type StripScene, titleOf } from "./scene.js";

/** Further apart a row's numbers are not seen together. */
const WIDEST = 1184;
/** The narrowest column of names. */
const LEAST = 72;
/** What strips take of the width, however long names are. */
const SHARE = 0.55;
/** After each column but the last. */
export const GAP = 12;
/** Over and under what a row holds. */
const PADDING = 4;
const LINE = 16;
const TITLE = LINE + PADDING;
const HEADING = LINE + 2 * PADDING;
export const STRIP_HEIGHT = 16;
const ENDS = { size: 10, line: 12, inset: 4 };

/** A row, under a line of 1 pixel. */
export interface PlacedRow extends RowTexts {
  y: number;
  height: number;
  /** The metric's name. */
  lines: string[];
}

/** Where the table's columns and rows lie, in whole pixels: a page's table takes no others. */
export interface StripLayout {
  width: number;
  height: number;
  /** Of the four columns; between two there is a gap. */
  columns: [name: number, value: number, strip: number, percentile: number];
  rows: PlacedRow[];
}

export function stripLayout(scene: StripScene, look: Omit<Look, "theme">): StripLayout {
  const { font, ruler } = look;
  const measure = ruler(labelFont(font, false, LABEL_SIZE));
  const heading = ruler(labelFont(font, false, AXIS_LABEL_SIZE));
  const texts = scene.rows.map(printed);
  const titles = scene.rows.map(({ title }) => title);
  const widest = (column: 0 | 1 | 3, of: string[]) =>
    Math.ceil(Math.max(heading(HEADINGS[column]), ...of.map(measure)));
  const names = widest(0, titles);
  // With the numbers at the ends, so that columns stay from head to head.
  const value = widest(
    1,
    texts.flatMap(({ value, low, high }) => [value, low, high]),
  );
  const percentile = widest(3, [...texts.map(({ percentile }) => percentile), "100\u00a0%"]);
  const narrowest = Math.ceil(heading(HEADINGS[2]));
  const others = value + percentile + 3 * GAP;
  const width = Math.max(Math.min(Math.floor(look.width), WIDEST), LEAST + narrowest + others);
  const left = width - others;
  // Names have what they need, as far as strips keep their share or names have but a quarter.
  const most = Math.max(Math.round(width / 4), left - Math.round(SHARE * width));
  const name = Math.min(clamp(most, LEAST, names), left - narrowest);
  const strip = left - name;
  let y = TITLE + HEADING;
  const rows = texts.map((text, i): PlacedRow => {
    const lines = wrapped(titles[i] ?? "", name, measure);
    const inner = Math.max(STRIP_HEIGHT + ENDS.line, LINE * lines.length);
    const row = { y, height: 1 + inner + 2 * PADDING, lines, ...text };
    y += row.height;
    return row;
  });
  return { width, height: y, columns: [name, value, strip, percentile], rows };
}

const TITLE_SIZE = 13;

/** The table as a page has it in its elements: a title, headings, a row a metric. */
export function paintTable(
  pen: Pen,
  layout: StripLayout,
  scene: StripScene,
  { theme, font }: Look,
): void {
  const [name, value, strip] = layout.columns;
  const left = name + value + 2 * GAP;
  /** Where the texts of the columns end, or begin. */
  const places = [0, name + GAP + value, left, layout.width] as const;
  pen.textBaseline = "middle";
  const write = (text: string, x: number, y: number, size: number, right = false) => {
    pen.font = labelFont(font, false, size);
    pen.textAlign = right ? "right" : "left";
    pen.fillText(text, x, y);
  };
  pen.fillStyle = theme.text;
  pen.font = labelFont(font, true, TITLE_SIZE);
  pen.fillText(titleOf(scene), 0, LINE / 2);
  pen.fillStyle = theme.muted;
  for (const [i, text] of HEADINGS.entries())
    write(text, places[i] ?? 0, TITLE + HEADING / 2, AXIS_LABEL_SIZE, i % 2 === 1);
  for (const [i, row] of layout.rows.entries()) {
    const metric = scene.rows[i];
    if (!metric) continue;
    pen.fillStyle = theme.hairline;
    pen.fillRect(0, row.y, layout.width, 1);
    const top = row.y + 1 + PADDING;
    const middle = top + LINE / 2;
    pen.fillStyle = theme.text;
    for (const [k, line] of row.lines.entries()) write(line, 0, middle + k * LINE, LABEL_SIZE);
    write(row.value, places[1], middle, LABEL_SIZE, true);
    write(row.percentile, places[3], middle, LABEL_SIZE, true);
    pen.save();
    pen.translate(left, top);
    const { values, low, high } = metric;
    paintStrip(pen, [strip, STRIP_HEIGHT], theme, values, [low, high], scene.marked);
    pen.restore();
    const under = top + STRIP_HEIGHT + ENDS.line / 2;
    pen.fillStyle = theme.muted;
    write(row.low, left + ENDS.inset, under, ENDS.size);
    write(row.high, left + strip - ENDS.inset, under, ENDS.size, true);
  }
}
