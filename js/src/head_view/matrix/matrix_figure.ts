import { element } from "../../shared/dom.js";
import { labelFont } from "../../shared/labels.js";
import { fresh } from "../../shared/pen.js";
import { isWhole } from "../../shared/window.js";
import type { Figure, Scene } from "../scene.js";
import { sourceOf } from "../source/source_of.js";
import { paintMatrixLabels } from "./matrix_labels.js";
import { hitMatrix, type MatrixLayout } from "./matrix_layout.js";
import { arrangeMatrix, axisSize, matrixNotes, paintMatrix } from "./matrix_paint.js";

/**
 * Create a heat map with tokens on both axes. Cells are on one canvas; labels and crosshair are on
 * a second canvas above it.
 */
export function matrixFigure(parent: DocumentFragment): Figure {
  const box = element(parent, "div", { class: "attnw-figure attnw-matrix-figure" });
  const base = element(box, "canvas", { class: "attnw-matrix", "aria-hidden": "true" });
  const overlay = element(box, "canvas", { class: "attnw-overlay", "aria-hidden": "true" });
  let layout: MatrixLayout | undefined;
  let scene: Scene | undefined;
  let drawn: unknown[] = [];

  function drawBase(now: Scene, at: MatrixLayout): void {
    // Every update creates a new state object, which determines the map and the marks.
    const look = [now.state, now.theme, now.map.maximum];
    const key = [...look, at.width, at.dpr, at.x0, at.y0, ...at.part];
    if (key.every((value, i) => value === drawn[i])) return;
    drawn = key;
    box.style.height = `${at.height}px`;
    box.style.width = `${at.width}px`;
    box.classList.toggle("attnw-zoomed", !isWhole(at.size, at.part));
    const { x0, y0, cellWidth, cellHeight, rows, cols, dpr, part } = at;
    const { step } = sourceOf(now.map).cells(part).at(-1) ?? { step: 1 };
    const [top, , left] = part;
    base.dataset.layout = JSON.stringify({
      x0,
      y0,
      cellWidth,
      cellHeight,
      rows,
      cols,
      dpr,
      top,
      left,
      part,
      step,
    });
    const context = fresh(base, at.width, at.height);
    if (context) paintMatrix(context, at, now);
  }

  return {
    element: box,
    draw(now) {
      scene = now;
      layout = arrangeMatrix(now);
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
    isCut(of, side, text) {
      if (!layout) return false;
      const width = side === "query" ? layout.rowLabel : layout.colLabel;
      return of.ruler(labelFont(of.font, true, axisSize(of)))(text) > width;
    },
    notes: () => (layout && scene ? matrixNotes(layout, scene) : []),
    plot() {
      if (!layout) return undefined;
      const { left, top } = box.getBoundingClientRect();
      const { x0, y0, cols, rows, cellWidth, cellHeight, size, part, room } = layout;
      return {
        size,
        part,
        room,
        left: left + x0,
        top: top + y0,
        width: cols * cellWidth,
        height: rows * cellHeight,
      };
    },
  };
}
