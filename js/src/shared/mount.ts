import { html, nothing, render } from "lit-html";
import { fixedOf } from "./fixed_options.js";
import { type Connection, connectionNote, watchAnswers } from "./kernel_connection.js";
import { pageRuler } from "./labels.js";
import { type Look, UNATTACHED } from "./look.js";
import { saveMenu } from "./save_menu.js";
import { type Theme, watchTheme } from "./theme.js";
import type { Fixed, Model, RenderContext } from "./types.js";

export type { Look };

export interface Mounted {
  name: string;
  root: HTMLElement;
  /** Holds the figure; hidden while an error stands in its place. */
  inner: HTMLElement;
  /** The menu "save"; a view puts it beside its caption, or elsewhere. */
  save: HTMLElement;
  /** The options that a saved page cannot change. */
  fixed(): Fixed;
  /** Draw again in the next frame; `update` is not called. */
  schedule(): void;
  /** Update and draw in the next frame. */
  invalidate(): void;
  /** Draw without waiting for the next frame, which a page out of sight does not have. */
  drawNow(): void;
}

/** What a figure does when it is drawn, in this order. */
interface Drawing {
  /** Follows a changed trait, theme or width. */
  update?(look: Look): void;
  /** The elements of the figure; follows a change and every `schedule()`. */
  view(look: Look): unknown;
  /** Paints the canvases of the figure after `view`. */
  paint?(look: Look): void;
  /** Returns whether it took the key. */
  keys?(event: KeyboardEvent): boolean;
  /** What was shown stays beside the kernel's error, which the view says: `errorLine`. */
  keepsShowing?: boolean;
  /** Width to lay out for before the host has attached the widget, in pixels. */
  unattached?: number;
}

/** The kernel's error, or the request that it refused. */
export const errorOf = <T extends { _error: string }>(model: Model<T>): string =>
  model.get("_error") || String(model.get("_refused" as keyof T) ?? "");

/** What the kernel does before it shows the reader's choice, while that takes long. */
const workLine = (text: string) =>
  html`<p role="status" class="attnw-working" ?hidden=${!text}>${text}</p>`;

const errorLine = (text: string) =>
  html`<p role="alert" class="attnw-alert" ?hidden=${!text}>${text}</p>`;

/** Draw once in the next frame however many changes ask for it before. */
function perFrame(signal: AbortSignal, draw: () => void) {
  let waiting = 0;
  const cancel = () => cancelAnimationFrame(waiting);
  signal.addEventListener("abort", cancel);
  function ask(): void {
    waiting = requestAnimationFrame(() => {
      waiting = 0;
      draw();
    });
  }
  return {
    schedule(): void {
      if (!waiting && !signal.aborted) ask();
    },
    /** A drawing that waits follows those that others have asked for since. */
    drawLast(): void {
      if (!waiting) return;
      cancel();
      ask();
    },
  };
}

/**
 * A widget's place on the page: an alert for the kernel's error, the host's theme or the reader's
 * forced colors, the width, one drawing a frame, and an end when the host takes the widget away.
 */
export function mount<T extends { _error: string }>(
  { model, el, signal }: RenderContext<T>,
  name: string,
  watched: (keyof T & string)[],
  on: Drawing,
): Mounted {
  const document = el.ownerDocument;
  // The host's own element may get another figure later, so that nothing is rendered into it.
  const root = document.createElement("div");
  root.className = `attnw-root attnw-${name}-root`;
  root.dataset.lmSuppressShortcuts = "true";
  // By this name its picture in the notebook knows that the figure is there.
  const figure = model.get("_figure" as keyof T);
  if (figure) root.dataset.figure = String(figure);
  el.append(root);
  const inner = document.createElement("div");
  inner.className = `attnw-${name}`;
  const save = saveMenu(document, model, signal);
  const ruler = pageRuler(document);
  let connection: Connection = { link: "live", text: "" };
  let alert = "";
  let theme: Theme | undefined;
  let look: Look | undefined;

  const frame = () => {
    const isLost = connection.link === "lost";
    inner.role = isLost ? "group" : null;
    inner.ariaDisabled = isLost ? "true" : null;
    const note = model.send ? connectionNote(connection) : nothing;
    const line = on.keepsShowing && !alert ? nothing : errorLine(alert);
    const work = workLine(String(model.get("_working" as keyof T) ?? ""));
    // The note of a lost kernel comes first. The note of a busy kernel stands below the figure,
    // because it would cover controls or move the figure elsewhere.
    const [above, below] = isLost ? [note, nothing] : [nothing, note];
    render(html`${line}${above}${work}${inner}${below}`, root);
  };
  frame();
  const onLink = (now: Connection) => {
    connection = now;
    frame();
  };
  watchAnswers(model, root, onLink, signal);

  const tell = (text: string) => {
    if (text === alert) return;
    alert = text;
    frame();
  };
  const draw = () => {
    if (!theme) return;
    tell(on.keepsShowing ? "" : errorOf(model));
    inner.hidden = Boolean(model.get("_error")) && !on.keepsShowing;
    if (inner.hidden) return;
    const density = globalThis.devicePixelRatio || 1;
    if (look?.density !== density) look = undefined;
    if (!look) {
      const font = getComputedStyle(root).fontFamily || "sans-serif";
      const room = inner.clientWidth || (on.unattached ?? UNATTACHED);
      look = { theme, width: room, font, ruler, density };
      on.update?.(look);
    }
    render(on.view(look), inner);
    on.paint?.(look);
  };
  const drawNow = () => {
    try {
      draw();
    } catch (error) {
      // The next change draws everything anew.
      look = undefined;
      tell(`This figure cannot be drawn: ${error instanceof Error ? error.message : error}`);
      inner.hidden = true;
      reportError(error);
    }
  };
  const { schedule, drawLast } = perFrame(signal, drawNow);
  const invalidate = () => {
    look = undefined;
    schedule();
  };

  const names = [...watched, "_error", "_refused"].map((trait) => `change:${trait}`);
  for (const each of names) model.on(each, invalidate);
  model.on("change:_working", frame);
  watchTheme(root, signal, (next) => {
    theme = next;
    invalidate();
  });
  // A figure's own height is no reason to lay it out again. A host that changes its theme may lay
  // the page out twice within a frame, so that only the width of the last drawing tells.
  const resized = new ResizeObserver(() => {
    if (look && inner.clientWidth !== look.width) invalidate();
  });
  resized.observe(inner);
  // A control may belong to a figure inside this one. That figure is drawn first: the control would
  // show its old value again until then.
  for (const type of ["input", "change", "click"])
    root.addEventListener(type, drawLast, { signal });
  root.addEventListener(
    "keydown",
    (event) => {
      if (event.defaultPrevented || !on.keys?.(event)) return;
      event.preventDefault();
      event.stopPropagation();
    },
    { signal },
  );
  signal.addEventListener("abort", () => {
    for (const each of names) model.off(each, invalidate);
    model.off("change:_working", frame);
    resized.disconnect();
    root.remove();
  });
  return { name, root, inner, save, fixed: () => fixedOf(model), schedule, invalidate, drawNow };
}
