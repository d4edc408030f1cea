import {
  type Cell,
  canvasSize,
  corner,
  type Hand,
  NOWHERE,
  outline,
  pitches,
} from "../shared/cells.js";
import { ramp } from "../shared/colour.js";
import { cssWord, levelOf } from "../shared/colour_levels.js";
import { AXIS_LABEL_SIZE, drawToken, labelFont, labelOf, write } from "../shared/labels.js";
import { figures } from "../shared/numbers.js";
import { type Pen, paintRaster, type Raster } from "../shared/pen.js";
import { percentText } from "../shared/percent_text.js";
import { paintStrike } from "../shared/strike.js";
import { headAt, largestIn, largestOf, type Scene } from "./scene.js";

const LABEL_LINE = 9;
const NUMBER_SIZE = 10;
/** Rows from this height on stand apart by a pixel of background, columns from this width on. */
const APART = 8;
/** Labels this far from each other do not touch. */
const LINE = 12;
/** Squares from this size on have their number in them. */
const PRINTED = 28;
const NOTCH = 7;

/** Tokens by heads, or a square a head. */
export function paintLens(pen: Pen, scene: Scene, pointer = NOWHERE): void {
  pen.textBaseline = "middle";
  if (scene.side) paintTokens(pen, scene, pointer);
  else paintPair(pen, scene, pointer);
}

/** The cells as pixels, one each; masked ones stay transparent. */
function raster({ layout, values, theme, state, end }: Scene): Raster {
  const table = ramp(theme);
  const level = levelOf(state.scale, end);
  const words = Uint32Array.from(values, (value) =>
    Number.isNaN(value) ? 0 : (table[level(value)] ?? 0),
  );
  return { across: layout.cols, down: layout.rows, words };
}

function paintTokens(pen: Pen, scene: Scene, pointer: Hand): void {
  const { layout, theme, selected, heads, lens, state } = scene;
  const { x0, y0, cell, rows, cols } = layout;
  const [, pitch] = pitches(layout);
  const width = cols * cell;
  const height = rows * pitch;
  paintMask(pen, scene);
  paintRaster(pen, raster(scene), x0, y0, width, height);
  pen.fillStyle = theme.background;
  const line = 1 / layout.dpr;
  if (cell >= APART)
    for (let col = 1; col < cols; col++) pen.fillRect(x0 + col * cell, y0, line, height);
  if (pitch >= APART)
    for (let row = 1; row < rows; row++) pen.fillRect(x0, y0 + row * pitch, width, line);
  pen.strokeStyle = theme.hairline;
  pen.lineWidth = 1;
  pen.strokeRect(x0 - 0.5, y0 - 0.5, width + 1, height + 1);
  if (lens.layer === null && state.sort === "head") {
    pen.fillStyle = theme.background;
    for (const [col, head] of heads.entries())
      if (col && head[1] === 0) pen.fillRect(x0 + col * cell - 1, y0 - 1, 3, height + 2);
  }
  if (cell >= PRINTED && pitch >= LINE) paintLargest(pen, scene);
  for (const [col, isOff] of scene.off.entries())
    if (isOff) paintStrike(pen, theme, { x: x0 + col * cell, y: y0, width: cell, height });
  for (const [, col] of selected) {
    frame(pen, [x0 + col * cell, y0, cell, height], theme.background, 4);
    frame(pen, [x0 + col * cell, y0, cell, height], theme.accent, 2);
  }
  for (const at of [pointer.hovered, pointer.focused]) {
    if (!at) continue;
    const [x, y] = corner(layout, at);
    if (at === pointer.focused) frame(pen, [x, y, cell, pitch], theme.background, 4);
    frame(pen, [x, y, cell, pitch], theme.text, at === pointer.focused ? 2 : 1);
  }
  paintHeadLabels(pen, scene, pointer);
  paintTokenLabels(pen, scene, pointer);
}

/** The largest weight of each head, in its cell. */
function paintLargest(pen: Pen, scene: Scene): void {
  const { layout, values } = scene;
  const [across, down] = pitches(layout);
  const ink = inks(scene);
  pen.font = labelFont(scene.font, false, NUMBER_SIZE);
  for (let col = 0; col < layout.cols; col++) {
    if (scene.off[col]) continue;
    const row = largestIn(scene, col);
    const value = values[row * layout.cols + col] ?? 0;
    const [x, y] = corner(layout, [row, col]);
    write(pen, brief(scene, value), [x + across / 2, y + down / 2], ink(value), "center");
  }
}

/** A line round a rectangle, outside of it. */
function frame(
  pen: Pen,
  [x, y, width, height]: [number, number, number, number],
  colour: string,
  line: number,
): void {
  pen.strokeStyle = colour;
  pen.lineWidth = line;
  pen.strokeRect(x - line / 2, y - line / 2, width + line, height + line);
}

/** Lines where keys are masked, over grey. */
function paintMask(pen: Pen, { layout, values, theme }: Scene): void {
  const [across, down] = pitches(layout);
  pen.beginPath();
  for (let row = 0; row < layout.rows; row++)
    for (let col = 0; col < layout.cols; ) {
      const start = col;
      while (col < layout.cols && Number.isNaN(values[row * layout.cols + col])) col++;
      if (col > start) {
        const [x, y] = corner(layout, [row, start]);
        pen.fillStyle = theme.hairline;
        pen.globalAlpha = 0.4;
        pen.fillRect(x, y, (col - start) * across, down);
        pen.globalAlpha = 1;
        pen.moveTo(x, y + down / 2);
        pen.lineTo(x + (col - start) * across, y + down / 2);
      } else col++;
    }
  pen.strokeStyle = theme.hairline;
  pen.lineWidth = 1;
  pen.stroke();
}

function paintHeadLabels(
  pen: Pen,
  scene: Scene,
  { hovered, focused, scrolled: [x, y] }: Hand,
): void {
  const { layout, theme, heads, state, lens, selected } = scene;
  const { x0, y0, cell, cols } = layout;
  pen.fillStyle = theme.background;
  if (y) pen.fillRect(0, y, canvasSize(layout)[0], y0 - 1);
  const middle = y + LABEL_LINE;
  const number = (col: number, text: string, strong: boolean) => {
    pen.font = labelFont(scene.font, strong, AXIS_LABEL_SIZE);
    write(
      pen,
      text,
      [x0 + (col + 0.5) * cell, middle],
      strong ? theme.text : theme.muted,
      "center",
    );
  };
  const marked = new Set([...selected.map(([, col]) => col), hovered?.[1], focused?.[1]]);
  if (lens.layer !== null) {
    const step = [1, 2, 5, 10].find((every) => every * cell >= 16) ?? 20;
    const near = (col: number) =>
      [...marked].some(
        (other) => other !== undefined && other !== col && Math.abs(other - col) * cell < 16,
      );
    for (const [col, [, head]] of heads.entries())
      if (marked.has(col) || (col % step === 0 && !near(col)))
        number(col, String(head), marked.has(col));
  } else if (state.sort === "head") {
    const count = heads.filter(([layer]) => layer === 0).length;
    const chosen = new Set([...marked].map((col) => heads[col ?? -1]?.[0]));
    for (let col = 0; col < cols; col += count) {
      const layer = heads[col]?.[0] ?? 0;
      number(col + (count - 1) / 2, String(layer), chosen.has(layer));
    }
  } else {
    pen.font = labelFont(scene.font, false, AXIS_LABEL_SIZE);
    write(pen, "largest first →", [Math.max(x, 0) + x0, middle], theme.muted);
  }
}

/** Tokens at their rows; where rows are low the strongest ones, as many as there is room for. */
function paintTokenLabels(
  pen: Pen,
  scene: Scene,
  { hovered, focused, scrolled: [x, y] }: Hand,
): void {
  const { layout, theme, tokens, other, side, lens } = scene;
  const { x0, y0, rows } = layout;
  const [, pitch] = pitches(layout);
  pen.fillStyle = theme.background;
  if (x) pen.fillRect(x, 0, x0 - 1, canvasSize(layout)[1]);
  const corner = lens.layer === null ? (scene.state.sort === "head" ? "layer" : "heads") : "head";
  pen.font = labelFont(scene.font, false, AXIS_LABEL_SIZE);
  pen.fillStyle = theme.background;
  if (x && y) pen.fillRect(x, y, x0 - 1, y0 - 1);
  // The token's own row, as a reference for the sides of the remaining rows.
  const value =
    scene.lens.stack === "cross"
      ? -1
      : tokens.indexOf((side === "query" ? lens.query : lens.key) ?? -1);
  const shown = labelled(scene, [hovered?.[0], focused?.[0], value]);
  const first = y ? Math.ceil(y / pitch) : 0;
  for (let row = first; row < rows; row++) {
    if (!shown.has(row)) continue;
    const token = tokens[row] ?? -1;
    const strong = row === hovered?.[0] || row === focused?.[0];
    const locked = row === value;
    pen.font = labelFont(scene.font, strong || locked, AXIS_LABEL_SIZE);
    pen.fillStyle = locked
      ? theme.accent
      : other.special[token] && !strong
        ? theme.muted
        : theme.text;
    const middle = y0 + (row + 0.5) * pitch;
    drawToken(pen, labelOf(other, token), x + x0 - 8, middle, "right", x0 - 16);
    if (locked) pen.fillRect(x + x0 - 5, middle - 2, 4, 4);
  }
  pen.font = labelFont(scene.font, false, AXIS_LABEL_SIZE);
  pen.textBaseline = "middle";
  write(pen, corner, [x + x0 - 8, y + LABEL_LINE], theme.muted, "right");
}

/** The labelled rows: the rows under the pointer, then the strongest rows, without overlaps. */
function labelled({ layout, values }: Scene, first: (number | undefined)[]): Set<number> {
  const { rows, cols } = layout;
  const [, pitch] = pitches(layout);
  const all = Array.from({ length: rows }, (_, row) => row);
  if (pitch >= LINE) return new Set(all);
  const strength = all.map((row) => largestOf(values.subarray(row * cols, (row + 1) * cols)));
  const drawn = first.filter((row): row is number => row !== undefined && row >= 0);
  const order = [...drawn, ...all.sort((a, b) => (strength[b] ?? 0) - (strength[a] ?? 0))];
  const reach = Math.ceil(LINE / pitch);
  const taken = new Uint8Array(rows);
  const shown = new Set<number>();
  for (const row of order) {
    if (taken[row]) continue;
    shown.add(row);
    taken.fill(1, Math.max(0, row - reach + 1), row + reach);
  }
  return shown;
}

function paintPair(pen: Pen, scene: Scene, { hovered, focused, scrolled: [x] }: Hand): void {
  const { layout, theme, values, goes, end, state, selected, off } = scene;
  const { cell, cols } = layout;
  const table = ramp(theme);
  const level = levelOf(state.scale, end);
  const inkFor = inks(scene);
  for (const [i, value] of values.entries()) {
    const at: Cell = [Math.floor(i / cols), i % cols];
    const [left, top] = corner(layout, at);
    if (Number.isNaN(value)) {
      pen.fillStyle = theme.hairline;
      pen.fillRect(left, top + cell / 2, cell, 1);
      continue;
    }
    pen.fillStyle = cssWord(table[level(value)]);
    pen.fillRect(left, top, cell, cell);
    pen.strokeStyle = theme.hairline;
    pen.lineWidth = 1;
    pen.strokeRect(left + 0.5, top + 0.5, cell - 1, cell - 1);
    if (off[i]) {
      paintStrike(pen, theme, { x: left, y: top, width: cell, height: cell });
      continue;
    }
    const ink = inkFor(value);
    if (goes?.[i]) mark(pen, left, top, ink);
    if (cell < PRINTED) continue;
    pen.font = labelFont(scene.font, Boolean(goes?.[i]), NUMBER_SIZE);
    write(pen, brief(scene, value), [left + cell / 2, top + cell / 2 + 1], ink, "center");
  }
  for (const at of selected) {
    outline(pen, layout, at, theme.background, 1, -0.5);
    outline(pen, layout, at, theme.accent, layout.gap);
  }
  if (hovered) outline(pen, layout, hovered, theme.text, 1);
  if (focused) {
    outline(pen, layout, focused, theme.background, 2, -3);
    outline(pen, layout, focused, theme.text, 2, -1);
  }
  paintNames(pen, scene, { hovered, focused, scrolled: [x, 0] });
}

/**
 * Per cent of weights, two decimals of other quantities: squares have no space for more, and values
 * near 0 have no label.
 */
const brief = ({ lens }: Scene, value: number) =>
  value < 0.005
    ? ""
    : lens.quantity === "weights"
      ? percentText(value)
      : value >= 100
        ? figures(value)
        : value.toFixed(2);

/**
 * Black or white on a value's colour, whichever stands out more: one of them has a contrast of 4.5
 * with any colour.
 */
function inks({ theme, state, end }: Scene): (value: number) => string {
  const table = ramp(theme);
  const level = levelOf(state.scale, end);
  return (value) => {
    const word = table[level(value)] ?? 0;
    if (theme.forced) return level(value) < 128 ? theme.text : theme.background;
    const linear = (shift: number) => (((word >> shift) & 255) / 255) ** 2.2;
    const luminance = 0.2126 * linear(0) + 0.7152 * linear(8) + 0.0722 * linear(16);
    return luminance > 0.18 ? "#000000" : "#ffffff";
  };
}

/** A notch in the corner of a head that goes there. */
function mark(pen: Pen, x: number, y: number, colour: string): void {
  pen.fillStyle = colour;
  pen.beginPath();
  pen.moveTo(x + 2, y + 2);
  pen.lineTo(x + 2 + NOTCH, y + 2);
  pen.lineTo(x + 2, y + 2 + NOTCH);
  pen.closePath();
  pen.fill();
}

function paintNames(pen: Pen, scene: Scene, { hovered, focused, scrolled: [x] }: Hand): void {
  const { layout, theme, selected } = scene;
  const { x0, cell, rows, cols } = layout;
  const marked = [...selected, hovered, focused].filter((at) => at !== undefined);
  for (let col = 0; col < cols; col++) {
    const strong = marked.some((at) => at[1] === col);
    pen.font = labelFont(scene.font, strong, AXIS_LABEL_SIZE);
    const middle = corner(layout, [0, col])[0] + cell / 2;
    write(pen, String(col), [middle, LABEL_LINE], strong ? theme.text : theme.muted, "center");
  }
  if (x) {
    pen.fillStyle = theme.background;
    pen.fillRect(x, 0, x0 - layout.gap, canvasSize(layout)[1]);
  }
  pen.font = labelFont(scene.font, false, AXIS_LABEL_SIZE);
  write(pen, "head", [x + x0 - 8, LABEL_LINE], theme.muted, "right");
  for (let row = 0; row < rows; row++) {
    const strong = marked.some((at) => at[0] === row) && headAt(scene, [row, 0]);
    pen.font = labelFont(scene.font, Boolean(strong), AXIS_LABEL_SIZE);
    const middle = corner(layout, [row, 0])[1] + cell / 2;
    write(
      pen,
      row ? String(row) : "layer 0",
      [x + x0 - 8, middle],
      strong ? theme.text : theme.muted,
      "right",
    );
  }
}
