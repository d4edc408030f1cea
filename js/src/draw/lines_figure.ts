import { element } from "../model/dom.js";
import { labelFont, measureOn, widestLabel } from "./labels.js";
import { levelOf, tables } from "./levels.js";
import { type Lines, linesInView, rowCutoffs } from "./lines_choose.js";
import { paintColumns } from "./lines_columns.js";
import {
  hitLines,
  type LinesLayout,
  linesLayout,
  rowCentre,
  rowsInSight,
  scrollTo,
} from "./lines_layout.js";
import { paintBoth, traceLine } from "./lines_paint.js";
import { type Figure, fresh, isPair, type Scene, type Target } from "./scene.js";

const SCROLLBAR = 16;
const NO_LINES: Lines = {
  count: 0,
  query: new Int32Array(),
  key: new Int32Array(),
  level: new Uint8Array(),
  leftOut: 0,
};

/**
 * Tokens in two columns joined by lines. All lines are on one canvas, redrawn when the map, the scale or the scroll position
 * changes; what follows the pointer is on a second one over it, so that hovering never redraws the many.
 */
export function linesFigure(parent: HTMLElement): Figure {
  const scroller = element(parent, "div", { class: "attnw-figure attnw-lines-figure" });
  const stage = element(scroller, "div", { class: "attnw-stage" });
  const sheet = element(stage, "div", { class: "attnw-sheet" });
  const base = element(sheet, "canvas", { class: "attnw-lines", "aria-hidden": "true" });
  const overlay = element(sheet, "canvas", { class: "attnw-overlay", "aria-hidden": "true" });
  let layout: LinesLayout | undefined;
  let lines = NO_LINES;
  let focused: Lines | undefined;
  let drawn: unknown[] = [];
  let cutoffs: Float32Array = new Float32Array();

  function arrange(scene: Scene): LinesLayout {
    const { map, axes } = scene;
    const measure = measureOn(overlay, labelFont(scene.font, true));
    const widest = Math.max(
      widestLabel(measure, axes.query, map.rows),
      widestLabel(measure, axes.key, map.cols),
    );
    const room = scene.room - SCROLLBAR;
    return linesLayout(room, scroller.scrollTop, widest, map.rows.length, map.cols.length);
  }

  function drawBase(scene: Scene, at: LinesLayout): void {
    const { map, theme, scale, topMass, highlighted } = scene;
    const now = [
      map,
      theme,
      scale,
      topMass,
      highlighted,
      scene.font,
      at.width,
      at.scrollTop,
      at.labelWidth,
      globalThis.devicePixelRatio,
    ];
    if (now.every((value, i) => value === drawn[i])) return;
    drawn = now;
    cutoffs = rowCutoffs(map, topMass);
    lines = linesInView(map, cutoffs, rowsInSight(at), levelOf(scale, map.maximum));
    stage.style.height = `${at.fullHeight}px`;
    const scrolls = at.fullHeight > at.height;
    scroller.classList.toggle("attnw-scrolls", scrolls);
    scroller.style.height = `${at.height + Number(scrolls)}px`;
    scroller.style.width = `${at.width + SCROLLBAR}px`;
    const context = fresh(base, at.width, at.height);
    if (!context) return;
    const { first, faded, second } = tables(theme);
    const some = highlighted.query.size + highlighted.key.size > 0;
    paintBoth(context, at, lines, some ? faded : first, second, scene);
  }

  function drawOverlay(scene: Scene, at: LinesLayout): void {
    const { map, active } = scene;
    const token = isPair(active) ? {} : active;
    const focus = { query: new Set(scene.locked.query), key: new Set(scene.locked.key) };
    if (token.query !== undefined) focus.query.add(token.query);
    if (token.key !== undefined) focus.key.add(token.key);
    const some = focus.query.size + focus.key.size > 0;
    const toLevel = levelOf(scene.scale, map.maximum);
    focused = some ? linesInView(map, cutoffs, rowsInSight(at), toLevel, focus) : undefined;
    base.classList.toggle("attnw-faded", some);
    const context = fresh(overlay, at.width, at.height);
    if (!context) return;
    const { first, second } = tables(scene.theme);
    if (focused) paintBoth(context, at, focused, first, second, scene);
    if (isPair(active)) {
      context.strokeStyle = scene.theme.accent;
      context.lineWidth = 2.5;
      context.beginPath();
      traceLine(context, at, active.query, active.key, true);
      context.stroke();
    }
    paintColumns(context, at, scene, first);
  }

  return {
    element: scroller,
    draw(scene) {
      layout = arrange(scene);
      drawBase(scene, layout);
      drawOverlay(scene, layout);
      const { x0, x1, rows, cols, scrollTop } = layout;
      const dpr = globalThis.devicePixelRatio;
      const y0 = rowCentre(layout, 0);
      base.dataset.layout = JSON.stringify({ x0, x1, y0, rows, cols, scrollTop, dpr });
    },
    hit(clientX, clientY): Target {
      if (!layout) return {};
      const { left, top } = sheet.getBoundingClientRect();
      return hitLines(layout, clientX - left, clientY - top, focused ?? lines);
    },
    reveal(target) {
      const index = target.query ?? target.key;
      if (layout && index !== undefined) scroller.scrollTop = scrollTo(layout, index);
    },
    isCut: ({ font }, _, text) =>
      layout !== undefined && measureOn(overlay, labelFont(font, true))(text) > layout.labelWidth,
    note: () => (lines.leftOut > 0 ? `the strongest ${lines.count} lines in sight are drawn` : ""),
  };
}
