import { html } from "lit-html";
import { cellGestures } from "../shared/cell_input.js";
import { type Cell, canvasSize, type GridLayout, outline } from "../shared/cells.js";
import { barTexts } from "../shared/color_bar.js";
import { barView } from "../shared/color_bar_view.js";
import type { Look } from "../shared/mount.js";
import { percent } from "../shared/numbers.js";
import { fresh } from "../shared/pen.js";
import { paintHeat } from "./paint.js";
import { cellText, LEGEND, type Scene } from "./scene.js";

/** Return the map of every head on the selected relation, with its color bar. */
export function relationHeat(
  signal: AbortSignal,
  choose: (cell: Cell, add: boolean) => void,
  redraw: () => void,
) {
  let scene: Scene | undefined;
  let layout: GridLayout | undefined;
  const { cursor, pointed, key, view, canvas } = cellGestures(signal, {
    layout: () => layout,
    selected: () => scene?.heat?.selected ?? [],
    choose,
    moved: redraw,
  });

  return {
    key,
    /** Return the cell under the pointer or the keyboard cursor. */
    pointed,
    update(now: Scene, at: GridLayout): void {
      scene = now;
      layout = now.heat ? at : undefined;
    },
    view({ theme }: Look) {
      const heat = scene?.heat;
      const { relation, direction } = scene?.state ?? {};
      const bar =
        heat &&
        barView(
          theme,
          barTexts("linear", heat.most, (x) => percent(x, 100)),
        );
      const box = view({
        classes: "attnw-rel-heat",
        label: `accuracy of every head on ${relation}, ${direction}`,
        canvas: "attnw-rel-map",
        nameOf: (cell, isSelected) =>
          [
            `layer ${cell[0]} head ${cell[1]}`,
            scene && cellText(scene, cell),
            isSelected && "selected",
          ]
            .filter(Boolean)
            .join(", "),
      });
      return html`${box}
        <div class="attnw-rel-legend">${bar}<span>${LEGEND}</span></div>`;
    },
    paint(look: Look): void {
      const target = canvas();
      if (!scene?.heat || !layout || !target) return;
      const pen = fresh(target, ...canvasSize(layout));
      if (!pen) return;
      paintHeat(pen, layout, scene.heat, look);
      if (cursor.hovered) outline(pen, layout, cursor.hovered, look.theme.text, 1);
      if (cursor.byKeyboard) outline(pen, layout, cursor.focused, look.theme.text, 2);
    },
  };
}
