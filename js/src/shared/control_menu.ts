import { html } from "lit-html";
import { createRef, ref } from "lit-html/directives/ref.js";
import { type Control, controlView, isOffered } from "./controls.js";
import type { Mounted } from "./mount.js";

/** Controls in a menu, and the reasons why some options are fixed: not every reader sees hints. */
export function menuContent(controls: Control[], all = controls) {
  const fixed = all.filter((control) => control.reason && isOffered(control));
  return [
    controls.map(controlView),
    [...new Set(fixed.map(({ reason }) => reason))].map((reason) => {
      const names = fixed.filter((control) => control.reason === reason).map(nameOf);
      return html`<p class="attnw-reason">${`Fixed: ${names.join(", ")}. ${reason}`}</p>`;
    }),
  ];
}

const nameOf = ({ label, name }: Control) => label ?? name;

/**
 * A button that opens a menu of controls. The menu has a row of its own below the button, because
 * a menu over the figure would cover what it changes. Only the button and Escape close the menu: if
 * a click elsewhere closed it, the figure would move under the pointer.
 */
export function controlMenu(text: string, { drawNow }: Pick<Mounted, "drawNow">) {
  const button = createRef<HTMLElement>();
  let isOpen = false;

  function turn(): void {
    isOpen = !isOpen;
    drawNow();
  }
  function pressed(event: KeyboardEvent): void {
    if (!isOpen) return;
    if (event.key === "Escape") {
      event.preventDefault();
      turn();
      button.value?.focus();
    }
    // The keys of the figure have no meaning here.
    event.stopPropagation();
  }

  return {
    isOpen: () => isOpen,
    /** The button, and the menu with some content. */
    view: (content: unknown) =>
      html`<span class="attnw-menu-box" @keydown=${pressed}>
        <button type="button" class="attnw-menu-button" aria-expanded=${isOpen}
          @click=${turn} ${ref(button)}>${text} ${isOpen ? "▴" : "▾"}</button>
        <div class="attnw-menu" role="group" aria-label=${text} ?hidden=${!isOpen}
          >${content}</div>
      </span>`,
  };
}
