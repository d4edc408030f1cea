import { html } from "lit-html";
import { createRef, ref } from "lit-html/directives/ref.js";
import { type Control, controlView, isOffered } from "./controls.js";
import type { Mounted } from "./mount.js";

/**
 * Return the controls of a menu, with the reasons why some options are fixed: hints do not reach
 * every reader.
 */
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
 * Return a button that opens a menu of controls. The menu has its own row below the button, because
 * a menu over the figure would cover the part that it changes. Only the button and Escape close the
 * menu: if a click elsewhere closed it, the figure would move under the pointer.
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
    // While the menu is open, the keys belong to it and not to the figure.
    event.stopPropagation();
  }

  return {
    isOpen: () => isOpen,
    /** Return the button and the menu with its content. */
    view: (content: unknown) =>
      html`<span class="attnw-menu-box" @keydown=${pressed}>
        <button type="button" class="attnw-menu-button" aria-expanded=${isOpen}
          @click=${turn} ${ref(button)}>${text} ${isOpen ? "▴" : "▾"}</button>
        <div class="attnw-menu" role="group" aria-label=${text} ?hidden=${!isOpen}
          >${content}</div>
      </span>`,
  };
}
