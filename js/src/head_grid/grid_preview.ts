import { type Cell, corner } from "../shared/cells.js";
import { element } from "../shared/dom.js";
import { fresh, paintRaster } from "../shared/pen.js";
import { type Head, headName, paperName } from "../shared/types.js";
import { drawHead } from "./grid_pixels.js";
import { editText, metricText, strongest } from "./grid_text.js";
import { headIn } from "./head_order.js";
import type { Scene } from "./scene.js";

const SIDE = 180;
const EDGE = 8;
const GAP = 4;

export type Box = Record<"left" | "top" | "right" | "bottom", number>;

/**
 * Top-left corner of a preview outside of the grid, level with the hovered cell: beside it, else
 * under or over it. Where a grid leaves no room it stands at the side that is farther from the
 * cell.
 */
export function placeOutside(
  grid: Box,
  cell: Box,
  width: number,
  height: number,
  bounds: Box,
): [x: number, y: number] {
  const keep = (at: number, low: number, high: number) => Math.max(low, Math.min(high, at));
  const x = keep(cell.left, bounds.left, bounds.right - width);
  const y = keep(cell.top, bounds.top, bounds.bottom - height);
  const outside: [number, number][] = [
    [grid.right + GAP, y],
    [x, grid.bottom + GAP],
    [x, grid.top - GAP - height],
    [grid.left - GAP - width, y],
  ];
  const fits = ([left, top]: [number, number]) =>
    left >= bounds.left &&
    left + width <= bounds.right &&
    top >= bounds.top &&
    top + height <= bounds.bottom;
  const isLeft = cell.left + cell.right < bounds.left + bounds.right;
  return outside.find(fits) ?? [isLeft ? bounds.right - width : bounds.left, y];
}

/**
 * An enlarged thumbnail beside the grid. It is a popover: the output areas of notebooks clip
 * whatever leaves them.
 */
export function gridPreview(parent: HTMLElement) {
  const look = { class: "attnw-grid-preview", popover: "manual", "aria-hidden": "true" };
  const box = element(parent, "div", { ...look, hidden: true });
  const enlarged = element(box, "canvas");
  const title = element(box, "div", { class: "attnw-grid-name" });
  const name = element(title, "span");
  const group = element(title, "span");
  const pair = element(box, "div", { class: "attnw-grid-pair" });
  const query = element(pair, "span", { class: "attnw-grid-token" });
  pair.append(" → ");
  const key = element(pair, "span", { class: "attnw-grid-token" });
  const weight = element(pair, "b");
  const number = element(box, "div", { class: "attnw-grid-number" });
  const floats = typeof box.showPopover === "function";

  function hide(): void {
    box.hidden = true;
    if (floats && box.matches(":popover-open")) box.hidePopover();
  }

  /** Show the head of a cell, if there is a cell with a head and a map of this head. */
  return (
    grid: HTMLElement,
    canvas: HTMLCanvasElement,
    scene: Scene,
    cell: Cell | undefined,
  ): void => {
    const { layout, maps, state, stack, metric } = scene;
    const at = cell && headIn(scene.order, cell);
    if (!cell || !at || !maps) {
      hide();
      return;
    }
    const size = Math.round(SIDE * layout.dpr);
    const words = new Uint32Array(size * size);
    drawHead(words, size, 0, size, maps, at, scene.look);
    const pen = fresh(enlarged, SIDE, SIDE);
    if (pen) paintRaster(pen, { across: size, down: size, words }, 0, 0, SIDE, SIDE);

    const head: Head = [at[0], at[1], state.stack];
    const sharing = stack ? stack.n_heads / stack.n_key_heads : 1;
    const of = maps.quantity === "weights" ? [] : [maps.quantity];
    if (maps.signed) of.push("difference");
    name.textContent = [headName(head), paperName(head), ...of].join(" · ");
    group.textContent = sharing > 1 ? `keys ${Math.floor(at[1] / sharing)}` : "";
    const most = strongest(maps, state._axes, at);
    pair.hidden = !most;
    query.textContent = most?.query ?? "";
    key.textContent = most?.key ?? "";
    weight.textContent = most?.weight ?? "";
    number.textContent = [metricText(metric, at, maps.cols), editText(scene, at)]
      .filter(Boolean)
      .join(" · ");
    number.hidden = !number.textContent;

    box.hidden = false;
    if (floats && !box.matches(":popover-open")) box.showPopover();
    const view = parent.ownerDocument.documentElement;
    const origin = canvas.getBoundingClientRect();
    const seen = grid.getBoundingClientRect();
    const { left: start, top: over, bottom: under } = seen;
    const around = {
      left: start,
      top: over,
      bottom: under,
      right: Math.min(seen.right, origin.right),
    };
    const [x, y] = corner(layout, cell);
    const left = origin.left + x;
    const top = origin.top + y;
    const anchor = { left, top, right: left + layout.cell, bottom: top + layout.cell };
    const right = view.clientWidth - EDGE;
    const bottom = view.clientHeight - EDGE;
    const bounds = { left: EDGE, top: EDGE, right, bottom };
    const place = placeOutside(around, anchor, box.offsetWidth, box.offsetHeight, bounds);
    box.style.translate = place.map((at) => `${Math.round(at)}px`).join(" ");
  };
}
