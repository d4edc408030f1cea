import { element } from "../../shared/dom.js";
import { labelFont } from "../../shared/labels.js";
import { fresh } from "../../shared/pen.js";
import type { Figure, Scene } from "../scene.js";
import type { Target } from "../source/target.js";
import type { Lines } from "./lines_choose.js";
import { arrangeLines, chooseLines, focusedLines, linesNotes } from "./lines_paint.js";
import { hitRows, type RowsLayout, rowsLayout } from "./rows_layout.js";
import { paintOverRows, paintRowsLines } from "./rows_paint.js";

/** Tokens in two rows, as text is written, joined by lines: queries above, keys below. */
export function rowsFigure(parent: DocumentFragment): Figure {
  const scroller = element(parent, "div", { class: "attnw-figure attnw-rows-figure" });
  const stage = element(scroller, "div", { class: "attnw-rows-stage" });
  const base = element(stage, "canvas", { class: "attnw-lines", "aria-hidden": "true" });
  const overlay = element(stage, "canvas", { class: "attnw-overlay", "aria-hidden": "true" });
  let layout: RowsLayout | undefined;
  let all: Lines | undefined;
  let focused: Lines | undefined;
  let notes: string[] = [];
  let width = 0;

  return {
    element: scroller,
    draw(scene: Scene) {
      const at = rowsLayout(scene);
      layout = at;
      // Lines are chosen as between columns that are whole in sight.
      const columns = arrangeLines(scene, 0, true);
      const chosen = chooseLines(scene, columns);
      all = chosen.all;
      focused = focusedLines(scene, columns, chosen);
      notes = linesNotes(columns, chosen.all, scene);
      stage.style.width = `${at.width}px`;
      stage.style.height = `${at.height}px`;
      scroller.style.maxWidth = `${scene.room}px`;
      // A right-to-left text begins at the right.
      if (at.rightToLeft && at.width !== width) scroller.scrollLeft = at.width;
      width = at.width;
      // Words in place of lines stay legible.
      base.classList.toggle("attnw-faded", focused !== undefined && chosen.all.count > 0);
      const below = fresh(base, at.width, at.height);
      if (below) paintRowsLines(below, at, chosen.all, scene);
      const above = fresh(overlay, at.width, at.height);
      if (above) paintOverRows(above, at, focused, scene);
      const { middles, y0, y1, rightToLeft, upright } = at;
      base.dataset.layout = JSON.stringify({ middles, y0, y1, rightToLeft, upright });
    },
    hit(clientX, clientY): Target {
      const lines = focused ?? all;
      if (!layout || !lines) return {};
      const { left, top } = base.getBoundingClientRect();
      return hitRows(layout, clientX - left, clientY - top, lines);
    },
    reveal({ query, key }) {
      const side = query !== undefined ? "query" : "key";
      const x = layout?.middles[side][query ?? key ?? -1];
      if (x === undefined) return;
      const { scrollLeft, clientWidth } = scroller;
      const isInSight = x > scrollLeft + 8 && x < scrollLeft + clientWidth - 8;
      if (!isInSight) scroller.scrollLeft = x - clientWidth / 2;
    },
    isCut: ({ font, ruler, size }, _, text) =>
      layout !== undefined && ruler(labelFont(font, true, size))(text) > layout.labelWidth + 1,
    notes: () => notes,
  };
}
