import type { Model } from "../shared/types.js";
import type { Part } from "./long_types.js";
import { lacks } from "./long_window.js";
import type { ViewState } from "./state.js";

/** The kernel hears of a window that needs no other tile when it has stood still for so many milliseconds. */
const STILL = 250;
/** An answer that has not come by then is no longer waited for. */
const LATE = 10_000;

/**
 * Asks the kernel for what is in sight: one request at a time, the next one for what is in sight when the answer is there. So windows
 * that were only passed through are never asked for.
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
  let asked: string | undefined;
  /** What is to be in sight, and what the page last heard of or said itself: a kernel repeats what it was told, later. */
  let wanted = model.get("window");
  let known = JSON.stringify(wanted);
  const now = () => JSON.stringify(wanted);
  const has = () => JSON.stringify(model.get("_tile")?.asked ?? null);

  function send(): void {
    clearTimeout(timer);
    if (now() === has()) return;
    // A page without a kernel has what it has.
    if (!model.send) return;
    asked = known = now();
    clearTimeout(late);
    late = setTimeout(end, LATE);
    model.set("window", wanted);
    model.save_changes();
  }
  function end(): void {
    asked = undefined;
    clearTimeout(late);
    answered();
    const part = inSight();
    if (part && lacks(model.get("_tile"), part)) send();
    else if (now() !== has()) wait();
  }
  function wait(): void {
    clearTimeout(timer);
    timer = setTimeout(() => asked === undefined && send(), STILL);
  }
  const arrived = () => {
    if (asked !== undefined && has() === asked) end();
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
      if (!part || asked !== undefined) return;
      if (lacks(model.get("_tile"), part)) send();
      else wait();
    },
    /** Whether the window is another one than the page has chosen: it is then that one's turn. */
    isMoved(): boolean {
      const found = JSON.stringify(model.get("window"));
      if (found === known) return false;
      [wanted, known] = [model.get("window"), found];
      return true;
    },
    isOpen: () => asked !== undefined,
  };
}
