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
  /** Element that holds the figure; hidden while an error replaces it. */
  inner: HTMLElement;
  /** Menu "save", which a view puts next to its caption or elsewhere. */
  save: HTMLElement;
  /** Return the options that a saved page cannot change. */
  fixed(): Fixed;
  /** Draw again in the next frame, without calling `update`. */
  schedule(): void;
  /** Update and draw in the next frame. */
  invalidate(): void;
  /** Draw now, without waiting for the next frame: a page that is out of sight has no frames. */
  drawNow(): void;
}

/** Callbacks that draw a figure, in the order of their calls. */
interface Drawing {
  /** Follow a change of a trait, the theme or the width. */
  update?(look: Look): void;
  /** Return the elements of the figure, after a change and after every `schedule()`. */
  view(look: Look): unknown;
  /** Paint the canvases of the figure after `view`. */
  paint?(look: Look): void;
  /** Return whether the figure handled the key. */
  keys?(event: KeyboardEvent): boolean;
  /** Whether the figure stays visible after a kernel error. Its view then shows `errorLine`. */
  keepsShowing?: boolean;
  /** Layout width in pixels before the host has attached the widget. */
  unattached?: number;
}

/** Return the kernel's error, or the reason why it refused a request. */
export const errorOf = <T extends { _error: string }>(model: Model<T>): string =>
  model.get("_error") || String(model.get("_refused" as keyof T) ?? "");

/** Return a line with the kernel's current work, if the requested change takes long. */
const workLine = (text: string) =>
  html`<p role="status" class="attnw-working" ?hidden=${!text}>${text}</p>`;

const errorLine = (text: string) =>
  html`<p role="alert" class="attnw-alert" ?hidden=${!text}>${text}</p>`;

/** Draw once in the next frame, no matter how many changes request it before. */
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
    /** Move a pending drawing behind all callbacks that were requested since. */
    drawLast(): void {
      if (!waiting) return;
      cancel();
      ask();
    },
  };
}

/**
 * Mount a widget on the page. It gets an alert for kernel errors, the host's theme or forced
 * colors, its width, at most one drawing per frame, and an end when the host removes the widget.
 */
export function mount<T extends { _error: string }>(
  { model, el, signal }: RenderContext<T>,
  name: string,
  watched: (keyof T & string)[],
  on: Drawing,
): Mounted {
  const document = el.ownerDocument;
  // The host may reuse its own element for another figure, so render into a new element.
  const root = document.createElement("div");
  root.className = `attnw-root attnw-${name}-root`;
  root.dataset.lmSuppressShortcuts = "true";
  // The static picture in the notebook finds the live figure by this name.
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
    // The note about a lost kernel comes first. The note about a busy kernel comes below the
    // figure, where it neither covers controls nor moves the figure.
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
      // Make the next change draw everything again.
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
  // A new height needs no new layout. A host that changes its theme may lay out the page twice in a
  // frame, so compare with the width of the last drawing.
  const resized = new ResizeObserver(() => {
    if (look && inner.clientWidth !== look.width) invalidate();
  });
  resized.observe(inner);
  // A control may belong to a figure inside this one. That figure must be drawn first: otherwise
  // the control would briefly show its old value.
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
