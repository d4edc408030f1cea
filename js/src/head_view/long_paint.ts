import { ramp, transfer } from "../shared/colour.js";
import { levelOf } from "../shared/colour_levels.js";
import { AXIS_LABEL_SIZE, drawToken, labelFont, labelOf, write } from "../shared/labels.js";
import { type Pen, paintRaster, type Raster } from "../shared/pen.js";
import type { Side } from "../shared/types.js";
import { asFloat32 } from "../shared/wire.js";
import { CURVE, cellOf, GAP, type LongLayout, STRIP, xOf, yOf } from "./long_layout.js";
import { type Cells, type LongScene, named } from "./long_scene.js";
import type { Row } from "./long_types.js";
import { covers } from "./long_window.js";
import { ANGLE } from "./matrix_layout.js";
import { paintHatch } from "./matrix_paint.js";

/**
 * Cells from this size on stand apart by a pixel of background, and have their tokens beside them.
 */
const APART = 10;
const READABLE = 12.5;
/** Between two positions on an axis. */
const APART_ACROSS = 56;
const APART_DOWN = 28;

/** Draws within a rectangle, from where the pen is: canvases and SVG clip in ways of their own. */
export type Clipped = (width: number, height: number, draw: () => void) => void;

/** Blocks as pixels, one each, and the first key's; masked ones stay transparent. */
export interface Pixels {
  cells: Raster;
  first: Raster;
}

export function pixelsOf(
  { values, first, rows, cols }: Cells,
  { state, theme }: LongScene,
  maximum: number,
): Pixels {
  const table = ramp(theme);
  const level = levelOf(state.scale, maximum);
  const words = (weights: Float32Array) =>
    Uint32Array.from(weights, (weight) => (Number.isNaN(weight) ? 0 : (table[level(weight)] ?? 0)));
  return {
    cells: { across: cols, down: rows, words: words(values) },
    first: { across: 1, down: rows, words: words(first) },
  };
}

/**
 * The part in sight: the tile, and where it does not reach the overview; the first key beside it.
 */
export function paintCells(
  pen: Pen,
  at: LongLayout,
  scene: LongScene,
  [overview, tile]: [Pixels, Pixels | null],
  clipped: Clipped,
): void {
  const { theme, part, density, state } = scene;
  const whole = tile && state._tile && covers(state._tile, part);
  const drawn: [Cells, Pixels][] = whole ? [] : [[scene.overview, overview]];
  if (tile && scene.tile) drawn.push([scene.tile, tile]);
  const ground = (width: number) =>
    paintHatch(pen, theme, {
      rows: 1,
      cols: 1,
      cellWidth: width,
      cellHeight: at.down,
      dpr: density,
    });
  const boxOf = ({ q0, k0, step, rows, cols }: Cells) => {
    const left = xOf(at, part, k0) - at.x0;
    const top = yOf(at, part, q0) - at.y0;
    const { width, height } = cellOf(at, part);
    return { left, top, width: cols * step * width, height: rows * step * height };
  };
  pen.save();
  pen.translate(at.x0, at.y0);
  ground(at.across);
  clipped(at.across, at.down, () => {
    for (const [i, [cells, pixels]] of drawn.entries()) {
      const { left, top, width, height } = boxOf(cells);
      pen.fillStyle = theme.background;
      // Under masked cells nothing of the overview shows through.
      if (i > 0) pen.fillRect(left, top, width, height);
      paintRaster(pen, pixels.cells, left, top, width, height);
    }
    paintRules(pen, at, scene);
  });
  frame(pen, at.across, at.down, scene);
  if (at.strip !== undefined) {
    pen.translate(at.strip - at.x0, 0);
    ground(STRIP);
    clipped(STRIP, at.down, () => {
      for (const [cells, pixels] of drawn) {
        const { top, height } = boxOf(cells);
        paintRaster(pen, pixels.first, 0, top, STRIP, height);
      }
    });
    frame(pen, STRIP, at.down, scene);
  }
  pen.restore();
}

function frame(pen: Pen, width: number, height: number, { theme, density }: LongScene): void {
  const line = Math.max(1, Math.round(density)) / density;
  pen.strokeStyle = theme.hairline;
  pen.lineWidth = line;
  pen.strokeRect(-line / 2, -line / 2, width + line, height + line);
}

/** Between cells that can be counted. */
function paintRules(pen: Pen, at: LongLayout, { part, theme, density }: LongScene): void {
  const { width, height } = cellOf(at, part);
  if (Math.min(width, height) < APART) return;
  const line = Math.max(1, Math.round(density)) / density;
  pen.fillStyle = theme.background;
  for (let k = Math.ceil(part[2]); k < part[3]; k++)
    pen.fillRect((k - part[2]) * width, 0, line, at.down);
  for (let q = Math.ceil(part[0]); q < part[1]; q++)
    pen.fillRect(0, (q - part[0]) * height, at.across, line);
}

/**
 * Both axes, with tokens if they are readable, otherwise with positions; with the locked and the
 * hovered token.
 */
export function paintAxes(pen: Pen, at: LongLayout, scene: LongScene): void {
  const { theme, font, head, active, locked, part } = scene;
  pen.font = labelFont(font, false, AXIS_LABEL_SIZE);
  pen.textBaseline = "middle";
  const matrix = at.strip !== undefined;
  const named = readable(at, scene, "key");
  write(pen, "from", [(at.strip ?? at.x0) - GAP, matrix ? at.y0 - GAP : 8], theme.muted, "right");
  write(
    pen,
    "to",
    [matrix ? at.x0 : at.x0 + at.across + GAP, matrix && !named ? at.y0 - 28 : 8],
    theme.muted,
  );
  for (const side of ["query", "key"] as const) paintAxis(pen, at, scene, side);
  if (at.strip === undefined) return;
  pen.font = labelFont(font, false, AXIS_LABEL_SIZE);
  const first = head.first_text.trim() || "first";
  write(pen, first, [at.strip + STRIP / 2, at.y0 + at.down + 10], theme.muted, "center");
  pen.strokeStyle = theme.accent;
  if (locked.query !== undefined) mark(pen, at, scene, "query", locked.query, 1, 2);
  if (locked.key !== undefined) mark(pen, at, scene, "key", locked.key, 1, 2);
  if (!active) return;
  const left = xOf(at, part, active.key);
  const top = yOf(at, part, active.query);
  const { width, height } = cellOf(at, part);
  const w = Math.max(3, active.step * width);
  const h = Math.max(3, active.step * height);
  pen.strokeStyle = theme.background;
  pen.lineWidth = 3;
  pen.strokeRect(left - 1, top - 1, w + 2, h + 2);
  pen.strokeStyle = theme.text;
  pen.lineWidth = 1;
  pen.strokeRect(left - 1, top - 1, w + 2, h + 2);
}

/** A frame round a row or a column in sight. */
function mark(
  pen: Pen,
  at: LongLayout,
  { part }: LongScene,
  side: Side,
  index: number,
  step: number,
  line: number,
): void {
  const [start, end] = side === "query" ? [part[0], part[1]] : [part[2], part[3]];
  if (index + step <= start || index >= end) return;
  const { width, height } = cellOf(at, part);
  const wide = step * width;
  const tall = step * height;
  pen.lineWidth = Math.min(wide, tall) < 6 ? 1 : line;
  // Where it is no wider than its frame a line does.
  if (side === "query") pen.strokeRect(at.x0, yOf(at, part, index), at.across, tall < 3 ? 0 : tall);
  else pen.strokeRect(xOf(at, part, index), at.y0, wide < 3 ? 0 : wide, at.down);
}

/** 1, 2 or 5 times a power of ten, so that positions stand apart. */
function ticks(needed: number): number {
  const ten = 10 ** Math.max(0, Math.floor(Math.log10(needed)));
  return ([1, 2, 5, 10].find((times) => times * ten >= needed) ?? 10) * ten;
}

/** Tokens of an axis in pixels, and whether each can be named. */
function sizeOf(at: LongLayout, { part, state }: LongScene, side: Side): number {
  const { width, height } = cellOf(at, part);
  return side === "query"
    ? height
    : state.mode === "matrix"
      ? width
      : at.down / (part[3] - part[2]);
}
const readable = (at: LongLayout, scene: LongScene, side: Side) =>
  sizeOf(at, scene, side) >= READABLE && scene.axes?.[side] !== undefined;

function paintAxis(pen: Pen, at: LongLayout, scene: LongScene, side: Side): void {
  const { part, theme, axes, tile, locked, active, font, state } = scene;
  const across = side === "key" && state.mode === "matrix";
  const [start, end] = side === "query" ? [part[0], part[1]] : [part[2], part[3]];
  const size = sizeOf(at, scene, side);
  const place = (index: number) => (index + 0.5 - start) * size + (across ? at.x0 : at.y0);
  const axis = axes?.[side];
  const from = (side === "query" ? tile?.q0 : tile?.k0) ?? 0;
  const named = readable(at, scene, side);
  const labelled = (index: number) => {
    const at = index - from;
    return axis && at in axis.text ? labelOf(axis, at) : String(index);
  };
  const step = named ? 1 : ticks((across ? APART_ACROSS : APART_DOWN) / size);
  for (let i = Math.ceil(start / step) * step; i < end - 0.5; i += step) {
    const strong = i === locked[side] || (active?.step === 1 && active[side] === i);
    const special = named && Boolean(axis?.special[i - from]);
    pen.font = labelFont(font, strong, AXIS_LABEL_SIZE);
    pen.fillStyle = strong ? theme.accent : named && !special ? theme.text : theme.muted;
    const text = named ? labelled(i) : String(i);
    if (across && named) rising(pen, text, place(i), at.y0 - GAP / 2);
    else if (across) {
      pen.fillRect(Math.round(place(i)), at.y0 - 5, 1, 4);
      drawToken(
        pen,
        text,
        place(i) - pen.measureText(text).width / 2,
        at.y0 - 12,
        "left",
        APART_ACROSS,
      );
    } else if (side === "query") {
      // The first label avoids the label above it.
      drawToken(
        pen,
        text,
        (at.strip ?? at.x0) - GAP,
        Math.max(at.y0 + GAP, place(i)),
        "right",
        at.label,
      );
    } else drawToken(pen, text, at.x0 + at.across + GAP, place(i), "left", at.label);
  }
}

/** A token over its column. */
function rising(pen: Pen, text: string, x: number, y: number): void {
  pen.save();
  pen.translate(x, y);
  pen.rotate(-ANGLE);
  drawToken(pen, text, GAP / 2, 0, "left", 44);
  pen.restore();
}

/** The whole map with a frame round what is in sight. */
export function paintMinimap(pen: Pen, scene: LongScene, { cells }: Pixels, side: number): void {
  const { theme, part, head, density } = scene;
  paintHatch(pen, theme, { rows: 1, cols: 1, cellWidth: side, cellHeight: side, dpr: density });
  const { step, rows, cols } = scene.overview;
  paintRaster(
    pen,
    cells,
    0,
    0,
    (side * cols * step) / head.n_key,
    (side * rows * step) / head.n_query,
  );
  frame(pen, side, side, scene);
  const share = (from: number, to: number, count: number): [number, number] => {
    const length = Math.max(6, ((to - from) / count) * side);
    const middle = ((from + to) / 2 / count) * side;
    return [Math.max(0, Math.min(side - length, middle - length / 2)), length];
  };
  const [top, height] = share(part[0], part[1], head.n_query);
  const [left, width] = share(part[2], part[3], head.n_key);
  pen.strokeStyle = theme.background;
  pen.lineWidth = 4;
  pen.strokeRect(left + 1, top + 1, width - 2, height - 2);
  pen.strokeStyle = theme.accent;
  pen.lineWidth = 2;
  pen.strokeRect(left + 1, top + 1, width - 2, height - 2);
}

/**
 * The weights of one query to all keys, as heights on the scale, with a mark for the visible part.
 */
export function paintCurve(pen: Pen, at: LongLayout, scene: LongScene, row: Row): void {
  const { theme, font, state, head, part, print } = scene;
  const values = asFloat32(row.values);
  const maximum = values.reduce((most, value) => Math.max(most, value || 0), 0);
  const height = transfer(state.scale);
  pen.font = labelFont(font, false, AXIS_LABEL_SIZE);
  pen.textBaseline = "middle";
  const of = `from ${named(row.text, row.query)} to all keys`;
  const first = `; ${named(head.first_text, 0)} ${print(row.first)}`;
  write(
    pen,
    of + (pen.measureText(of + first).width <= at.across ? first : ""),
    [at.x0, CURVE.heading / 2],
    theme.muted,
  );
  write(pen, print(maximum), [at.x0 - GAP, CURVE.heading + 5], theme.muted, "right");
  write(pen, state.scale, [at.x0 - GAP, CURVE.heading + CURVE.bars - 5], theme.muted, "right");
  const floor = CURVE.heading + CURVE.bars;
  // Bars that share a pixel are the highest of them.
  const highest = new Float32Array(Math.ceil(at.across));
  const wide = Math.max(1, (row.step / head.n_key) * at.across);
  for (const [i, value] of values.entries()) {
    const x = Math.floor(((i * row.step) / head.n_key) * at.across);
    for (let dx = 0; dx < wide && x + dx < highest.length; dx++)
      if (value > (highest[x + dx] ?? 0)) highest[x + dx] = value;
  }
  pen.fillStyle = theme.text;
  for (const [x, value] of highest.entries()) {
    if (!(value > 0)) continue;
    const tall = Math.max(1, height(value / maximum) * (CURVE.bars - 2));
    pen.fillRect(at.x0 + x, floor - tall, 1, tall);
  }
  pen.fillStyle = theme.hairline;
  pen.fillRect(at.x0, floor, at.across, 1);
  const [left, right] = [part[2], part[3]].map((key) => at.x0 + (key / head.n_key) * at.across) as [
    number,
    number,
  ];
  pen.fillStyle = theme.accent;
  pen.fillRect(left, floor + 2, Math.max(3, right - left), 3);
}
