import { element } from "../model/dom.js";
import type { Theme } from "../model/theme.js";
import { AXIS_LABEL_SIZE, labelFont, measureOn, widestLabel } from "./labels.js";
import { levelOf, tables } from "./levels.js";
import { paintMatrixLabels } from "./matrix_labels.js";
import {
  hitMatrix,
  type MatrixLayout,
  matrixLayout,
  pixelSize,
  ruleStep,
} from "./matrix_layout.js";
import { matrixPixels } from "./matrix_pixels.js";
import { type Figure, fresh, type Scene } from "./scene.js";

/** Cells from this size on stand apart by a pixel of background. */
const GAP_FROM = 10;
const HATCH = 6;

/** A heat map with tokens on both axes. Cells are on one canvas; labels and crosshair on a second one over it. */
export function matrixFigure(parent: HTMLElement): Figure {
  const box = element(parent, "div", { class: "attnw-figure attnw-matrix-figure" });
  const base = element(box, "canvas", { class: "attnw-matrix", "aria-hidden": "true" });
  const overlay = element(box, "canvas", { class: "attnw-overlay", "aria-hidden": "true" });
  let layout: MatrixLayout | undefined;
  let scene: Scene | undefined;
  let drawn: unknown[] = [];

  function arrange({ map, axes, font, room }: Scene): MatrixLayout {
    const measure = measureOn(overlay, labelFont(font, true, AXIS_LABEL_SIZE));
    return matrixLayout({
      room,
      rows: map.rows.length,
      cols: map.cols.length,
      rowLabel: widestLabel(measure, axes.query, map.rows),
      colLabel: widestLabel(measure, axes.key, map.cols),
      dpr: globalThis.devicePixelRatio || 1,
    });
  }

  function drawBase(now: Scene, at: MatrixLayout): void {
    const key = [now.map, now.theme, now.scale, now.highlighted, at.width, at.dpr, at.x0, at.y0];
    if (key.every((value, i) => value === drawn[i])) return;
    drawn = key;
    box.style.height = `${at.height}px`;
    box.style.width = `${at.width}px`;
    const { x0, y0, cellWidth, cellHeight, rows, cols, dpr } = at;
    base.dataset.layout = JSON.stringify({ x0, y0, cellWidth, cellHeight, rows, cols, dpr });
    const context = fresh(base, at.width, at.height);
    if (!context) return;
    context.setTransform(1, 0, 0, 1, Math.round(x0 * dpr), Math.round(y0 * dpr));
    paintCells(context, now, at);
    paintRules(context, now, at);
  }

  return {
    element: box,
    draw(now) {
      scene = now;
      layout = arrange(now);
      drawBase(now, layout);
      const context = fresh(overlay, layout.width, layout.height);
      if (context) paintMatrixLabels(context, layout, now);
    },
    hit(clientX, clientY) {
      if (!layout || !scene) return {};
      const { left, top } = box.getBoundingClientRect();
      return hitMatrix(layout, scene.map, clientX - left, clientY - top);
    },
    reveal() {},
    isCut({ font }, side, text) {
      if (!layout) return false;
      const width = side === "query" ? layout.rowLabel : layout.colLabel;
      return measureOn(overlay, labelFont(font, true, AXIS_LABEL_SIZE))(text) > width;
    },
    note() {
      if (!layout) return "";
      const { across, down } = pixelSize(layout);
      const pooled = across < layout.cols || down < layout.rows;
      return pooled ? `shown as ${down} × ${across} block maxima` : "";
    },
  };
}

/** Cells over a hatched ground that shows through where keys are masked. In device pixels from the plot's corner. */
function paintCells(context: CanvasRenderingContext2D, scene: Scene, layout: MatrixLayout): void {
  const { map, theme, highlighted } = scene;
  const { width, height, across, down } = pixelSize(layout);
  paintHatch(context, theme, width, height);
  const toLevel = levelOf(scene.scale, map.maximum);
  const pixels = matrixPixels(map, across, down, toLevel, tables(theme), highlighted);
  const picture = context.canvas.ownerDocument.createElement("canvas");
  [picture.width, picture.height] = [across, down];
  const inner = picture.getContext("2d");
  if (!inner) return;
  const image = inner.createImageData(across, down);
  new Uint32Array(image.data.buffer).set(pixels);
  inner.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(picture, 0, 0, width, height);
}

function paintHatch(
  context: CanvasRenderingContext2D,
  theme: Theme,
  width: number,
  height: number,
): void {
  context.fillStyle = theme.background;
  context.fillRect(0, 0, width, height);
  context.save();
  context.fillStyle = theme.hairline;
  context.globalAlpha = 0.4;
  context.fillRect(0, 0, width, height);
  context.beginPath();
  context.rect(0, 0, width, height);
  context.clip();
  context.beginPath();
  for (let at = -height; at < width; at += HATCH) {
    context.moveTo(at, height);
    context.lineTo(at + height, 0);
  }
  context.strokeStyle = theme.muted;
  context.lineWidth = 1;
  context.stroke();
  context.restore();
}

/** Gaps between large cells, hairlines between small ones, the sentences' boundary and the frame. */
function paintRules(context: CanvasRenderingContext2D, scene: Scene, layout: MatrixLayout): void {
  const { theme, map, axes } = scene;
  const { cellWidth, cellHeight, rows, cols, dpr } = layout;
  const { width, height } = pixelSize(layout);
  const line = Math.max(1, Math.round(dpr));
  const vertical = (c: number) =>
    context.fillRect(Math.round(c * cellWidth * dpr), 0, line, height);
  const level = (r: number) => context.fillRect(0, Math.round(r * cellHeight * dpr), width, line);
  const ruled = (cell: number) => (cell >= GAP_FROM ? 1 : ruleStep(cell));
  context.fillStyle =
    Math.min(cellWidth, cellHeight) >= GAP_FROM ? theme.background : theme.hairline;
  // Over small cells a full line would hide as much as it orders.
  context.globalAlpha = Math.min(cellWidth, cellHeight) >= GAP_FROM ? 1 : 0.6;
  for (let c = ruled(cellWidth); c > 0 && c < cols; c += ruled(cellWidth)) vertical(c);
  for (let r = ruled(cellHeight); r > 0 && r < rows; r += ruled(cellHeight)) level(r);
  context.globalAlpha = 1;
  context.fillStyle = theme.muted;
  const turns = (shown: number[], segments: number[]) =>
    shown.flatMap((index, i) =>
      i > 0 && segments[index] !== segments[shown[i - 1] ?? 0] ? [i] : [],
    );
  for (const c of turns(map.cols, axes.key.segments)) vertical(c);
  for (const r of turns(map.rows, axes.query.segments)) level(r);
  context.strokeStyle = theme.hairline;
  context.lineWidth = line;
  context.strokeRect(-line / 2, -line / 2, width + line, height + line);
}
