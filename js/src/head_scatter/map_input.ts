import { listening } from "../shared/dom.js";
import { adds } from "../shared/key_list.js";
import type { Point } from "./map_points.js";
import { movedPoint, pointAt, type Rectangle, within } from "./scene.js";

interface MapActions {
  /** Return the points in pixels of the canvas. */
  points(): Point[];
  selected(): Point[];
  redraw(): void;
  choose(points: Point[], add: boolean): void;
  /** Clear the selection; returns false if nothing is selected. */
  clear(): boolean;
}

/** Pointer and keyboard cursor on the map. */
interface MapCursor {
  hovered: Point | undefined;
  /** Index of the head under the keyboard cursor. */
  focused: number;
  /** Whether the keyboard is in use. */
  byKeyboard: boolean;
  brush: Rectangle | undefined;
}

/** Distance in pixels below which a press is a click. */
const STILL = 4;

/**
 * Handle mouse and keyboard on the map: update the returned cursor and call the actions. `key`
 * returns whether it handled the key. A template passes the box around the canvas with
 * `ref(attach)`.
 */
export function mapInput(signal: AbortSignal, actions: MapActions) {
  const cursor: MapCursor = { hovered: undefined, focused: 0, byKeyboard: false, brush: undefined };
  let pressed: [x: number, y: number] | undefined;
  let box: Element | undefined;
  const on = listening(signal);
  const update = (change: Partial<MapCursor>) => {
    Object.assign(cursor, change);
    actions.redraw();
  };
  const at = (event: PointerEvent): [number, number] => {
    const { left, top } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  };
  const focusOn = (point: Point) => ({ focused: actions.points().indexOf(point) });

  const letGo = () => {
    const had = cursor.brush !== undefined;
    pressed = undefined;
    update({ brush: undefined });
    return had;
  };

  function attach(node: Element | undefined): void {
    const canvas = node?.querySelector("canvas");
    if (!(node instanceof HTMLElement) || !canvas || node === box) return;
    box = node;
    on(canvas, "pointerdown", (event) => {
      if (event.button !== 0) return;
      pressed = at(event);
      update({ byKeyboard: false });
      // A drag on a touch screen scrolls the page, so brushes need a mouse or a pen.
      if (event.pointerType !== "touch") canvas.setPointerCapture?.(event.pointerId);
    });
    on(canvas, "pointermove", (event) => {
      const [x, y] = at(event);
      const far = pressed && Math.hypot(x - pressed[0], y - pressed[1]) >= STILL;
      if (pressed && event.pointerType !== "touch" && (far || cursor.brush)) {
        const brush = { x0: pressed[0], y0: pressed[1], x1: x, y1: y };
        return update({ brush, hovered: undefined });
      }
      const hovered = pointAt(actions.points(), x, y);
      if (hovered !== cursor.hovered) update({ hovered });
    });
    on(canvas, "pointerup", (event) => {
      const { brush } = cursor;
      const wasPressed = pressed !== undefined;
      pressed = undefined;
      update({ brush: undefined });
      if (brush) return actions.choose(within(actions.points(), brush), adds(event));
      const point = pointAt(actions.points(), ...at(event));
      if (!point || !wasPressed) return;
      update(focusOn(point));
      actions.choose([point], adds(event));
    });
    on(canvas, "pointercancel", letGo);
    on(canvas, "pointerleave", () => update({ hovered: undefined }));
    on(node, "focus", () => {
      const byKeyboard = node.matches(":focus-visible");
      const shown = actions.selected().at(-1);
      update({ byKeyboard, ...(byKeyboard && shown ? focusOn(shown) : {}) });
    });
    on(node, "blur", () => update({ byKeyboard: false }));
  }

  const key = (event: KeyboardEvent): boolean => {
    if (event.target !== box || event.altKey) return false;
    const points = actions.points();
    const from = points[cursor.focused];
    if (!from) return false;
    const target = movedPoint(event.key, points, from);
    if (target) update(focusOn(target));
    else if (event.key === "Enter" || event.key === " ") actions.choose([from], adds(event));
    else if (event.key !== "Escape" || !(letGo() || actions.clear())) return false;
    update({ hovered: undefined, byKeyboard: true });
    return true;
  };
  return { cursor, key, attach };
}
