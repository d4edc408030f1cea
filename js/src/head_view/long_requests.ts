import type { Model } from "../shared/types.js";
import type { Part } from "./long_types.js";
import { lacks } from "./long_window.js";
import type { ViewState } from "./state.js";

/**
 * Milliseconds without movement after which the kernel learns of a window that needs no new tile.
 */
const STILL = 250;
/** An answer that has not come by then is no longer waited for. */
const LATE = 10_000;

/**
 * Requests the visible part from the kernel: one request at a time, and after each answer a request
 * for the current window. Windows passed during a request are never requested.
 */
export function longRequests(
  model: Model<ViewState>,
  inSight: () => Part | undefined,
  answered: () => void,
  signal: AbortSignal,
) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let late: ReturnType<typeof setTimeout> | undefined;
  /** The window that is asked for; none where nothing is. */
  let requested: string | undefined;
  /**
   * The wanted window, and the last window that the page sent or received: a kernel repeats values
   * later.
   */
  let wanted = model.get("window");
  let known = JSON.stringify(wanted);
  const now = () => JSON.stringify(wanted);
  const has = () => JSON.stringify(model.get("_tile")?.asked ?? null);

  function send(): void {
    clearTimeout(timer);
    if (now() === has()) return;
    // A page without a kernel has what it has.
    if (!model.send) return;
    requested = known = now();
    clearTimeout(late);
    late = setTimeout(end, LATE);
    model.set("window", wanted);
    model.save_changes();
  }
  function end(): void {
    requested = undefined;
    clearTimeout(late);
    answered();
    const part = inSight();
    if (part && lacks(model.get("_tile"), part)) send();
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
    show(window: ViewState["window"]): void {
      wanted = window;
      const part = inSight();
      if (!part || requested !== undefined) return;
      if (lacks(model.get("_tile"), part)) send();
      else wait();
    },
    /** Whether the window differs from the page's choice and therefore comes from elsewhere. */
    isMoved(): boolean {
      const stored = JSON.stringify(model.get("window"));
      if (stored === known) return false;
      wanted = model.get("window");
      known = stored;
      return true;
    },
    isOpen: () => requested !== undefined,
  };
}
