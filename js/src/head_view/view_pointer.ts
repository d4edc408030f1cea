import { labelOf } from "../shared/labels.js";
import { onPointed, pointOut } from "../shared/pointed.js";
import { symbolOf } from "../shared/quantity.js";
import { centered, isWhole, wholeOf, zoomed } from "../shared/window.js";
import { keyAt } from "./aside/row_curve.js";
import type { tooltip } from "./aside/tooltip.js";
import { placeAt, windowGestures } from "./gestures.js";
import { pointedAt } from "./several/several_text.js";
import type { ShownView } from "./shown_view.js";
import { isPair, type Target } from "./source/target.js";
import { positionOf, sizeOf } from "./source/window_of.js";
import { INTO, type ViewLocks } from "./view_locks.js";

/** Handle pointer, wheel and touch on the figures, the minimap and the curve of a row. */
export function viewPointer(
  view: ShownView,
  locks: ViewLocks,
  tip: ReturnType<typeof tooltip>,
  schedule: () => void,
  signal: AbortSignal,
) {
  const figures = Object.values(view.figures);
  const gestures = figures.map((figure) =>
    windowGestures(
      figure.element,
      (at) => view.plotOf(figure, at),
      (part) => view.show(part),
      signal,
    ),
  );
  const isDragging = () => gestures.some((each) => each.dragging());

  function hover(target: Target, event?: PointerEvent): void {
    if (isDragging()) {
      tip.point("", 0, 0);
      return;
    }
    const { scene, shown, active } = view;
    const quantity = shown?.quantity ?? "weights";
    const text =
      event && scene && isPair(target)
        ? `${pointedAt(scene, target)} ${symbolOf(quantity)}`.trim()
        : fullText(target);
    tip.point(text, event?.clientX ?? 0, event?.clientY ?? 0);
    if (["query", "key", "step"].every((side) => target[side as "key"] === active[side as "key"]))
      return;
    view.active = target;
    view.isPointed = false;
    view.byKeyboard = false;
    tellPointed(target);
    schedule();
  }

  const circle = () => view.model.get("_circle");

  /** Let linked figures follow the pointer to a token. */
  function tellPointed({ query, key }: Target): void {
    const side = query !== undefined ? "query" : "key";
    const index = query !== undefined ? view.map?.rows[query] : view.map?.cols[key ?? -1];
    pointOut(circle(), view.model, index === undefined ? null : { side, index });
  }

  // A token under the pointer of a linked figure is active here too.
  onPointed(signal, circle, view.model, (pointed) => {
    const places = pointed?.side === "query" ? view.map?.rows : view.map?.cols;
    const place = pointed && places ? positionOf(places, pointed.index) : -1;
    view.isPointed = pointed !== null && place >= 0;
    view.active = pointed && view.isPointed ? { [pointed.side]: place } : {};
    schedule();
  });

  /** Return the complete text of a token whose label is cut. */
  function fullText({ query, key }: Target): string {
    const { scene } = view;
    if (!scene) return "";
    const { map, axes } = scene;
    const side = query !== undefined ? "query" : "key";
    const index = query !== undefined ? map.rows[query] : map.cols[key ?? -1];
    const text = index === undefined ? "" : labelOf(axes[side], index);
    return view.figure.isCut(scene, side, text) ? text : "";
  }

  for (const figure of figures) {
    const on = <K extends keyof HTMLElementEventMap>(
      type: K,
      listener: (event: HTMLElementEventMap[K]) => void,
    ) => figure.element.addEventListener(type, listener, { signal });
    on("pointermove", (event) => hover(figure.hit(event.clientX, event.clientY), event));
    on("pointerleave", () => hover({}));
    on("click", (event) => {
      if (view.isNear()) {
        if (event.detail > 1) return;
        locks.remember();
      }
      locks.lock(figure.hit(event.clientX, event.clientY), event.shiftKey);
    });
    on("dblclick", () => view.isNear() && locks.showAll());
    on("blur", () => view.byKeyboard && hover({}));
    on("scroll", schedule);
  }

  /** Center the part under the pointer after a press or a drag on the minimap. */
  function minimapped(event: PointerEvent): void {
    const { map, part } = view;
    if (!map || !part || (event.type === "pointermove" && !event.buttons)) return;
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const { left, top, width, height } = box;
    const size = sizeOf(map);
    const all = { size, part: wholeOf(size), left, top, width, height };
    const plot = view.plotOf(view.figure);
    if (!plot) return;
    const place = placeAt({ ...plot, ...all }, event);
    // The complete map cannot be moved, so the first click zooms in.
    const near = isWhole(size, part) ? zoomed(size, part, INTO, place, plot.room) : part;
    view.show(centered(size, near, place));
  }

  /** Center the key at a click on the curve of a locked query. */
  function curveClicked(event: MouseEvent, query: number): void {
    const { map, part, scene } = view;
    if (!map || !part || !scene) return;
    const { left } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const key = keyAt(scene, event.clientX - left);
    if (key !== undefined) view.show(centered(sizeOf(map), part, { query: query + 0.5, key }));
  }

  return {
    isDragging,
    /** Cancel a drag; returns whether there was one. */
    cancel: () => gestures.some((each) => each.cancel()),
    minimapped,
    curveClicked,
  };
}
