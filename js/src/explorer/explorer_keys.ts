import type { toolbar } from "./toolbar.js";

/** Whether the element takes keys itself. */
const takesKeys = (target: EventTarget | null): boolean =>
  target instanceof HTMLTextAreaElement ||
  target instanceof HTMLSelectElement ||
  (target instanceof HTMLInputElement && target.type !== "checkbox");

/** The keys of the explorer; the function returns whether it took the key. */
export const explorerKeys =
  (bar: ReturnType<typeof toolbar>, switchHead: () => void) =>
  ({ target, key, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean => {
    if (metaKey || (ctrlKey && !altKey) || takesKeys(target)) return false;
    if (key === "?") bar.toggleKeys();
    else if (key === "[" || key === "]") bar.step(key === "[" ? -1 : 1);
    else if (key === "m") bar.turnWay();
    else if (key === "x") switchHead();
    else if (key === "s") return bar.save();
    else return false;
    return true;
  };

/**
 * Escape takes back what is locked or switched off, outside of forms and details. `takeBack`
 * returns whether there was anything.
 */
export function onEscape(root: HTMLElement, takeBack: () => boolean, signal: AbortSignal): void {
  const press = (event: KeyboardEvent) => {
    const { target } = event;
    if (event.key !== "Escape" || event.defaultPrevented) return;
    const isElsewhere =
      target instanceof Element && target.closest(".attnw-ex-bottom, form, .attnw-ex-details");
    if (isElsewhere || !takeBack()) return;
    event.preventDefault();
    event.stopPropagation();
  };
  root.addEventListener("keydown", press, { signal, capture: true });
}
