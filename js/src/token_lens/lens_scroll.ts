import { type Cell, corner, pitches } from "../shared/cells.js";
import { leadCell } from "./lens_text.js";
import type { Scene } from "./scene.js";

/** Scrolls the box of a tall lens. */
export function lensScroll() {
  /** What the box was last scrolled for. */
  let sought = "";

  return {
    /** Bring a row into sight, under the labels of the heads. */
    reveal(scene: Scene | undefined, box: HTMLElement | null, cell: Cell): void {
      if (!scene || !box) return;
      const [, y] = corner(scene.layout, cell);
      const below = y + pitches(scene.layout)[1] + 4 - box.clientHeight;
      box.scrollTop = Math.max(Math.min(box.scrollTop, y - scene.layout.y0), below);
    },
    /** Scroll to the largest weight of the shown head, once for each word and head. */
    seek(shown: Scene, box: HTMLElement): void {
      const { lens, selected } = shown;
      const of = JSON.stringify([lens.query, lens.key, lens.layer, lens.stack, selected.at(-1)]);
      if (of === sought) return;
      sought = of;
      const [, y] = corner(shown.layout, leadCell(shown));
      const height = pitches(shown.layout)[1];
      const top = y - shown.layout.y0;
      const isInSight = top >= box.scrollTop && y + height <= box.scrollTop + box.clientHeight;
      if (!isInSight) box.scrollTop = Math.max(0, y - box.clientHeight / 2);
    },
  };
}
