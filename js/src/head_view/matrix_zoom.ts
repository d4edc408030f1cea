import { element, listening } from "../shared/dom.js";
import type { Model } from "../shared/types.js";
import type { MatrixFigure } from "./matrix_figure.js";
import type { MatrixLayout } from "./matrix_layout.js";
import { framed, moved, same, showing, stepped, windowOf } from "./matrix_window.js";
import type { ViewState } from "./state.js";
import type { InSight, Place, Target } from "./targets.js";
import type { VisibleMap } from "./visible_map.js";

/** Shorter ways of the pointer are clicks. */
const DRAGGED = 5;
/** How far a wheel turns for a step; a pinch on a trackpad sends many small turns. */
const TURN = 30;
/** The kernel hears of a window when it has stood still for so many milliseconds. */
const STILL = 250;
const STEPS: Record<string, 1 | -1> = { "+": 1, "=": 1, "-": -1, _: -1 };

/**
 * What zooms a matrix: a rectangle that is dragged, a wheel with Ctrl or Command or a pinch on a
 * trackpad, keys, buttons. A finger or Shift and a drag move what is in sight. A wheel alone
 * scrolls the page.
 */
export function matrixZoom(
  figure: MatrixFigure,
  model: Model<ViewState>,
  map: () => VisibleMap | undefined,
  signal: AbortSignal,
) {
  const box = figure.element;
  const frame = element(box, "div", {
    class: "attnw-zoom-frame",
    hidden: true,
    "aria-hidden": "true",
  });
  const on = listening(signal);
  let sending = 0;
  let turned = 0;
  let start: { x: number; y: number; event: PointerEvent; inSight: InSight } | undefined;
  let dragged = false;

  function show(inSight: InSight): void {
    const now = map();
    const at = figure.layout();
    if (!now || !at || same(inSight, at.inSight)) return;
    model.set("window", windowOf(now, inSight));
    clearTimeout(sending);
    sending = setTimeout(() => model.save_changes(), STILL) as unknown as number;
  }
  signal.addEventListener("abort", () => clearTimeout(sending));

  function whole(): void {
    model.set("window", null);
    model.save_changes();
  }

  const middle = ({ inSight: { query, key } }: MatrixLayout): Place => ({
    query: (query.start + query.end) / 2,
    key: (key.start + key.end) / 2,
  });

  /** Zoom in (1) or out (-1), about a cell or the middle. */
  function step(by: 1 | -1, { query, key }: Target = {}): void {
    const at = figure.layout();
    if (!at) return;
    const centre = middle(at);
    const place = {
      query: query === undefined ? centre.query : query + 0.5,
      key: key === undefined ? centre.key : key + 0.5,
    };
    show(stepped(at, by, place));
  }

  /** Where a point of the page lies on the map, no further than its edges. */
  function placeOf(
    at: MatrixLayout,
    { clientX, clientY }: MouseEvent,
  ): Place & { x: number; y: number; inside: boolean } {
    const { left, top } = box.getBoundingClientRect();
    const across = at.cols * at.cellWidth;
    const down = at.rows * at.cellHeight;
    const x = clientX - left - at.x0;
    const y = clientY - top - at.y0;
    const inX = Math.max(0, Math.min(across, x));
    const inY = Math.max(0, Math.min(down, y));
    return {
      query: at.inSight.query.start + inY / at.cellHeight,
      key: at.inSight.key.start + inX / at.cellWidth,
      x: inX + at.x0,
      y: inY + at.y0,
      inside: inX === x && inY === y,
    };
  }

  const zoomed = () => model.get("window") !== null;
  const moves = ({ pointerType, shiftKey }: PointerEvent) =>
    zoomed() && (pointerType === "touch" || shiftKey);

  on(box, "pointerdown", (event) => {
    const at = figure.layout();
    dragged = false;
    if (!at || event.button !== 0 || (event.pointerType === "touch" && !zoomed())) return;
    const place = placeOf(at, event);
    if (place.inside) start = { x: place.x, y: place.y, event, inSight: at.inSight };
  });
  on(box, "pointermove", (event) => {
    const at = figure.layout();
    if (!start || !at) return;
    const dx = event.clientX - start.event.clientX;
    const dy = event.clientY - start.event.clientY;
    if (!dragged && Math.hypot(dx, dy) < DRAGGED) return;
    if (!dragged) box.setPointerCapture?.(event.pointerId);
    dragged = true;
    if (moves(start.event)) {
      show(
        moved(
          { ...at, inSight: start.inSight },
          { query: -dy / at.cellHeight, key: -dx / at.cellWidth },
        ),
      );
      return;
    }
    const place = placeOf(at, event);
    frame.hidden = false;
    frame.style.left = `${Math.min(place.x, start.x)}px`;
    frame.style.top = `${Math.min(place.y, start.y)}px`;
    frame.style.width = `${Math.abs(place.x - start.x)}px`;
    frame.style.height = `${Math.abs(place.y - start.y)}px`;
  });
  on(box, "pointerup", (event) => {
    const at = figure.layout();
    const from = start;
    end();
    if (!dragged || !from || !at || moves(from.event)) return;
    show(framed(at, placeOf(at, from.event), placeOf(at, event)));
  });
  on(box, "pointercancel", end);
  function end(): void {
    start = undefined;
    frame.hidden = true;
  }
  // The end of a drag locks nothing.
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
      const at = figure.layout();
      if (!at || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      if (turned * event.deltaY < 0) turned = 0;
      turned += event.deltaY;
      if (Math.abs(turned) < TURN) return;
      show(stepped(at, turned < 0 ? 1 : -1, placeOf(at, event)));
      turned = 0;
    },
    { signal, passive: false },
  );

  return {
    step,
    whole,
    zoomed,
    /** Move what is in sight as little as shows a target. */
    keep(target: Target): void {
      const at = figure.layout();
      if (at && zoomed()) show(showing(at, target));
    },
    /** Take a key; whether it was one of these. */
    key(key: string, active: Target): boolean {
      if (key === "Escape" && start && dragged) {
        end();
        return true;
      }
      const by = STEPS[key];
      if (by) step(by, active);
      else if (key === "0") whole();
      return by !== undefined || key === "0";
    },
  };
}
