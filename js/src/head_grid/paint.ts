import {
  type Cell,
  canvasSize,
  corner,
  type GridLayout,
  type Hand,
  hasText,
  NOWHERE,
  outline,
} from "../shared/cells.js";
import { FAMILY_COLORS } from "../shared/families.js";
import {
  AXIS_LABEL_SIZE,
  labelFont,
  type Measure,
  shorten,
  withControlPictures,
  write,
} from "../shared/labels.js";
import { aligned } from "../shared/numbers.js";
import { type Pen, paintRaster, type Raster } from "../shared/pen.js";
import { paintStrike } from "../shared/strike.js";
import type { Theme } from "../shared/theme.js";
import { linesIn, paintAnswers } from "./answer_paint.js";
import { paperStrength } from "./changed_paper.js";
import { hairline } from "./grid_pixels.js";
import { barRange, headIn, type Metric, type Order, passes } from "./head_order.js";
import { paintColumnHeads, paintRowHeads } from "./paint_layers.js";
import { hasLabels, type Scene } from "./scene.js";

/** Vertical center of the column labels. */
const LABEL_LINE = 9;
/** Left edge of the title of numbers of layers. */
const LAYER_LEFT = 4;
/** Cell size below which numbers next to cells would touch. */
const CROWDED = 14;
/** Largest notch of a selected cell with a map, and with a word whose letters reach the edges. */
const NOTCH = { map: 11, word: 6 };
/** Cell width from which words leave the corners free. */
const WIDE = 48;
/** Index far from every row and column. */
const NO_PLACE = -9;

/**
 * Draw the grid, with the maps as `composed` returns them, or squares if there are no maps. A
 * picture has no `hand` and no mark of the stepped layer.
 */
export function paintGrid(pen: Pen, scene: Scene, maps: Raster | undefined, hand?: Hand): void {
  const pointer = hand ?? NOWHERE;
  const { layout, theme, selected, metric } = scene;
  const { x0, y0, cell, tall, dpr, rows, cols } = layout;
  pen.font = labelFont(scene.font, false, AXIS_LABEL_SIZE);
  pen.textBaseline = "middle";
  if (maps && !scene.asked) {
    const edge = hairline(layout) / dpr;
    paintRaster(pen, maps, x0 - edge, y0 - edge, maps.across / dpr, maps.down / dpr);
  }
  if (scene.asked) paintAnswers(pen, scene, scene.asked);
  else if (!maps) {
    pen.fillStyle = theme.hairline;
    for (let row = 0; row < rows; row++)
      for (let col = 0; col < cols; col++)
        if (headIn(scene.order, [row, col]))
          pen.fillRect(...corner(layout, [row, col]), cell, tall);
  }
  paintEmptyRows(pen, scene);
  if (hand) paintLayerLine(pen, scene);
  if (metric) paintBadges(pen, scene, metric);
  paintEdits(pen, scene);
  if (scene.families.size) paintFamilies(pen, scene);
  else paintHeadLabels(pen, scene);
  const hasWords = scene.asked && linesIn(layout) > 0 && cell < WIDE;
  const notch = hasWords ? NOTCH.word : NOTCH.map;
  for (const [i, at] of selected.entries())
    paintFrame(pen, layout, at, theme, { solid: i === selected.length - 1, notch });
  if (pointer.hovered) outline(pen, layout, pointer.hovered, theme.text, 1);
  if (pointer.focused) {
    outline(pen, layout, pointer.focused, theme.background, 2, -3);
    outline(pen, layout, pointer.focused, theme.text, 2, -1);
  }
  paintColumnLabels(pen, scene, pointer);
  const ranks = scene.order.sort === "all";
  const marked = new Set(ranks ? [] : selected.map(([row]) => row)).add(
    pointer.hovered?.[0] ?? NO_PLACE,
  );
  if (hand && !ranks && !scene.order.perLayer) marked.add(scene.state.layer);
  paintRowLabels(pen, scene, marked, pointer.scrolled);
  if (scene.heads?.side === "column") paintColumnHeads(pen, scene, scene.heads, pointer.scrolled);
}

/**
 * Draw a line through disabled heads. Heads changed by them have a colored background; with forced
 * colors and on pictures, they have an outline.
 */
function paintEdits(pen: Pen, { layout, theme, order, off, changes, maps, look }: Scene) {
  for (const [i, head] of order.heads.entries()) {
    const at = [Math.floor(i / order.cols), i % order.cols] as const;
    if (off.has(head)) paintEmpty(pen, layout, at, theme);
    const width = head < 0 ? 0 : Math.round(3 * paperStrength(changes?.[head] ?? 0));
    if ((theme.forced || look.rows) && !maps?.signed && width)
      outline(pen, layout, at, theme.second, width, -width / 2);
  }
}

/** Draw an empty cell with a line through it, for a head that is off. */
function paintEmpty(pen: Pen, layout: GridLayout, at: Cell, theme: Theme) {
  const [x, y] = corner(layout, at);
  pen.fillStyle = theme.background;
  pen.fillRect(x, y, layout.cell, layout.tall);
  paintStrike(pen, theme, { x, y, width: layout.cell, height: layout.tall });
}

/**
 * Draw the frame of a selected head, with a notch where causal maps are masked. The notch is solid
 * on the shown head.
 */
function paintFrame(
  pen: Pen,
  layout: GridLayout,
  at: Cell,
  theme: Theme,
  { solid, notch }: { solid: boolean; notch: number },
) {
  // A line of background separates the frame from cells of a similar color.
  outline(pen, layout, at, theme.background, 1, -0.5);
  outline(pen, layout, at, theme.accent, layout.gap);
  const [x, y] = corner(layout, at);
  const right = x + layout.cell + 1;
  const triangle = (color: string, x1: number, x2: number, top: number) => {
    pen.fillStyle = color;
    pen.beginPath();
    pen.moveTo(x1, top);
    pen.lineTo(x2, top);
    pen.lineTo(x2, top + x2 - x1);
    pen.closePath();
    pen.fill();
  };
  // Limit the notch to a third of a small cell, so that it does not hide the map.
  const side = Math.min(notch, Math.ceil(layout.tall / 3));
  // A small outlined notch would look like a solid one.
  if (!solid && side <= NOTCH.word) return;
  triangle(theme.background, right - side - 2, right, y - 1);
  triangle(theme.accent, right - side, right, y - 1);
  if (!solid) triangle(theme.background, right - side / 2, right - 2, y + 1);
}

/** Draw the column labels above the scrolled rows. */
function paintColumnLabels(pen: Pen, scene: Scene, { hovered, scrolled: [left, top] }: Hand) {
  const { layout, theme, sorting, bands } = scene;
  const line = top + LABEL_LINE;
  if (top) {
    pen.fillStyle = theme.background;
    pen.fillRect(0, top, canvasSize(layout)[0], layout.y0 - layout.gap);
  }
  pen.font = labelFont(scene.font, false, AXIS_LABEL_SIZE);
  if (sorting) {
    const room = Math.min(scene.width, scene.room) - layout.x0;
    const measure = (text: string) => pen.measureText(text).width;
    const text = shorten(measure, sorting, room);
    write(pen, text, [left + layout.x0, line], theme.text);
    return;
  }
  const marked = new Set(scene.selected.map(([, col]) => col)).add(hovered?.[1] ?? NO_PLACE);
  for (let col = 0; col < layout.cols; col++) {
    const middle = corner(layout, [0, col])[0] + layout.cell / 2;
    if (isCrowded(layout.cell, col, marked)) continue;
    const color = marked.has(col) ? theme.text : theme.muted;
    write(pen, marginName(scene, "columns", col), [middle, line], color, "center");
  }
  const start = (band: number) => corner(layout, [0, Math.round((band * layout.cols) / bands)])[0];
  pen.fillStyle = theme.muted;
  for (let band = 0; band < bands; band++) {
    const from = start(band) + 1;
    const to = start(band + 1) - layout.gap - 1;
    pen.fillRect(from, top + layout.y0 - 8, to - from, 2);
  }
}

/** Draw the row labels left of the scrolled columns. Rows in `marked` are highlighted. */
function paintRowLabels(
  pen: Pen,
  scene: Scene,
  marked: Set<number>,
  [left, top]: Hand["scrolled"],
) {
  const { layout, theme } = scene;
  const right = left + layout.x0 - 8;
  if (left) {
    pen.fillStyle = theme.background;
    pen.fillRect(left, 0, layout.x0 - layout.gap, canvasSize(layout)[1]);
  }
  pen.font = labelFont(scene.font, false, AXIS_LABEL_SIZE);
  const ranks = scene.order.sort === "all";
  const [across, down] = scene.order.perLayer ? ["layer", "head"] : ["head", "layer"];
  const title = ranks ? "rank" : scene.sorting ? "" : across;
  write(pen, title, [right, top + LABEL_LINE], theme.muted, "right");
  if (scene.heads?.side === "row") {
    write(pen, down, [left + LAYER_LEFT, top + LABEL_LINE], theme.muted);
    paintRowHeads(pen, scene, scene.heads, [left, top]);
    return;
  }
  for (let row = 0; row < layout.rows; row++) {
    const middle = corner(layout, [row, 0])[1] + layout.tall / 2;
    if (middle < top + layout.y0 || isCrowded(layout.tall, row, marked)) continue;
    const color = marked.has(row) ? theme.text : theme.muted;
    const number = marginName(scene, "rows", row);
    const first = /^\d/.test(number) ? `${down} ${number}` : number;
    const name = ranks ? String(row * layout.cols + 1) : row ? number : first;
    write(pen, name, [right, middle], color, "right");
  }
}

/** Return the number of a row or column, or the short name if heads combine others. */
function marginName({ stack, order }: Scene, side: "rows" | "columns", at: number): string {
  const turned = side === "rows" ? "columns" : "rows";
  return stack?.names?.[order.perLayer ? turned : side]?.[at] ?? String(at);
}

/**
 * Return whether to skip a number: next to small cells, print every fifth number and the marked
 * ones without their neighbors.
 */
const isCrowded = (cell: number, at: number, marked: Set<number>): boolean =>
  cell < CROWDED && !marked.has(at) && (at % 5 !== 0 || marked.has(at - 1) || marked.has(at + 1));

/** Draw a strip at the left edge of each head with a tested name, in the color of its family. */
function paintFamilies(pen: Pen, { layout, theme, order, families }: Scene): void {
  const width = layout.cell > 24 ? 3 : 2;
  const colors = FAMILY_COLORS[theme.dark ? "dark" : "light"];
  for (const [i, head] of order.heads.entries()) {
    const family = head < 0 ? undefined : families.get(head);
    if (!family || family === "other") continue;
    const [x, y] = corner(layout, [Math.floor(i / order.cols), i % order.cols]);
    pen.fillStyle = theme.forced ? theme.text : colors[family];
    pen.fillRect(x, y, width, layout.tall);
  }
}

/** Draw a text instead of the heads of layers without attention. */
function paintEmptyRows(pen: Pen, { layout, theme, emptyRows }: Scene) {
  for (const row of emptyRows) {
    const [x, y] = corner(layout, [row, 0]);
    write(pen, "no attention", [x, y + layout.tall / 2], theme.muted);
  }
}

/** Draw a line under the heads of the stepped layer, if sorting scatters these heads. */
function paintLayerLine(pen: Pen, { layout, theme, order, state: { layer } }: Scene) {
  if (order.sort !== "all") return;
  const { cell, tall, gap, band, cols } = layout;
  pen.fillStyle = theme.text;
  for (const i of order.heads.keys()) {
    const at = [Math.floor(i / cols), i % cols] as const;
    const [x, y] = corner(layout, at);
    if (headIn(order, at)?.[0] === layer) pen.fillRect(x, y + tall + band - gap, cell, gap);
  }
}

const BADGE_SIZE = 10;
const LABEL_CORNER = 8;
const LABEL_GAP = 6;

/** Draw a corner on each head with a label, and the labels under the cells if there is room. */
function paintHeadLabels(pen: Pen, scene: Scene): void {
  const { layout, theme, labels } = scene;
  const side = Math.min(LABEL_CORNER, layout.tall / 4);
  for (const { at } of labels) {
    const [x, y] = corner(layout, at);
    const bottom = y + layout.tall;
    for (const [color, size] of [
      [theme.background, side + 2],
      [theme.text, side],
    ] as const) {
      pen.fillStyle = color;
      pen.beginPath();
      pen.moveTo(x, bottom - size);
      pen.lineTo(x + size, bottom);
      pen.lineTo(x, bottom);
      pen.closePath();
      pen.fill();
    }
  }
  if (hasLabels(scene)) paintLabelTexts(pen, scene);
}

/** Draw each label under its cell; a long label extends into free space next to it. */
function paintLabelTexts(pen: Pen, { layout, theme, font, labels }: Scene): void {
  const { cell, tall, band } = layout;
  pen.font = labelFont(font, false, BADGE_SIZE);
  const measure = (text: string) => pen.measureText(text).width;
  const [end] = corner(layout, [0, layout.cols]);
  let row = -1;
  let free = 0;
  for (const [i, { at, text }] of labels.entries()) {
    const [x, y] = corner(layout, at);
    if (at[0] !== row) free = layout.x0;
    row = at[0];
    const next = labels[i + 1]?.at;
    const right = next && next[0] === row ? corner(layout, next)[0] - LABEL_GAP : end;
    const fitted = shorten(measure, withControlPictures(text), right - free);
    const width = measure(fitted);
    const left = Math.max(free, Math.min(x + (cell - width) / 2, right - width));
    write(pen, fitted, [left, y + tall + band / 2 + 1], theme.text);
    free = left + width + LABEL_GAP;
  }
}

/** Return the color of metrics, which differs from those of weights and of the selection. */
const metricColor = ({ dark, forced, text }: Theme) =>
  forced ? text : dark ? "#00a87b" : "#008060";

/** Space between two texts, inside a cell and between cells. */
const TEXT_GAP = 4;

/**
 * Return a formatter for a column of metric values, with as many decimals as the largest value
 * needs for `digits` digits.
 */
export function decimals({ low, high }: Metric, digits: number): (x: number) => string {
  return aligned(Math.max(Math.abs(low), Math.abs(high)), digits);
}

/**
 * Return the name and number under each cell, in the longest form that fits under all cells: first
 * numbers lose a digit, then names lose their letters, then the numbers are left out. Names are
 * needed only if the order does not determine them.
 */
export function badgeTexts(
  order: Order,
  metric: Metric,
  width: number,
  measure: Measure,
): [name: string, number: string][] {
  const spell = (make: (layer: number, head: number, value: number) => string) =>
    order.heads.map((i) =>
      i < 0 ? "" : make(Math.floor(i / order.cols), i % order.cols, metric.values[i] ?? 0),
    );
  const none = spell(() => "");
  const names = {
    none: [none],
    rows: [spell((_, head) => `H${head}`)],
    all: [spell((layer, head) => `L${layer} H${head}`), spell((layer, head) => `${layer}·${head}`)],
  }[order.sort];
  const numbers = [3, 2].map((digits) => {
    const print = decimals(metric, digits);
    return spell((_, __, value) => print(value));
  });
  const room = width - TEXT_GAP / 2;
  const fit = (name: string[], number: string[]) =>
    name.every((text, i) => {
      const other = number[i] ?? "";
      return measure(text) + measure(other) + (text && other ? TEXT_GAP : 0) <= room;
    });
  for (const name of names)
    for (const number of numbers) if (fit(name, number)) return pairs(name, number);
  return pairs(names.find((name) => fit(name, none)) ?? names.at(-1) ?? none, none);
}

const pairs = (names: string[], numbers: string[]) =>
  names.map((name, i): [string, string] => [name, numbers[i] ?? ""]);

/**
 * Draw a bar under each cell for its metric, its texts, and a veil over heads outside the filter.
 */
function paintBadges(pen: Pen, scene: Scene, metric: Metric): void {
  const { layout, order, theme } = scene;
  const { cell, tall } = layout;
  const [low, high] = barRange(metric);
  const at = (value: number) => (high > low ? ((value - low) / (high - low)) * cell : 0);
  pen.font = labelFont(scene.font, false, BADGE_SIZE);
  const measure = (text: string) => pen.measureText(text).width;
  const texts = hasText(layout) ? badgeTexts(order, metric, cell, measure) : [];
  for (const [i, head] of order.heads.entries()) {
    const place = [Math.floor(i / order.cols), i % order.cols] as const;
    if (!headIn(order, place)) continue;
    const [x, y] = corner(layout, place);
    const value = metric.values[head] ?? 0;
    // The gray of forced colors may be as strong as the text.
    const track = theme.forced ? 1 : 3;
    pen.fillStyle = theme.hairline;
    pen.fillRect(x, y + tall + 5 - track, cell, track);
    pen.fillStyle = metricColor(theme);
    const from = at(Math.min(0, value));
    const to = at(Math.max(0, value));
    pen.fillRect(x + from, y + tall + 2, Math.max(to - from, 0.5), 3);
    const isIn = passes(value, scene.state.filter);
    if (!isIn) {
      pen.fillStyle = theme.background;
      pen.globalAlpha = 0.8;
      pen.fillRect(x, y, cell, tall + 5);
      pen.globalAlpha = 1;
    }
    const [name, number] = texts[i] ?? ["", ""];
    const line = y + tall + 12;
    write(pen, name, [x + 1, line], isIn ? theme.text : theme.muted);
    write(pen, number, [x + cell - 1, line], isIn && !name ? theme.text : theme.muted, "right");
  }
}
