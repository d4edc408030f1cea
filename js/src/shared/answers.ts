import { element } from "./dom.js";
import type { Model } from "./types.js";

export const LOST = "Not connected: run the cell again";
export const WAITING = "Waiting for the kernel";
const UNSURE = "No answer from the kernel: unless it is busy, run the cell again";

/** Milliseconds after which it is said that nothing came; and from the kernel's "done" to its last answer on the page. */
const PATIENCE = 1000;
const ON_ITS_WAY = 200;
/** Waits after which a host that says nothing of its kernel may have none. */
const LONG = 5;
const GONE = new Set(["dead", "terminating", "restarting", "autorestarting"]);
/** One for all figures of a page, each of which has a bundle of its own. */
const PAGE = Symbol.for("attnwidget.answers");
const ASK = "attnw-ask";

type Link = "live" | "waiting" | "lost";
type Kernel = { status?: string; connectionStatus?: string; isDisposed?: boolean } | null;

/** The host's kernel: null where it has ended, undefined where the host does not say. */
function kernelOf(manager: unknown): Kernel | undefined {
  return manager && typeof manager === "object" && "kernel" in manager
    ? (manager.kernel as Kernel)
    : undefined;
}

function isGone(kernel: Kernel | undefined): boolean {
  if (!kernel) return kernel === null;
  return (
    Boolean(kernel.isDisposed) ||
    kernel.connectionStatus === "disconnected" ||
    GONE.has(kernel.status ?? "")
  );
}

function pageEvents(): EventTarget {
  const page = globalThis as { [PAGE]?: EventTarget };
  page[PAGE] ??= new EventTarget();
  return page[PAGE];
}

/**
 * Asks the kernel after every change that the page saves whether it is there, and says so where it is not: the figure no longer
 * shows what was chosen. A kernel that is busy answers later. `inner` is what is dimmed. The other figures of the page ask then
 * too, so that no two of them show different choices as if both held.
 */
export function watchAnswers<T>(
  model: Model<T>,
  root: HTMLElement,
  inner: HTMLElement,
  signal: AbortSignal,
): void {
  if (!model.send) return;
  const note = element(root, "p", { role: "status", class: "attnw-link", hidden: true });
  inner.before(note);
  const page = pageEvents();
  let question = 0;
  let open = false;
  let waits = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function show(link: Link, text = ""): void {
    root.dataset.link = link;
    note.hidden = !text;
    if (note.textContent !== text) note.textContent = text;
    inner.role = link === "lost" ? "group" : null;
    inner.ariaDisabled = link === "lost" ? "true" : null;
  }

  function settle(link: Link, text = ""): void {
    open = false;
    clearTimeout(timer);
    const was = root.dataset.link;
    show(link, text);
    if (link === "lost" && was !== "lost") page.dispatchEvent(new Event(ASK));
  }

  function send(): void {
    const asked = question;
    const lost = () => {
      if (open && question === asked) settle("lost", LOST);
    };
    const status = ({ content }: { content: { execution_state: string } }) => {
      // A kernel that is through with the question and did not answer does not know the figure.
      if (content.execution_state === "idle") setTimeout(lost, ON_ITS_WAY);
    };
    try {
      // Jupyter marks the views of a kernel that was restarted.
      if (root.closest(".jupyter-widgets-disconnected")) lost();
      // Jupyter reads what to call about the kernel's status; marimo calls it when the question has gone out.
      else
        model.send?.(
          { asked },
          Object.assign(() => {}, { iopub: { status } }),
        );
    } catch {
      lost();
    }
  }

  function wait(): void {
    waits += 1;
    const kernel = kernelOf(model.widget_manager);
    if (isGone(kernel)) {
      settle("lost", LOST);
      return;
    }
    show("waiting", kernel === undefined && waits > LONG ? UNSURE : WAITING);
    timer = setTimeout(wait, PATIENCE);
    // The one that was asked may have ended meanwhile, and another be here.
    if (kernel?.status === "idle") send();
  }

  function ask(): void {
    if (open || signal.aborted) return;
    // A panel of an explorer speaks through the explorer.
    root.parentElement?.closest(".attnw-root")?.dispatchEvent(new Event(ASK));
    [question, open, waits] = [Math.random(), true, 0];
    timer = setTimeout(wait, PATIENCE);
    send();
  }

  const save = model.save_changes.bind(model);
  // Every change goes out through here, whichever part of a figure makes it.
  model.save_changes = () => {
    save();
    ask();
  };
  const answered = (message?: unknown) => {
    if ((message as { asked?: number } | undefined)?.asked === question) settle("live");
  };
  model.on("msg:custom", answered);
  page.addEventListener(ASK, () => root.dataset.link !== "lost" && ask(), { signal });
  root.addEventListener(ASK, ask, { signal });
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    model.off("msg:custom", answered);
  });
}
