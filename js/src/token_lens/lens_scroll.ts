import { corner, pitches } from "../shared/cells.js";
import { leadCell } from "./lens_text.js";
import type { Scene } from "./scene.js";

/**
 * Scroll the box of a tall lens to the largest weight of the shown head, once for each word and
 * head.
 */
export function seekingWeight() {
  /** What the box was last scrolled for. */
  let sought = "";

  return (shown: Scene, box: HTMLElement): void => {
    const { lens, selected } = shown;
    const of = JSON.stringify([lens.query, lens.key, lens.layer, lens.stack, selected.at(-1)]);
    if (of === sought) return;
    sought = of;
    const [, y] = corner(shown.layout, leadCell(shown));
    const height = pitches(shown.layout)[1];
    const top = y - shown.layout.y0;
    const isInSight = top >= box.scrollTop && y + height <= box.scrollTop + box.clientHeight;
    if (!isInSight) box.scrollTop = Math.max(0, y - box.clientHeight / 2);
  };
}
