import { levelOf, type Tables } from "../shared/colour_levels.js";
import { labelFont, widestLabel } from "../shared/labels.js";
import { type Pen, paintRaster } from "../shared/pen.js";
import type { Theme } from "../shared/theme.js";
import type { Axis } from "../shared/types.js";
import { LEVELS, tablesOf } from "./head_colours.js";
import type { Span } from "./lines_choose.js";
import {
  type MatrixLayout,
  matrixLayout,
  pixelSize,
  ruleStep,
  withLabels,
} from "./matrix_layout.js";
import { type Positions, type Scene, writtenFrom } from "./scene.js";
import type { InSight } from "./targets.js";
import type { VisibleMap } from "./visible_map.js";

/** Cells from this size on stand apart by a pixel of background. */
const GAP_FROM = 10;
/** Between the lines of the hatching, in device pixels. */
const HATCH = 6;

/** The size of labels: a little smaller than tokens in lines are. */
export const axisSize = ({ size }: Scene) => size - 1;
export const CONTINUATION = "continuation";
/** Between the plot and what names parts of its axes. */
export const BESIDE = 6;

export function arrangeMatrix(scene: Scene): MatrixLayout {
  const { map, axes, font, ruler, room, density, inSight, labelled } = scene;
  const size = axisSize(scene);
  const measure = ruler(labelFont(font, true, size));
  const written = writtenFrom(axes.query, map.rows) + writtenFrom(axes.key, map.cols) > 0;
  const whole = matrixLayout({
    room,
    dpr: density,
    rows: map.rows.length,
    cols: map.cols.length,
    rowLabel: widestLabel(measure, axes.query, map.rows),
    colLabel: widestLabel(measure, axes.key, map.cols),
    inSight,
    size,
    ...(written && { margin: { right: Math.ceil(measure(CONTINUATION)), below: size + BESIDE } }),
  });
  return labelled ? withLabels(whole, labelled) : whole;
}

/** What a matrix leaves out. */
export function matrixNotes(layout: MatrixLayout, { rows, cols }: VisibleMap): string[] {
  const { across, down } = pixelSize(layout);
  const pooled = across < layout.cols || down < layout.rows;
  const { query, key } = layout.inSight;
  const zoomed = layout.rows < rows.length || layout.cols < cols.length;
  const counts = rows.length === cols.length ? rows.length : `${rows.length} × ${cols.length}`;
  const span = (shown: number[], { start, end }: Span) =>
    `${shown[start] ?? 0} to ${shown[end - 1] ?? 0}`;
  return [
    zoomed
      ? `zoomed: queries ${span(rows, query)} and keys ${span(cols, key)} of ${counts} in sight`
      : "",
    pooled ? `shown as ${down} × ${across} block maxima` : "",
  ].filter(Boolean);
}

/** Cells over a hatched ground that shows through where keys are masked, and their rules. */
export function paintMatrix(pen: Pen, layout: MatrixLayout, scene: Scene): void {
  const { map, theme, highlighted } = scene;
  const { width, height, across, down } = pixelSize(layout);
  pen.save();
  pen.translate(layout.x0, layout.y0);
  paintHatch(pen, theme, layout);
  const toLevel = levelOf(scene.state.scale, map.maximum, map.signed);
  const words = matrixPixels(
    map,
    across,
    down,
    toLevel,
    tablesOf(scene),
    highlighted,
    scene.inSight,
  );
  paintRaster(pen, { across, down, words }, 0, 0, width / layout.dpr, height / layout.dpr);
  paintRules(pen, scene, layout);
  pen.restore();
}

/** The ground of a plot, which shows where keys are masked. */
export function paintHatch(pen: Pen, theme: Theme, layout: Parameters<typeof pixelSize>[0]): void {
  const size = pixelSize(layout);
  const [width, height, step] = [size.width, size.height, HATCH].map((x) => x / layout.dpr) as [
    number,
    number,
    number,
  ];
  pen.fillStyle = theme.background;
  pen.fillRect(0, 0, width, height);
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

/**
 * Gaps between large cells, hairlines between small ones, the sentences' boundary and the frame.
 */
function paintRules(pen: Pen, scene: Scene, layout: MatrixLayout): void {
  const { theme, map, axes } = scene;
  const { cellWidth, cellHeight, rows, cols, dpr, inSight } = layout;
  const top = inSight.query.start;
  const left = inSight.key.start;
  const size = pixelSize(layout);
  const width = size.width / dpr;
  const height = size.height / dpr;
  const line = Math.max(1, Math.round(dpr)) / dpr;
  const snap = (x: number) => Math.round(x * dpr) / dpr;
  const vertical = (c: number) => pen.fillRect(snap(c * cellWidth), 0, line, height);
  const level = (r: number) => pen.fillRect(0, snap(r * cellHeight), width, line);
  const ruled = (cell: number) => (cell >= GAP_FROM ? 1 : ruleStep(cell));
  const large = Math.min(cellWidth, cellHeight) >= GAP_FROM;
  pen.fillStyle = large ? theme.background : theme.hairline;
  // Over small cells a full line would hide as much as it orders.
  pen.globalAlpha = large ? 1 : 0.6;
  const rules = (first: number, count: number, step: number) =>
    step === 0 ? [] : [...Array(count).keys()].filter((i) => i > 0 && (first + i) % step === 0);
  for (const c of rules(left, cols, ruled(cellWidth))) vertical(c);
  for (const r of rules(top, rows, ruled(cellHeight))) level(r);
  pen.globalAlpha = 1;
  pen.fillStyle = theme.muted;
  const turns = (shown: number[], axis: Axis, { start, end }: Span) => {
    const written = writtenFrom(axis, shown);
    const turn = (i: number) =>
      axis.segments[shown[i] ?? 0] !== axis.segments[shown[i - 1] ?? 0] || i === written;
    return shown.flatMap((_, i) => (i > start && i < end && turn(i) ? [i - start] : []));
  };
  for (const c of turns(map.cols, axes.key, inSight.key)) vertical(c);
  for (const r of turns(map.rows, axes.query, inSight.query)) level(r);
  pen.strokeStyle = theme.hairline;
  pen.lineWidth = line;
  pen.strokeRect(-line / 2, -line / 2, width + line, height + line);
}

/**
 * The map as pixels, `across` x `down`; where cells share a pixel the strongest is shown. Masked
 * pixels stay transparent.
 */
export function matrixPixels(
  map: VisibleMap,
  across: number,
  down: number,
  toLevel: (weight: number) => number,
  tables: Tables,
  highlighted: Positions,
  inSight: InSight = {
    query: { start: 0, end: map.rows.length },
    key: { start: 0, end: map.cols.length },
  },
): Uint32Array {
  const top = inSight.query.start;
  const left = inSight.key.start;
  const stride = map.cols.length;
  const rows = inSight.query.end - top;
  const cols = inSight.key.end - left;
  const some = highlighted.query.size + highlighted.key.size > 0;
  const strongest = new Float32Array(across * down).fill(-1);
  const pixels = new Uint32Array(across * down);
  const column = Int32Array.from({ length: cols }, (_, c) => Math.floor((c * across) / cols));
  const litColumn = Uint8Array.from({ length: cols }, (_, c) =>
    Number(highlighted.key.has(left + c)),
  );
  for (let r = 0; r < rows; r++) {
    const start = Math.floor((r * down) / rows) * across;
    const litRow = highlighted.query.has(top + r);
    for (let c = 0; c < cols; c++) {
      const weight = map.values[(top + r) * stride + left + c] ?? Number.NaN;
      const at = start + (column[c] ?? 0);
      const size = Math.abs(weight);
      if (!(size > (strongest[at] ?? 0))) continue;
      strongest[at] = size;
      const lit = litRow || litColumn[c];
      const table = lit ? tables.second : some ? tables.faded : tables.first;
      pixels[at] = table[LEVELS * (map.strongest?.[r * cols + c] ?? 0) + toLevel(weight)] ?? 0;
    }
  }
  return pixels;
}
