import { createRef } from "lit-html/directives/ref.js";
import { clamp } from "./clamp.js";

/**
 * The rows of a table, which are one tab stop: keys move between them, and a row is brought into
 * sight under the headings. `names`: what tells the rows apart, in their order.
 */
export function tableRows(names: () => string[], redraw: () => void) {
  const box = createRef<HTMLElement>();
  const headings = createRef<HTMLElement>();
  const body = createRef<HTMLElement>();
  /** The row that Tab reaches. */
  let current = "";

  const lineOf = (name: string) => body.value?.querySelectorAll("tr")[names().indexOf(name)];
  const buttonOf = (name: string) => lineOf(name)?.querySelector("button");

  return {
    box,
    headings,
    body,
    current: () => current,
    has: (name: string) => names().includes(name),
    /** Tab reaches a row. */
    reach(name: string): void {
      current = name;
    },
    /** A row was clicked: it has the focus, unless the click ends a selection of text. */
    clicked(name: string): void {
      current = name;
      if (body.value?.ownerDocument.getSelection()?.type !== "Range")
        buttonOf(name)?.focus({ preventScroll: true });
    },
    /** Move between rows by a key, and give the focus to the new row. */
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
    /** Bring a row into sight. */
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
