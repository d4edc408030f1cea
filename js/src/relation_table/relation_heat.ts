import { gridCursor } from "../shared/cell_cursor.js";
import { cellInput } from "../shared/cell_input.js";
import {
  type Cell,
  canvasSize,
  type GridLayout,
  inside,
  outline,
  sameCell,
} from "../shared/cells.js";
import { barTexts, colourBar } from "../shared/colour_bar.js";
import { element } from "../shared/dom.js";
import type { Look } from "../shared/mount.js";
import { percent } from "../shared/numbers.js";
import { fresh } from "../shared/pen.js";
import { paintHeat } from "./paint.js";
import { cellText, type Heat, LEGEND, type Scene } from "./scene.js";

export interface HeatActions {
  choose(cell: Cell, add: boolean): void;
  /** The cell pointed at, or that the keyboard is on. */
  point(cell: Cell | undefined): void;
}

/** The map of every head on the chosen relation, with its colour scale. */
export function relationHeat(parent: HTMLElement, signal: AbortSignal, actions: HeatActions) {
  const box = element(parent, "div", {
    class: "attnw-rel-heat attnw-drawn",
    role: "grid",
    tabindex: 0,
    "aria-multiselectable": "true",
  });
  const canvas = element(box, "canvas", { class: "attnw-rel-map", "aria-hidden": "true" });
  const setCursor = gridCursor(box);
  const legend = element(parent, "div", { class: "attnw-rel-legend" });
  const bar = colourBar(legend);
  element(legend, "span", {}, LEGEND);

  let drawn: { scene: Scene; heat: Heat; layout: GridLayout; look: Look } | undefined;
  const { place, key } = cellInput(box, canvas, signal, {
    layout: () => drawn?.layout,
    selected: () => drawn?.heat.selected ?? [],
    choose: actions.choose,
    moved() {
      const { hovered, byKeyboard, focused } = place;
      actions.point(hovered ?? (byKeyboard ? focused : undefined));
      draw();
    },
  });

  function draw(): void {
    if (!drawn) return;
    const { scene, heat, layout, look } = drawn;
    const { hovered, byKeyboard, focused } = place;
    const isSelected = heat.selected.some((at) => sameCell(at, focused));
    const name = `layer ${focused[0]} head ${focused[1]}`;
    const said = [name, cellText(scene, focused), isSelected && "selected"].filter(Boolean);
    setCursor(focused, heat.layers, heat.heads, said.join(", "), isSelected);
    const pen = fresh(canvas, ...canvasSize(layout));
    canvas.dataset.layout = JSON.stringify(layout);
    if (!pen) return;
    paintHeat(pen, layout, heat, look);
    if (hovered) outline(pen, layout, hovered, look.theme.text, 1);
    if (byKeyboard) outline(pen, layout, focused, look.theme.text, 2);
  }

  return {
    key,
    update(scene: Scene, heat: Heat, layout: GridLayout, look: Look): void {
      drawn = { scene, heat, layout, look };
      const { relation, direction } = scene.state;
      box.setAttribute("aria-label", `accuracy of every head on ${relation}, ${direction}`);
      bar(
        look.theme,
        barTexts("linear", heat.most, (x) => percent(x, 100)),
      );
      place.focused = inside(place.focused, heat.layers, heat.heads);
      draw();
    },
  };
}
