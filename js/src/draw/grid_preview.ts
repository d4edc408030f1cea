import { element } from "../model/dom.js";
import type { Theme } from "../model/theme.js";
import { type GridState, type Head, headName, type Model, paperName } from "../model/types.js";
import { type Cell, corner, type GridLayout } from "./grid_layout.js";
import { drawHead, type Look, type Picture, putPixels } from "./grid_pixels.js";
import { type Heading, headingAfter, placeBeside } from "./grid_place.js";
import { strongest } from "./grid_text.js";

const SIDE = 180;
const EDGE = 8;

/** An enlarged thumbnail beside a cell. It is a popover: the output areas of notebooks clip whatever leaves them. */
export function gridPreview(root: HTMLElement, model: Model<GridState>) {
  const box = element(root, "div", {
    class: "attnw-grid-preview",
    popover: "manual",
    "aria-hidden": "true",
    hidden: true,
  });
  const canvas = element(box, "canvas");
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
  let heading: Heading = [0, 0];
  let last: Cell | undefined;

  return {
    hide(): void {
      last = undefined;
      heading = [0, 0];
      box.hidden = true;
      if (floats && box.matches(":popover-open")) box.hidePopover();
    },
    /** Show head `at` beside the cell it stands in. */
    show(
      grid: HTMLCanvasElement,
      layout: GridLayout,
      picture: Picture,
      cell: Cell,
      at: Cell,
      metric: string,
      look: Look,
      theme: Theme,
    ): void {
      if (last) heading = headingAfter(heading, cell[1] - last[1], cell[0] - last[0]);
      last = cell;
      const size = Math.round(SIDE * layout.dpr);
      const pixels = new Uint32Array(size * size);
      drawHead(pixels, size, 0, size, picture, at, look);
      putPixels(canvas, size, size, pixels);
      canvas.style.borderColor = theme.hairline;

      const stack = model.get("_stacks").find((s) => s.name === model.get("stack"));
      const head: Head = [at[0], at[1], model.get("stack")];
      const sharing = stack ? stack.n_heads / stack.n_key_heads : 1;
      const of = picture.quantity === "weights" ? [] : [picture.quantity];
      name.textContent = [headName(head), paperName(head), ...of].join(" · ");
      group.textContent = sharing > 1 ? `keys ${Math.floor(at[1] / sharing)}` : "";
      const most = strongest(picture, model.get("_axes"), at);
      pair.hidden = !most;
      query.textContent = most?.query ?? "";
      key.textContent = most?.key ?? "";
      weight.textContent = most?.weight ?? "";
      number.textContent = metric;
      number.hidden = !metric;

      box.hidden = false;
      if (floats && !box.matches(":popover-open")) box.showPopover();
      const view = root.ownerDocument.documentElement;
      const origin = grid.getBoundingClientRect();
      const [x, y] = corner(layout, cell);
      const [left, top] = [origin.left + x, origin.top + y];
      const anchor = { left, top, right: left + layout.cell, bottom: top + layout.cell };
      const bounds = {
        ...{ left: EDGE, top: EDGE },
        ...{ right: view.clientWidth - EDGE, bottom: view.clientHeight - EDGE },
      };
      const corners = placeBeside(anchor, box.offsetWidth, box.offsetHeight, bounds, heading);
      box.style.translate = `${Math.round(corners[0])}px ${Math.round(corners[1])}px`;
    },
  };
}
