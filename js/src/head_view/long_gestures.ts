import { listening } from "../shared/dom.js";
import { type LongLayout, placeAt, tokensOf } from "./long_layout.js";
import type { LongHead, Part } from "./long_types.js";
import { isWhole, shifted, zoomed } from "./long_window.js";

/** Shorter ways of the pointer are clicks. */
const DRAGGED = 5;
/** How much nearer a wheel brings: a notch of a mouse nearly twice as near. */
const TURN = 0.012;
const NOTCH = 50;

/** What is on the canvas now. */
export interface Drawn {
  layout: LongLayout;
  head: LongHead;
  part: Part;
}

/**
 * Dragging moves what is in sight; two fingers, a pinch on a trackpad and a wheel with Ctrl or
 * Command zoom about where they are. A wheel alone scrolls the page, unless the figure has the
 * focus.
 */
export function longGestures(
  box: HTMLElement,
  drawn: () => Drawn | undefined,
  show: (part: Part) => void,
  signal: AbortSignal,
) {
  const on = listening(signal);
  const down = new Map<number, { x: number; y: number }>();
  let dragged = false;
  let way = 0;

  const local = ({ clientX, clientY }: { clientX: number; clientY: number }) => {
    const { left, top } = box.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  };

  on(box, "pointerdown", (event) => {
    if (event.button !== 0) return;
    if (down.size === 0) {
      dragged = false;
      way = 0;
    }
    down.set(event.pointerId, local(event));
  });
  on(box, "pointermove", (event) => {
    const before = down.get(event.pointerId);
    const now = drawn();
    if (!before || !now) return;
    const here = local(event);
    way += Math.hypot(here.x - before.x, here.y - before.y);
    if (!dragged && way < DRAGGED && down.size === 1) return;
    if (!dragged) box.setPointerCapture?.(event.pointerId);
    dragged = true;
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    down.set(event.pointerId, here);
    const { layout, head, part } = now;
    const shift = (dx: number, dy: number) => shifted(head, part, tokensOf(layout, part, -dx, -dy));
    if (!other) return show(shift(here.x - before.x, here.y - before.y));
    const apart = (at: typeof here) => Math.max(8, Math.hypot(at.x - other.x, at.y - other.y));
    const moved = shift((here.x - before.x) / 2, (here.y - before.y) / 2);
    const middle = placeAt(layout, moved, (here.x + other.x) / 2, (here.y + other.y) / 2);
    show(zoomed(head, moved, apart(here) / apart(before), middle));
  });
  for (const end of ["pointerup", "pointercancel"] as const)
    on(box, end, ({ pointerId }) => down.delete(pointerId));
  // The end of a drag chooses nothing.
  box.addEventListener(
    "click",
    (event) => {
      if (dragged) event.stopImmediatePropagation();
      dragged = false;
    },
    { signal, capture: true },
  );
  box.addEventListener(
    "wheel",
    (event) => {
      const now = drawn();
      const meant = event.ctrlKey || event.metaKey;
      if (!now || !(meant || box.ownerDocument.activeElement === box)) return;
      const { layout, head, part } = now;
      const lines = event.deltaMode === 1 ? 16 : 1;
      const turn = Math.max(-NOTCH, Math.min(NOTCH, event.deltaY * lines));
      const { x, y } = local(event);
      // Where nothing is left to show of the map, the page scrolls.
      if (!meant && turn > 0 && isWhole(head, part)) return;
      event.preventDefault();
      show(zoomed(head, part, Math.exp(-turn * TURN), placeAt(layout, part, x, y)));
    },
    { signal, passive: false },
  );
  return { local, dragging: () => dragged && down.size > 0 };
}
