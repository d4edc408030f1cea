import { createRef } from "lit-html/directives/ref.js";
import { clamp } from "./clamp.js";

/**
 * Make the rows of a table a single tab stop: keys move between the rows and scroll a row into view
 * below the headings. `names` returns the names of the rows in their order.
 */
export function tableRows(names: () => string[], redraw: () => void) {
  const box = createRef<HTMLElement>();
  const headings = createRef<HTMLElement>();
  const body = createRef<HTMLElement>();
  /** Row that Tab focuses. */
  let current = "";

  const lineOf = (name: string) => body.value?.querySelectorAll("tr")[names().indexOf(name)];
  const buttonOf = (name: string) => lineOf(name)?.querySelector("button");

  return {
    box,
    headings,
    body,
    current: () => current,
    has: (name: string) => names().includes(name),
    /** Set the row that Tab focuses. */
    reach(name: string): void {
      current = name;
    },
    /** Focus a clicked row, unless the click ends a text selection. */
    clicked(name: string): void {
      current = name;
      if (body.value?.ownerDocument.getSelection()?.type !== "Range")
        buttonOf(name)?.focus({ preventScroll: true });
    },
    /** Move to another row by key and focus it. */
    move(event: KeyboardEvent, focus: (button: HTMLElement, name: string) => void): void {
      const all = names();
      const from = all.indexOf(current);
      const last = all.length - 1;
      const target = { ArrowUp: from - 1, ArrowDown: from + 1, Home: 0, End: last }[event.key];
      if (target === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      current = all[clamp(target, 0, last)] ?? "";
      const button = buttonOf(current);
      if (button) focus(button, current);
      redraw();
    },
    /** Scroll a row into view. */
    reveal(name: string): void {
      const line = lineOf(name);
      if (!line || !box.value || !headings.value) return;
      const top = line.offsetTop - headings.value.offsetHeight;
      const bottom = line.offsetTop + line.offsetHeight;
      const { scrollTop, clientHeight } = box.value;
      if (top < scrollTop) box.value.scrollTop = top;
      else if (bottom > scrollTop + clientHeight) box.value.scrollTop = bottom - clientHeight;
    },
  };
}
