import { html, nothing } from "lit-html";
import { ref } from "lit-html/directives/ref.js";
import { elementIds, gridCell } from "../shared/cell_cursor.js";
import { cellGestures } from "../shared/cell_input.js";
import {
  type Cell,
  canvasSize,
  type GridLayout,
  inside,
  outline,
  sameCell,
} from "../shared/cells.js";
import { barTexts } from "../shared/colour_bar.js";
import { barView } from "../shared/colour_bar_view.js";
import type { Look } from "../shared/mount.js";
import { percent } from "../shared/numbers.js";
import { fresh } from "../shared/pen.js";
import { paintHeat } from "./paint.js";
import { cellText, LEGEND, type Scene } from "./scene.js";

/** The map of every head on the chosen relation, with its colour scale. */
export function relationHeat(
  signal: AbortSignal,
  choose: (cell: Cell, add: boolean) => void,
  redraw: () => void,
) {
  const idOf = elementIds();
  let scene: Scene | undefined;
  let layout: GridLayout | undefined;
  const { cursor, key, attach, canvas } = cellGestures(signal, {
    layout: () => layout,
    selected: () => scene?.heat?.selected ?? [],
    choose,
    moved: redraw,
  });

  return {
    key,
    /** The cell pointed at, or that the keyboard is on. */
    pointed: () => cursor.hovered ?? (cursor.byKeyboard ? cursor.focused : undefined),
    update(now: Scene, at: GridLayout): void {
      scene = now;
      layout = now.heat ? at : undefined;
      if (now.heat) cursor.focused = inside(cursor.focused, now.heat.layers, now.heat.heads);
    },
    view({ theme }: Look) {
      const heat = scene?.heat;
      const cell = cursor.focused;
      const id = idOf(cell.join("-"));
      const selected = heat?.selected.some((at) => sameCell(at, cell)) ?? false;
      const name = `layer ${cell[0]} head ${cell[1]}`;
      const said = [name, scene && cellText(scene, cell), selected && "selected"];
      const { relation, direction } = scene?.state ?? {};
      const bar =
        heat &&
        barView(
          theme,
          barTexts("linear", heat.most, (x) => percent(x, 100)),
        );
      return html`<div class="attnw-rel-heat attnw-drawn" role="grid" tabindex="0"
          aria-multiselectable="true" aria-rowcount=${heat?.layers ?? nothing}
          aria-colcount=${heat?.heads ?? nothing} aria-activedescendant=${heat ? id : nothing}
          aria-label=${`accuracy of every head on ${relation}, ${direction}`} ${ref(attach)}>
          <canvas class="attnw-rel-map" aria-hidden="true"
            data-layout=${layout ? JSON.stringify(layout) : nothing}></canvas>
          ${heat && gridCell({ id, cell, name: said.filter(Boolean).join(", "), selected })}
        </div>
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
