import { element } from "./dom.js";
import { watchAnswers } from "./kernel_connection.js";
import { pageRuler, type Ruler } from "./labels.js";
import { placeSaveMenu, saveMenu } from "./save_menu.js";
import { type Theme, watchTheme } from "./theme.js";
import type { RenderContext } from "./types.js";

/**
 * Width to lay out for before the host has attached the widget, and of a picture that asks for
 * none.
 */
export const UNATTACHED = 640;

/** What the page, or a picture, has decided before anything is drawn. */
export interface Look {
  theme: Theme;
  /** Width there is, in CSS pixels. */
  width: number;
  /** Family of the labels, and how wide they are. */
  font: string;
  ruler: Ruler;
  /** Device pixels for each of CSS. */
  density: number;
}

export interface Mounted {
  root: HTMLElement;
  /** Holds the figure; hidden while an error stands in its place. */
  inner: HTMLElement;
  /** Says the kernel's error, or what it refused; a widget may move it. */
  alert: HTMLElement;
  /** The menu "save"; it goes to the caption unless a widget puts it elsewhere. */
  save: HTMLElement;
  /** Draw again in the next frame; `update` is not called. */
  schedule(): void;
  /** Update and draw in the next frame. */
  invalidate(): void;
}

/** Draw once in the next frame however many changes ask for it before. */
function perFrame(signal: AbortSignal, draw: () => void): () => void {
  let waiting = 0;
  signal.addEventListener("abort", () => cancelAnimationFrame(waiting));
  return () => {
    if (waiting || signal.aborted) return;
    waiting = requestAnimationFrame(() => {
      waiting = 0;
      draw();
    });
  };
}

/**
 * A widget's place on the page: an alert for the kernel's error, the host's theme or the reader's
 * forced colours, the width, one drawing a frame, and an end when the host takes the widget away.
 * `update` follows a changed trait, theme or width; `paint` follows it and every `schedule()`.
 * `keys` returns whether it took the key.
 */
export function mount<T extends { _error: string }>(
  { model, el, signal }: RenderContext<T>,
  name: string,
  watched: (keyof T & string)[],
  on: {
    update(look: Look): void;
    paint?(look: Look): void;
    keys?(event: KeyboardEvent): boolean;
    /** What was shown stays beside an error. */
    keepsShowing?: boolean;
  },
): Mounted {
  const root = element(el, "div", {
    class: `attnw-root attnw-${name}-root`,
    "data-lm-suppress-shortcuts": "true",
  });
  // By this name its picture in the notebook knows that the figure is there.
  const figure = model.get("_figure" as keyof T);
  if (figure) root.dataset.figure = String(figure);
  const alert = element(root, "p", { role: "alert", class: "attnw-alert", hidden: true });
  const inner = element(root, "div", { class: `attnw-${name}` });
  watchAnswers(model, root, inner, signal);
  const save = saveMenu(root.ownerDocument, model, signal);
  const ruler = pageRuler(root.ownerDocument);
  let theme: Theme | undefined;
  let changed = true;
  let width = -1;
  let ratio = 0;

  const tell = (text: string) => {
    alert.hidden = !text;
    if (alert.textContent !== text) alert.textContent = text;
  };
  const draw = () => {
    if (!theme) return;
    placeSaveMenu(save, inner);
    const error = model.get("_error");
    tell(error || String(model.get("_refused" as keyof T) ?? ""));
    inner.hidden = Boolean(error) && !on.keepsShowing;
    if (inner.hidden) return;
    const font = getComputedStyle(root).fontFamily || "sans-serif";
    const density = globalThis.devicePixelRatio || 1;
    const look = { theme, width: inner.clientWidth || UNATTACHED, font, ruler, density };
    if (changed || ratio !== globalThis.devicePixelRatio) {
      changed = false;
      ratio = globalThis.devicePixelRatio;
      on.update(look);
    }
    on.paint?.(look);
  };
  const schedule = perFrame(signal, () => {
    try {
      draw();
    } catch (error) {
      // The next change draws everything anew.
      changed = true;
      tell(`This figure cannot be drawn: ${error instanceof Error ? error.message : error}`);
      inner.hidden = true;
      reportError(error);
    }
  });
  const invalidate = () => {
    changed = true;
    schedule();
  };

  const names = [...watched, "_error", "_refused"].map((trait) => `change:${trait}`);
  for (const each of names) model.on(each, invalidate);
  watchTheme(root, signal, (next) => {
    theme = next;
    invalidate();
  });
  // A figure's own height is no reason to lay it out again.
  const resized = new ResizeObserver(() => {
    if (inner.clientWidth === width) return;
    width = inner.clientWidth;
    invalidate();
  });
  resized.observe(inner);
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
    resized.disconnect();
    root.remove();
  });
  return { root, inner, alert, save, schedule, invalidate };
}
