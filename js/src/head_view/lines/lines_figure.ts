import { element } from "../../shared/dom.js";
import { labelFont } from "../../shared/labels.js";
import { fresh } from "../../shared/pen.js";
import { isWhole } from "../../shared/window.js";
import type { Figure, Scene } from "../scene.js";
import type { Target } from "../source/target.js";
import type { Lines } from "./lines_choose.js";
import {
  HEADING,
  hitLines,
  type LinesLayout,
  rowCenter,
  scrollTo,
  scrollToMiddle,
  zoomRoom,
} from "./lines_layout.js";
import {
  allLines,
  arrangeLines,
  focusedLines,
  linesNotes,
  paintAllLines,
  paintHeadings,
  paintOverLines,
  SCROLLBAR,
} from "./lines_paint.js";

const isAll = ({ rows, cols, part }: LinesLayout) => !part || isWhole({ rows, cols }, part);

/**
 * Create a figure with two columns of tokens joined by lines. All lines are on one canvas, redrawn
 * when the map, the scale or the scroll position changes. A second canvas above it follows the
 * pointer, so hovering never redraws all lines.
 */
export function linesFigure(parent: DocumentFragment): Figure {
  const scroller = element(parent, "div", { class: "attnw-figure attnw-lines-figure" });
  const stage = element(scroller, "div", { class: "attnw-stage" });
  const sheet = element(stage, "div", { class: "attnw-sheet" });
  const headings = element(sheet, "canvas", { "aria-hidden": "true" });
  const base = element(sheet, "canvas", { class: "attnw-lines", "aria-hidden": "true" });
  const overlay = element(sheet, "canvas", { class: "attnw-overlay", "aria-hidden": "true" });
  overlay.style.top = `${HEADING}px`;
  let layout: LinesLayout | undefined;
  let shown: Scene | undefined;
  let all: Lines | undefined;
  let focused: Lines | undefined;
  let drawn: unknown[] = [];

  function drawBase(scene: Scene, at: LinesLayout): Lines {
    // Every update creates a new state object, which determines the map and the marks.
    const { state, theme, font, density } = scene;
    const places = [at.pitch.query, at.pitch.key, at.from.query, at.from.key];
    const look = [state, theme, font, density, scene.map.maximum];
    const now = [...look, at.width, at.scrollTop, at.labelWidth, ...places];
    if (all && now.every((value, i) => value === drawn[i])) return all;
    drawn = now;
    const lines = allLines(scene, at);
    stage.style.height = `${HEADING + at.fullHeight}px`;
    const scrolls = at.fullHeight > at.height;
    scroller.classList.toggle("attnw-scrolls", scrolls);
    scroller.classList.toggle("attnw-bars-alone", at.numberWidth === 0);
    scroller.classList.toggle("attnw-zoomed", at.part !== undefined && !isAll(at));
    scroller.style.height = `${HEADING + at.height + Number(scrolls)}px`;
    scroller.style.width = `${at.width + SCROLLBAR}px`;
    const over = fresh(headings, at.width, HEADING);
    if (over) paintHeadings(over, at, scene);
    const context = fresh(base, at.width, at.height);
    if (context) paintAllLines(context, at, lines, scene);
    return lines;
  }

  return {
    element: scroller,
    draw(scene) {
      shown = scene;
      layout = arrangeLines(scene, scroller.scrollTop);
      all = drawBase(scene, layout);
      focused = focusedLines(scene, layout);
      // A text that replaces the lines must stay legible.
      base.classList.toggle("attnw-faded", focused !== undefined && all.count > 0);
      const context = fresh(overlay, layout.width, layout.height);
      if (context) paintOverLines(context, layout, focused, scene);
      const { x0, x1, rows, cols, scrollTop } = layout;
      const y0 = rowCenter(layout, "query", 0);
      base.dataset.layout = JSON.stringify({
        x0,
        x1,
        y0,
        rows,
        cols,
        scrollTop,
        dpr: scene.density,
        part: layout.part,
      });
    },
    hit(clientX, clientY): Target {
      const lines = focused ?? all;
      if (!layout || !lines) return {};
      const { left, top } = base.getBoundingClientRect();
      return hitLines(layout, clientX - left, clientY - top, lines);
    },
    reveal(target, toMiddle = false) {
      const index = target.query ?? target.key;
      if (layout && index !== undefined && layout.fullHeight > layout.height)
        scroller.scrollTop = (toMiddle ? scrollToMiddle : scrollTo)(layout, index);
    },
    isCut: ({ font, ruler, size }, _, text) =>
      layout !== undefined && ruler(labelFont(font, true, size))(text) > layout.labelWidth,
    notes: () => (layout && all && shown ? linesNotes(layout, all, shown) : []),
    plot() {
      if (!layout?.part) return undefined;
      const { left, top } = base.getBoundingClientRect();
      const { top: above, ...room } = zoomRoom(layout);
      return {
        size: { rows: layout.rows, cols: layout.cols },
        part: layout.part,
        room: { ...room, density: globalThis.devicePixelRatio || 1 },
        left: left + layout.x0,
        top: top + above,
        width: room.across,
        height: room.down,
      };
    },
  };
}
