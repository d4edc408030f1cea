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
    show(
      grid: HTMLCanvasElement,
      layout: GridLayout,
      picture: Picture,
      cell: Cell,
      look: Look,
      theme: Theme,
    ): void {
      if (last) heading = headingAfter(heading, cell[1] - last[1], cell[0] - last[0]);
      last = cell;
      const size = Math.round(SIDE * layout.dpr);
      const pixels = new Uint32Array(size * size);
      drawHead(pixels, size, 0, size, picture, cell, look);
      putPixels(canvas, size, size, pixels);
      canvas.style.borderColor = theme.hairline;

      const stack = model.get("_stacks").find((s) => s.name === model.get("stack"));
      const head: Head = [cell[0], cell[1], model.get("stack")];
      const sharing = stack ? stack.n_heads / stack.n_key_heads : 1;
      name.textContent = `${headName(head)} · ${paperName(head)}`;
      group.textContent = sharing > 1 ? `keys ${Math.floor(cell[1] / sharing)}` : "";
      const most = strongest(picture, model.get("_axes"), cell);
      pair.hidden = !most;
      query.textContent = most?.query ?? "";
      key.textContent = most?.key ?? "";
      weight.textContent = most?.weight ?? "";

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
      const at = placeBeside(anchor, box.offsetWidth, box.offsetHeight, bounds, heading);
      box.style.translate = `${Math.round(at[0])}px ${Math.round(at[1])}px`;
    },
  };
}
