import { html } from "lit-html";
import type { Model } from "./types.js";

export const LOST = "Not connected: run the cell again";
export const WAITING = "Waiting for the kernel";
const UNSURE = "No answer from the kernel: unless it is busy, run the cell again";

/**
 * Milliseconds without an answer before a warning, and the time that the last answer may still need
 * to reach the page after the kernel reports "idle".
 */
const PATIENCE = 1000;
const ON_ITS_WAY = 200;
/** Number of waiting periods without a message after which the kernel may be lost. */
const LONG = 5;
const GONE = new Set(["dead", "terminating", "restarting", "autorestarting"]);
/** Key shared by all figures of a page, although each figure has its own bundle. */
const PAGE = Symbol.for("attnwidget.answers");
const ASK = "attnw-ask";

/** State of the connection to the kernel, with a sentence unless it is "live". */
export interface Connection {
  link: "live" | "waiting" | "lost";
  text: string;
}
type Link = Connection["link"];
type Kernel = { status?: string; connectionStatus?: string; isDisposed?: boolean } | null;

/** Return the host's kernel: null if it has ended, undefined if the host does not tell. */
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

/** Return the sentence above a figure whose kernel does not answer. */
export const connectionNote = ({ text }: Connection) =>
  html`<p role="status" class="attnw-link" ?hidden=${!text}>${text}</p>`;

/**
 * Ask after every saved change whether the kernel is alive. If it is not, warn that the figure no
 * longer shows the current choice. A busy kernel answers later. `show` puts the answer on the page.
 * The other figures of the page ask as well, so that no two figures show different choices without
 * a warning.
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
      // An idle kernel that has processed the question without answering does not know the figure.
      if (content.execution_state === "idle") setTimeout(lost, ON_ITS_WAY);
    };
    try {
      // Jupyter marks the views of a restarted kernel.
      if (root.closest(".jupyter-widgets-disconnected")) lost();
      // Jupyter calls `iopub.status` with the kernel's status; marimo calls the callback itself
      // when the question has been sent.
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
    // The kernel may have ended since the question, and a new one may have started.
    if (kernel?.status === "idle") send();
  }

  function ask(): void {
    if (open || signal.aborted) return;
    // A panel of an explorer asks through the explorer.
    root.parentElement?.closest(".attnw-root")?.dispatchEvent(new Event(ASK));
    question = Math.random();
    open = true;
    waits = 0;
    timer = setTimeout(wait, PATIENCE);
    send();
  }

  const save = model.save_changes.bind(model);
  // Every change of every part of a figure passes through `save_changes`.
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
