import { html, nothing } from "lit-html";
import { createRef, ref } from "lit-html/directives/ref.js";
import { type Cell, corner, type GridLayout } from "../shared/cells.js";
import { clamp } from "../shared/clamp.js";
import { shortName } from "../shared/head_names.js";
import { painted } from "../shared/painted.js";
import { fresh, paintRaster } from "../shared/pen.js";
import { paintStrike } from "../shared/strike.js";
import type { Head } from "../shared/types.js";
import { drawHead, type SmallMaps } from "./grid_pixels.js";
import { editText, metricText, strongest } from "./grid_text.js";
import { headIn } from "./head_order.js";
import type { Scene } from "./scene.js";

const SIDE = 180;
const EDGE = 8;
const GAP = 4;

type Edges = Record<"left" | "top" | "right" | "bottom", number>;

/**
 * Return the top left corner of a preview outside of the grid, level with the cell: on the right,
 * below, above or on the left. If none of these has room, the preview is inside the bounds, on the
 * side that is farther from the cell.
 */
export function placeOutside(
  grid: Edges,
  cell: Edges,
  width: number,
  height: number,
  bounds: Edges,
): [x: number, y: number] {
  const x = clamp(cell.left, bounds.left, bounds.right - width);
  const y = clamp(cell.top, bounds.top, bounds.bottom - height);
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

/** Return the content of the preview of a head. */
function contents(scene: Scene, maps: SmallMaps, at: Cell) {
  const { layout, look, stack, metric, state } = scene;
  const paint = (canvas: HTMLCanvasElement) => {
    const size = Math.round(SIDE * layout.dpr);
    const words = new Uint32Array(size * size);
    drawHead(words, size, 0, [size, size], maps, at, look);
    const pen = fresh(canvas, SIDE, SIDE);
    if (!pen) return;
    paintRaster(pen, { across: size, down: size, words }, 0, 0, SIDE, SIDE);
    if (scene.off.has(at[0] * maps.cols + at[1]))
      paintStrike(pen, scene.theme, { x: 0, y: 0, width: SIDE, height: SIDE });
  };
  const head: Head = [at[0], at[1], state.stack];
  const sharing = stack ? stack.n_heads / stack.n_key_heads : 1;
  const of = maps.quantity === "weights" ? [] : [maps.quantity];
  if (maps.signed) of.push("difference");
  const most = strongest(maps, state._axes, at);
  const number = [metricText(metric, at, maps.cols), editText(scene, at)].filter(Boolean);
  return html`<canvas ${painted(paint, scene, at[0], at[1])}></canvas>
    <div class="attnw-grid-name">
      <span>${[shortName(head, state), ...of].join(" · ")}</span>
      <span>${sharing > 1 ? `keys ${Math.floor(at[1] / sharing)}` : ""}</span>
    </div>
    <div class="attnw-grid-pair" ?hidden=${!most}>
      <span class="attnw-grid-token">${most?.query}</span> →
      <span class="attnw-grid-token">${most?.key}</span><b>${most?.weight}</b>
    </div>
    <div class="attnw-grid-number" ?hidden=${!number.length}>${number.join(" · ")}</div>`;
}

/**
 * Return an enlarged thumbnail next to the grid. It is a popover, because the output areas of
 * notebooks clip everything outside of them.
 */
export function gridPreview() {
  const box = createRef<HTMLElement>();
  return {
    /** Return the preview of a cell's head, if it has a map. */
    view(scene: Scene, cell: Cell | undefined) {
      const at = cell && headIn(scene.order, cell);
      const { maps } = scene;
      return html`<div class="attnw-grid-preview" popover="manual" aria-hidden="true"
        ?hidden=${!at || !maps} ${ref(box)}
        >${at && maps ? contents(scene, maps, at) : nothing}</div>`;
    },

    /** Place the preview next to its cell, above everything else on the page. */
    place(grid: HTMLElement, canvas: HTMLCanvasElement, layout: GridLayout, cell?: Cell): void {
      const node = box.value;
      if (!node) return;
      // Old browsers and the test environment have no popovers.
      const floats = typeof node.showPopover === "function";
      const isOpen = floats && node.matches(":popover-open");
      if (node.hidden || !cell) {
        if (isOpen) node.hidePopover();
        return;
      }
      if (floats && !isOpen) node.showPopover();
      const view = node.ownerDocument.documentElement;
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
      const anchor = { left, top, right: left + layout.cell, bottom: top + layout.tall };
      const right = view.clientWidth - EDGE;
      const bottom = view.clientHeight - EDGE;
      const bounds = { left: EDGE, top: EDGE, right, bottom };
      const place = placeOutside(around, anchor, node.offsetWidth, node.offsetHeight, bounds);
      node.style.translate = place.map((at) => `${Math.round(at)}px`).join(" ");
    },
  };
}
