import { columnsInSight, rowsInSight } from "../shared/cells.js";
import type { Scene } from "./scene.js";

/** Count the visible layers and heads, if the box is too small for all. */
export function gridSight(schedule: () => void, signal: AbortSignal) {
  const resized = new ResizeObserver(schedule);
  signal.addEventListener("abort", () => resized.disconnect());
  let watched: HTMLElement | null = null;
  let text = "";

  return {
    /**
     * Return a sentence about the visible part, or "" if everything is visible, as of the last
     * painting.
     */
    text: () => text,
    count({ layout, order }: Scene, box: HTMLElement): void {
      if (box !== watched) {
        resized.disconnect();
        resized.observe(box);
        watched = box;
      }
      const { scrollTop, clientHeight, scrollLeft, clientWidth } = box;
      const isSorted = order.sort === "all";
      const isLow = box.scrollHeight > clientHeight + 1 && !isSorted;
      const isNarrow = box.scrollWidth > clientWidth + 1 && !isSorted;
      const parts: string[] = [];
      const [down, across] = order.perLayer ? ["heads", "layers"] : ["layers", "heads"];
      if (isLow)
        parts.push(`${rowsInSight(layout, scrollTop, clientHeight)} of ${layout.rows} ${down}`);
      if (isNarrow)
        parts.push(
          `${columnsInSight(layout, scrollLeft, clientWidth)} of ${layout.cols} ${across}`,
        );
      const now = parts.length ? `${parts.join(", ")}, scroll for the rest` : "";
      box.classList.toggle("attnw-grid-cut", isLow);
      if (now === text) return;
      text = now;
      schedule();
    },
  };
}
