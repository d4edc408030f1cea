import { html } from "lit-html";
import { createRef, ref } from "lit-html/directives/ref.js";
import { clamp } from "./clamp.js";
import type { Mounted } from "./mount.js";

/**
 * A button that opens a menu of controls. Escape closes the menu and returns to the button; a click
 * elsewhere, and the focus elsewhere, close it too.
 */
export function popupMenu(
  text: string,
  { root, schedule, drawNow }: Pick<Mounted, "root" | "schedule" | "drawNow">,
  signal: AbortSignal,
) {
  const box = createRef<HTMLElement>();
  const button = createRef<HTMLElement>();
  const menu = createRef<HTMLElement>();
  let isOpen = false;

  function turn(to: boolean): void {
    if (to === isOpen) return;
    isOpen = to;
    drawNow();
    if (isOpen) fit();
  }
  /** Keep the open menu inside the figure: hosts may cut what is outside. */
  function fit(): void {
    const open = menu.value;
    const around = root.getBoundingClientRect();
    const from = button.value?.getBoundingClientRect();
    if (!open || !from) return;
    open.style.translate = "";
    open.classList.remove("attnw-menu-above");
    const { left, right, bottom, height } = open.getBoundingClientRect();
    const isAbove = bottom > around.bottom && from.top - around.top > height;
    open.classList.toggle("attnw-menu-above", isAbove);
    const by = clamp(around.right - right, around.left - left, 0);
    if (by) open.style.translate = `${by}px 0`;
  }
  function pressed(event: KeyboardEvent): void {
    if (!isOpen) return;
    if (event.key === "Escape") {
      event.preventDefault();
      turn(false);
      button.value?.focus();
    }
    // The keys of the figure have no meaning here.
    event.stopPropagation();
  }
  function left({ relatedTarget }: FocusEvent): void {
    if (!isOpen || !(relatedTarget instanceof Node)) return;
    if (box.value?.contains(relatedTarget)) return;
    isOpen = false;
    schedule();
  }
  root.ownerDocument.addEventListener(
    "pointerdown",
    (event) => {
      if (!isOpen || (box.value && event.composedPath().includes(box.value))) return;
      isOpen = false;
      schedule();
    },
    { signal, capture: true },
  );

  return {
    isOpen: () => isOpen,
    /** The button, and the menu with some content. */
    view: (content: unknown) =>
      html`<span class="attnw-menu-box" @keydown=${pressed} @focusout=${left} ${ref(box)}>
        <button type="button" class="attnw-menu-button" aria-expanded=${isOpen}
          @click=${() => turn(!isOpen)} ${ref(button)}>${text} ▾</button>
        <div class="attnw-menu" role="group" aria-label=${text} ?hidden=${!isOpen}
          ${ref(menu)}>${content}</div>
      </span>`,
  };
}
