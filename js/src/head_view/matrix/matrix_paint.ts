import { clamp } from "../../shared/clamp.js";
import type { Tables } from "../../shared/color_levels.js";
import { labelFont, labelOf, write } from "../../shared/labels.js";
import { clippedTo, type Pen, paintRaster } from "../../shared/pen.js";
import { paintStrike } from "../../shared/strike.js";
import type { Theme } from "../../shared/theme.js";
import type { Axis } from "../../shared/types.js";
import { isWhole, type MapPart } from "../../shared/window.js";
import { type Scene, widestOf, writtenFrom } from "../scene.js";
import { tablesOf } from "../several/head_colors.js";
import { type Cells, cut, touched } from "../source/map_source.js";
import { maskOf, sourceOf } from "../source/source_of.js";
import { CAUSAL, type VisibleMap } from "../source/visible_map.js";
import {
  type MatrixLayout,
  matrixLayout,
  pixelSize,
  ruleStep,
  STRIP,
  withLabels,
  xOf,
  yOf,
} from "./matrix_layout.js";
import { pixelsOf } from "./matrix_pixels.js";

/** Cell size from which cells are separated by a pixel of background. */
const GAP_FROM = 10;
/** Distance between the lines of the hatching, in device pixels. */
const HATCH = 6;
/** Number of cells up to which a map is a single image, even if few cells are visible. */
const ONE_PICTURE = 256 * 256;

/** Return the size of axis labels, slightly smaller than tokens of the lines mode. */
export const axisSize = ({ size }: Scene) => size - 1;
export const CONTINUATION = "continuation";
/** Distance from the plot to the names of prompt and generated text. */
export const BESIDE = 6;

/**
 * Return whether the first key has a separate column, because blocks of other keys leave it out.
 */
const isApart = (map: VisibleMap) => sourceOf(map).overview.first !== undefined;

export function arrangeMatrix(scene: Scene): MatrixLayout {
  const { map, axes, font, ruler, room, density, part, labeled } = scene;
  const size = axisSize(scene);
  const measure = ruler(labelFont(font, true, size));
  const written = writtenFrom(axes.query, map.rows) + writtenFrom(axes.key, map.cols) > 0;
  const asked: Parameters<typeof matrixLayout>[0] = {
    room,
    dpr: density,
    rows: map.rows.length,
    cols: map.cols.length,
    rowLabel: widestOf(scene, "query", size),
    colLabel: widestOf(scene, "key", size),
    part,
    size,
    apart: isApart(map),
  };
  if (written) asked.margin = { right: Math.ceil(measure(CONTINUATION)), below: size + BESIDE };
  const whole = matrixLayout(asked);
  return labeled ? withLabels(whole, labeled) : whole;
}

/** Return the caption notes of a matrix. */
export function matrixNotes(layout: MatrixLayout, scene: Scene): string[] {
  const { map } = scene;
  const { rows, cols } = map;
  const { part, size } = layout;
  const { across, down } = pixelSize(layout);
  const source = sourceOf(map);
  const { step } = source.cells(part).at(-1) ?? source.overview;
  const pooled = source.isComplete && (across < layout.cols || down < layout.rows);
  const counts = rows.length === cols.length ? rows.length : `${rows.length} × ${cols.length}`;
  const span = (side: string, shown: number[], start: number, end: number) =>
    `${side} ${shown[Math.round(start)] ?? 0} to ${shown[Math.round(end) - 1] ?? 0}`;
  const [q0, q1, k0, k1] = part;
  const inSight = [span("queries", rows, q0, q1), span("keys", cols, k0, k1)].join(" and ");
  return [
    isWhole(size, part) ? "" : `zoomed: ${inSight} of ${counts} in sight`,
    pooled ? `shown as ${down} × ${across} block maxima` : "",
    source.isComplete || step === 1 ? "" : `maxima of ${step} × ${step} positions`,
  ].filter(Boolean);
}

/**
 * Draw the cells with their rules, over a background that shows where keys are masked, and the
 * separate column of the first key.
 */
export function paintMatrix(pen: Pen, layout: MatrixLayout, scene: Scene): void {
  const { theme, map } = scene;
  const { x0, y0, strip, part, dpr } = layout;
  const { width, height } = pixelSize(layout);
  const [across, down] = [width / dpr, height / dpr];
  const drawn = sourceOf(map)
    .cells(part)
    .map((cells) => placed(cells, layout, scene));
  const overlaps = drawn.some(
    ({ at: [left, top, wide, high] }) =>
      left < x0 - 0.01 ||
      top < y0 - 0.01 ||
      left + wide > x0 + across + 0.51 ||
      top + high > y0 + down + 0.51,
  );
  const within = (wide: number, draw: () => void) =>
    overlaps ? clippedTo(pen, wide, down, draw) : draw();
  pen.save();
  pen.translate(x0, y0);
  // The first cells fill the plot, so the background shows only through masked cells.
  if (drawn[0]?.pixels.cells.words.includes(0) ?? true) paintGround(pen, scene, layout);
  within(across, () => {
    for (const [i, { pixels, at }] of drawn.entries()) {
      const [left, top, wide, high] = [at[0] - x0, at[1] - y0, at[2], at[3]];
      // Masked cells must hide the coarser cells below them.
      pen.fillStyle = theme.background;
      if (i > 0) pen.fillRect(left, top, wide, high);
      paintRaster(pen, pixels.cells, left, top, wide, high);
    }
  });
  paintRules(pen, scene, layout);
  if (map.off) paintStrike(pen, theme, { x: 0, y: 0, width: across, height: down });
  pen.restore();
  if (strip === undefined) return;
  pen.save();
  pen.translate(strip, y0);
  paintGround(pen, scene, { ...layout, cols: 1, cellWidth: STRIP });
  within(STRIP, () => {
    for (const { pixels, at } of drawn)
      if (pixels.first) paintRaster(pen, pixels.first, 0, at[1] - y0, STRIP, at[3]);
  });
  paintFrame(pen, theme, STRIP, down, dpr);
  pen.restore();
  const size = axisSize(scene);
  pen.font = labelFont(scene.font, false, size);
  pen.textBaseline = "middle";
  const name = labelOf(scene.axes.key, map.cols[0] ?? 0);
  write(pen, name, [strip + STRIP / 2, y0 + down + size / 2 + 4], theme.muted, "center");
}

/** Return cells as pixels, with their left and top edge, width and height on the canvas. */
function placed(cells: Cells, layout: MatrixLayout, scene: Scene) {
  const { cellWidth, cellHeight, dpr, part } = layout;
  const { map, theme, state, highlighted, colors = [], cropped } = scene;
  const moves = !cropped && cells.values.length <= ONE_PICTURE && !sourceOf(map).isComplete;
  const region: MapPart = moves ? [0, cells.rows, 0, cells.cols] : touched(cells, part);
  const [top, bottom, left, right] = region;
  const [rows, cols] = [bottom - top, right - left];
  const pixels = (count: number, cell: number) =>
    clamp(Math.round(count * cells.step * cell * dpr), 1, count);
  const tables: Tables = tablesOf(scene);
  const picture = pixelsOf(
    cells,
    region,
    () => (rows === cells.rows && cols === cells.cols ? cells : cut(cells, region)),
    [pixels(cols, cellWidth), pixels(rows, cellHeight)],
    {
      theme,
      scale: state.scale,
      maximum: map.maximum,
      signed: map.signed ?? false,
      tables,
      colors,
      lit: highlighted,
    },
  );
  const at = [
    xOf(layout, cells.k0 + left * cells.step),
    yOf(layout, cells.q0 + top * cells.step),
    cols * cells.step * cellWidth,
    rows * cells.step * cellHeight,
  ] as const;
  return { pixels: picture, at };
}

/**
 * Draw the background of a plot, hatched where keys are masked. It is blank if only later keys are
 * masked.
 */
export function paintGround(
  pen: Pen,
  { theme, map }: Scene,
  layout: Parameters<typeof pixelSize>[0],
): void {
  const size = pixelSize(layout);
  const [width, height, step] = [size.width, size.height, HATCH].map((x) => x / layout.dpr) as [
    number,
    number,
    number,
  ];
  pen.fillStyle = theme.background;
  pen.fillRect(0, 0, width, height);
  if (maskOf(map) === CAUSAL) return;
  pen.fillStyle = theme.hairline;
  pen.globalAlpha = 0.4;
  pen.fillRect(0, 0, width, height);
  pen.beginPath();
  for (let at = -height; at < width; at += step) {
    const left = Math.max(0, at);
    const right = Math.min(width, at + height);
    pen.moveTo(left, height - (left - at));
    pen.lineTo(right, height - (right - at));
  }
  pen.strokeStyle = theme.muted;
  pen.lineWidth = 1 / layout.dpr;
  pen.stroke();
  pen.globalAlpha = 1;
}

/** Draw a hairline around a plot. */
export function paintFrame(
  pen: Pen,
  theme: Theme,
  width: number,
  height: number,
  density: number,
): void {
  const line = Math.max(1, Math.round(density)) / density;
  pen.strokeStyle = theme.hairline;
  pen.lineWidth = line;
  pen.strokeRect(-line / 2, -line / 2, width + line, height + line);
}

/**
 * Draw gaps between large cells, hairlines between small cells, the boundaries of segments, and the
 * frame.
 */
function paintRules(pen: Pen, scene: Scene, layout: MatrixLayout): void {
  const { theme, map, axes } = scene;
  const { x0, y0, cellWidth, cellHeight, dpr, part } = layout;
  const size = pixelSize(layout);
  const width = size.width / dpr;
  const height = size.height / dpr;
  const line = Math.max(1, Math.round(dpr)) / dpr;
  const snap = (x: number) => Math.round(x * dpr) / dpr;
  const vertical = (key: number) => pen.fillRect(snap(xOf(layout, key) - x0), 0, line, height);
  const level = (query: number) => pen.fillRect(0, snap(yOf(layout, query) - y0), width, line);
  const ruled = (cell: number) => (cell >= GAP_FROM ? 1 : ruleStep(cell));
  const large = Math.min(cellWidth, cellHeight) >= GAP_FROM;
  pen.fillStyle = large ? theme.background : theme.hairline;
  // On small cells, an opaque line would hide too much.
  pen.globalAlpha = large ? 1 : 0.6;
  const rules = (start: number, end: number, step: number, draw: (at: number) => void) => {
    if (step === 0) return;
    for (let at = Math.floor(start) + 1; at < end; at++) if (at % step === 0) draw(at);
  };
  rules(part[2], part[3], ruled(cellWidth), vertical);
  rules(part[0], part[1], ruled(cellHeight), level);
  pen.globalAlpha = 1;
  pen.fillStyle = theme.muted;
  const turns = (shown: number[], axis: Axis, start: number, end: number) => {
    const written = writtenFrom(axis, shown);
    const found: number[] = [];
    for (let i = Math.floor(start) + 1; i < end; i++)
      if (i === written || axis.segments[shown[i] ?? 0] !== axis.segments[shown[i - 1] ?? 0])
        found.push(i);
    return found;
  };
  for (const key of turns(map.cols, axes.key, part[2], part[3])) vertical(key);
  for (const query of turns(map.rows, axes.query, part[0], part[1])) level(query);
  paintFrame(pen, theme, width, height, dpr);
}
