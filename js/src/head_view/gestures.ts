import { clamp } from "../shared/clamp.js";
import { element, listening } from "../shared/dom.js";
import {
  framed,
  isWhole,
  type MapPart,
  middleOf,
  type Position,
  type Room,
  type Size,
  samePart,
  shifted,
  whole,
  wholeOf,
  zoomed,
} from "../shared/window.js";

/** Distance in pixels below which a drag counts as a click. */
const DRAGGED = 5;
/** Zoom exponent per pixel of wheel movement. A notch of a mouse wheel zooms by nearly 2. */
const TURN = 0.012;
const NOTCH = 50;
/** Zoom factor of a key or a button. */
export const NEARER = 2;
/** Share of the visible part by which an arrow key moves it. */
const SHARE = 1 / 4;

/** Visible part of a map and its rectangle, in CSS pixels of the page. */
export interface Plot {
  size: Size;
  part: MapPart;
  room: Room;
  left: number;
  top: number;
  width: number;
  height: number;
}

type Point = Pick<MouseEvent, "clientX" | "clientY">;

/** Return the position at a point, and whether the point is inside the plot. */
export function placeAt({ part, left, top, width, height }: Plot, at: Point) {
  const right = (at.clientX - left) / width;
  const below = (at.clientY - top) / height;
  const [q0, q1, k0, k1] = part;
  const inside = right >= 0 && right < 1 && below >= 0 && below < 1;
  return { query: q0 + below * (q1 - q0), key: k0 + right * (k1 - k0), inside };
}

/** Convert a distance in pixels to a number of positions. */
const positions = ({ part, width, height }: Plot, dx: number, dy: number): Position => ({
  query: (dy / height) * (part[1] - part[0]),
  key: (dx / width) * (part[3] - part[2]),
});

/**
 * Return the zoom of a two-finger gesture: its factor, its center, and the part moved by the
 * gesture.
 */
function pinched(plot: Plot, before: Point, here: Point, other: Point) {
  const apart = (at: Point) =>
    Math.max(8, Math.hypot(at.clientX - other.clientX, at.clientY - other.clientY));
  const by = positions(
    plot,
    (before.clientX - here.clientX) / 2,
    (before.clientY - here.clientY) / 2,
  );
  const moved = shifted(plot.size, plot.part, by);
  const middle = {
    clientX: (here.clientX + other.clientX) / 2,
    clientY: (here.clientY + other.clientY) / 2,
  };
  return {
    times: apart(here) / apart(before),
    middle: placeAt({ ...plot, part: moved }, middle),
    moved,
  };
}

/** Return a frame around the part to zoom to. */
function zoomFrame(box: HTMLElement) {
  const frame = element(box, "div", {
    class: "attnw-zoom-frame",
    hidden: true,
    "aria-hidden": "true",
  });
  return {
    hide(): void {
      frame.hidden = true;
    },
    draw(plot: Plot, from: Point, to: Point): void {
      const { left, top } = box.getBoundingClientRect();
      const inX = (x: number) => clamp(x, plot.left, plot.left + plot.width) - left;
      const inY = (y: number) => clamp(y, plot.top, plot.top + plot.height) - top;
      const [x0, x1] = [inX(from.clientX), inX(to.clientX)];
      const [y0, y1] = [inY(from.clientY), inY(to.clientY)];
      frame.hidden = false;
      frame.style.left = `${Math.min(x0, x1)}px`;
      frame.style.top = `${Math.min(y0, y1)}px`;
      frame.style.width = `${Math.abs(x1 - x0)}px`;
      frame.style.height = `${Math.abs(y1 - y0)}px`;
    },
  };
}

/**
 * Add gestures that move and zoom a map, the same in every figure. A drag moves the visible part,
 * and a drag with Shift frames a part to zoom to. Two fingers, a pinch on a trackpad, and a wheel
 * with Ctrl or Command zoom around their position. A wheel without a key scrolls the page.
 */
export function windowGestures(
  box: HTMLElement,
  plotAt: (at: Point) => Plot | undefined,
  show: (part: MapPart) => void,
  signal: AbortSignal,
) {
  const on = listening(signal);
  const frame = zoomFrame(box);
  const down = new Map<number, Point>();
  let start: { plot: Plot; event: PointerEvent } | undefined;
  let dragged = false;
  /** Accumulated zoom of small movements, applied when it changes the part by a position. */
  let owed = 1;

  function zoom(plot: Plot, times: number, place: Position, part = plot.part): void {
    const next = zoomed(plot.size, part, owed * times, place, plot.room);
    const stays =
      next[1] - next[0] === part[1] - part[0] && next[3] - next[2] === part[3] - part[2];
    owed = stays ? owed * times : 1;
    if (!stays) show(next);
    else if (part !== plot.part) show(part);
  }

  const framing = () => Boolean(start?.event.shiftKey) && down.size === 1;

  on(box, "pointerdown", (event) => {
    const plot = plotAt(event);
    if (event.button !== 0 || !plot || !placeAt(plot, event).inside) return;
    if (down.size === 0) {
      dragged = false;
      owed = 1;
      start = { plot, event };
    }
    down.set(event.pointerId, event);
  });
  on(box, "pointermove", (event) => {
    const before = down.get(event.pointerId);
    const plot = start && plotAt(start.event);
    if (!before || !start || !plot) return;
    const dx = event.clientX - start.event.clientX;
    const dy = event.clientY - start.event.clientY;
    if (!dragged && down.size === 1 && Math.hypot(dx, dy) < DRAGGED) return;
    const isFirst = !dragged;
    dragged = true;
    // A complete map cannot be moved, so let a finger scroll the page.
    if (down.size === 1 && isWhole(plot.size, plot.part) && !framing()) return;
    if (isFirst) box.setPointerCapture?.(event.pointerId);
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    down.set(event.pointerId, event);
    if (framing()) frame.draw(start.plot, start.event, event);
    else if (!other) {
      // Shift from the start of the drag, so that rounding errors do not add up.
      show(shifted(plot.size, start.plot.part, positions(start.plot, -dx, -dy)));
    } else {
      const { times, middle, moved } = pinched(plot, before, event, other);
      zoom(plot, times, middle, moved);
    }
  });

  function end(pointerId?: number): void {
    if (pointerId === undefined) down.clear();
    else down.delete(pointerId);
    frame.hide();
    if (down.size === 0) start = undefined;
  }
  on(box, "pointerup", (event) => {
    const from = start;
    const frames = framing() && dragged;
    const plot = from && plotAt(from.event);
    end(event.pointerId);
    if (!from || !plot || !dragged) return;
    if (!frames) {
      show(whole(plot.part));
      return;
    }
    const { rows, cols } = plot.size;
    const inMap = ({ query, key }: Position) => ({
      query: clamp(query, 0, rows),
      key: clamp(key, 0, cols),
    });
    const ends = [from.event, event].map((at) => inMap(placeAt(plot, at))) as [Position, Position];
    show(framed(plot.size, ...ends, plot.room));
  });
  on(box, "pointercancel", ({ pointerId }) => end(pointerId));
  // The click at the end of a drag must not select anything.
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
      const plot = plotAt(event);
      if (!plot || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      const turn = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
      const notch = clamp(turn, -NOTCH, NOTCH);
      zoom(plot, Math.exp(-notch * TURN), placeAt(plot, event));
    },
    { signal, passive: false },
  );

  return {
    dragging: () => dragged && down.size > 0,
    /** Cancel a zoom frame that is being dragged; returns whether there was one. */
    cancel(): boolean {
      const had = dragged && framing();
      if (had) end();
      return had;
    },
  };
}

const STEPS: Record<string, 1 | -1> = { "+": 1, "=": 1, "-": -1, _: -1 };
const ARROWS: Record<string, Position> = {
  ArrowUp: { query: -1, key: 0 },
  ArrowDown: { query: 1, key: 0 },
  ArrowLeft: { query: 0, key: -1 },
  ArrowRight: { query: 0, key: 1 },
};

/** Zoom in (1) or out (-1) by a step, around a position or the center of the visible part. */
export function stepped({ size, part, room }: Plot, by: 1 | -1, at?: Position): MapPart {
  const place = at ?? middleOf(part);
  const next = zoomed(size, part, by > 0 ? NEARER : 1 / NEARER, place, room);
  // After rounding to full pixels, a step out of large cells may change nothing.
  return samePart(next, part) && by < 0 ? wholeOf(size) : next;
}

/** Return the part that a key makes visible, or undefined for other keys. */
export function partByKey(
  { key, shiftKey }: Pick<KeyboardEvent, "key" | "shiftKey">,
  plot: Plot,
  at?: Position,
): MapPart | undefined {
  const { size, part } = plot;
  const by = STEPS[key];
  if (by) return stepped(plot, by, at);
  if (key === "0") return wholeOf(size);
  const arrow = shiftKey ? ARROWS[key] : undefined;
  if (!arrow || isWhole(size, part)) return undefined;
  return whole(
    shifted(size, part, {
      query: arrow.query * (part[1] - part[0]) * SHARE,
      key: arrow.key * (part[3] - part[2]) * SHARE,
    }),
  );
}
