import type { Model } from "../../shared/types.js";
import type { MapPart } from "../../shared/window.js";
import type { ViewState } from "../state.js";
import { lacks } from "./tiled_map.js";
import type { Window } from "./window_of.js";

/** Milliseconds without movement after which the kernel learns of a window. */
const STILL = 250;
/** An answer that has not come by then is no longer waited for. */
const LATE = 10_000;

/**
 * Tells the kernel the window, and requests the visible part of a tiled map from it: one request at
 * a time, and after each answer a request for the current window. Windows passed during a request
 * are never requested.
 */
export function tileRequests(
  model: Model<ViewState>,
  inSight: () => MapPart | undefined,
  answered: () => void,
  signal: AbortSignal,
) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let late: ReturnType<typeof setTimeout> | undefined;
  /** The window that is asked for; none where nothing is. */
  let requested: string | undefined;
  /**
   * The wanted window, and those that the page set itself: a kernel repeats values later.
   */
  let wanted: Window = model.get("window");
  let known = JSON.stringify(wanted);
  let told = known;
  /** Windows since then: another change of the page may have taken one of them along. */
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
    // A page without a kernel has what it has.
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
    /** Show a window; the kernel is asked where the page lacks something of it. */
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
    /** Whether the window differs from the page's choice and therefore comes from elsewhere. */
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
