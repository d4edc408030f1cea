import { html } from "lit-html";
import type { Model } from "./types.js";

export const LOST = "Not connected: run the cell again";
export const WAITING = "Waiting for the kernel";
const UNSURE = "No answer from the kernel: unless it is busy, run the cell again";

/**
 * Milliseconds without an answer before a warning; and from the kernel's "done" to its last answer
 * on the page.
 */
const PATIENCE = 1000;
const ON_ITS_WAY = 200;
/** Number of waiting times without a message after which the kernel may be lost. */
const LONG = 5;
const GONE = new Set(["dead", "terminating", "restarting", "autorestarting"]);
/** Shared by all figures of a page, although each figure has its own bundle. */
const PAGE = Symbol.for("attnwidget.answers");
const ASK = "attnw-ask";

/** How a figure stands with its kernel, and the sentence that says so where it is not "live". */
export interface Connection {
  link: "live" | "waiting" | "lost";
  text: string;
}
type Link = Connection["link"];
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

/** The sentence over a figure that the kernel does not answer. */
export const connectionNote = ({ text }: Connection) =>
  html`<p role="status" class="attnw-link" ?hidden=${!text}>${text}</p>`;

/**
 * Asks after every saved change whether the kernel is alive, and if not, warns that the figure no
 * longer shows the choice. A kernel that is busy answers later. `show` puts the answer on the page.
 * The remaining figures of the page ask as well, so that no two figures show different choices
 * without a warning.
 */
export function watchAnswers<T>(
  model: Model<T>,
  root: HTMLElement,
  show: (connection: Connection) => void,
  signal: AbortSignal,
): void {
  if (!model.send) return;
  const page = pageEvents();
  let question = 0;
  let open = false;
  let waits = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function tell(link: Link, text: string): void {
    root.dataset.link = link;
    show({ link, text });
  }

  function settle(link: Link, text = ""): void {
    open = false;
    clearTimeout(timer);
    const was = root.dataset.link;
    tell(link, text);
    if (link === "lost" && was !== "lost") page.dispatchEvent(new Event(ASK));
  }

  function send(): void {
    const sent = question;
    const lost = () => {
      if (open && question === sent) settle("lost", LOST);
    };
    const status = ({ content }: { content: { execution_state: string } }) => {
      // A kernel that is through with the question and did not answer does not know the figure.
      if (content.execution_state === "idle") setTimeout(lost, ON_ITS_WAY);
    };
    try {
      // Jupyter marks the views of a kernel that was restarted.
      if (root.closest(".jupyter-widgets-disconnected")) lost();
      // Jupyter reads what to call about the kernel's status; marimo calls it when the question has
      // gone out.
      else
        model.send?.(
          { asked: sent },
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
    tell("waiting", kernel === undefined && waits > LONG ? UNSURE : WAITING);
    timer = setTimeout(wait, PATIENCE);
    // Meanwhile the asked kernel may have ended, and a new kernel may have started.
    if (kernel?.status === "idle") send();
  }

  function ask(): void {
    if (open || signal.aborted) return;
    // A panel of an explorer speaks through the explorer.
    root.parentElement?.closest(".attnw-root")?.dispatchEvent(new Event(ASK));
    question = Math.random();
    open = true;
    waits = 0;
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
