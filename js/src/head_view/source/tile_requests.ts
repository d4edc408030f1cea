import type { Model } from "../../shared/types.js";
import type { MapPart } from "../../shared/window.js";
import type { ViewState } from "../state.js";
import { lacks } from "./tiled_map.js";
import type { Window } from "./window_of.js";

/** Milliseconds without movement after which the kernel is told the window. */
const STILL = 250;
/** Milliseconds after which a missing answer is given up. */
const LATE = 10_000;

/**
 * Tell the kernel the window, and request the visible part of a tiled map. Requests are sent one at
 * a time: each answer is followed by a request for the current window, and windows passed in the
 * meantime are never requested.
 */
export function tileRequests(
  model: Model<ViewState>,
  inSight: () => MapPart | undefined,
  answered: () => void,
  signal: AbortSignal,
) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let late: ReturnType<typeof setTimeout> | undefined;
  /** Window of the open request; undefined if there is none. */
  let requested: string | undefined;
  /** Current window, and the windows that this page set itself: the kernel echoes values later. */
  let wanted: Window = model.get("window");
  let known = JSON.stringify(wanted);
  let told = known;
  /** Windows set since the last message. Another change of the page may have sent one of them. */
  const passed = new Set<string>();
  const now = () => JSON.stringify(wanted);
  const has = () => JSON.stringify(model.get("_tile")?.asked ?? null);
  const inBlocks = () => model.get("_maps")?.complete === false;
  const misses = (part: MapPart) => inBlocks() && lacks(model.get("_tile"), part);

  function tell(): void {
    known = told = now();
    passed.clear();
    model.set("window", wanted);
    model.save_changes();
  }
  function send(): void {
    clearTimeout(timer);
    if (!inBlocks()) {
      tell();
      return;
    }
    if (now() === has()) return;
    tell();
    // A page without a kernel cannot load more.
    if (!model.send) return;
    requested = now();
    clearTimeout(late);
    late = setTimeout(end, LATE);
  }
  function end(): void {
    requested = undefined;
    clearTimeout(late);
    answered();
    const part = inSight();
    if (part && misses(part)) send();
    else if (now() !== has()) wait();
  }
  function wait(): void {
    clearTimeout(timer);
    timer = setTimeout(() => requested === undefined && send(), STILL);
  }
  const arrived = () => {
    if (requested !== undefined && has() === requested) end();
  };
  model.on("change:_tile", arrived);
  signal.addEventListener("abort", () => {
    model.off("change:_tile", arrived);
    clearTimeout(timer);
    clearTimeout(late);
  });

  return {
    /** Show a window, and request missing parts from the kernel. */
    show(window: Window): void {
      wanted = window;
      known = now();
      passed.add(known);
      model.set("window", window);
      const part = inSight();
      if (!part || requested !== undefined) return;
      if (misses(part)) send();
      else wait();
    },
    /** Return whether the window was changed by someone other than this page. */
    isMoved(): boolean {
      const stored = JSON.stringify(model.get("window"));
      if (stored === known || stored === told || passed.has(stored)) return false;
      wanted = model.get("window");
      known = told = stored;
      return true;
    },
    isOpen: () => requested !== undefined,
  };
}
