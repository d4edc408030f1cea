import { html } from "lit-html";
import { createRef, ref } from "lit-html/directives/ref.js";
import { clamp } from "../../shared/clamp.js";

/**
 * Return a tooltip next to a point of the page, kept inside the widget. It moves without waiting
 * for a frame.
 */
export function tooltip(widget: HTMLElement) {
  const place = createRef<HTMLElement>();
  return {
    view: () => html`<div class="attnw-tooltip" aria-hidden="true" hidden ${ref(place)}></div>`,
    point(text: string, clientX: number, clientY: number): void {
      const node = place.value;
      if (!node) return;
      node.hidden = !text;
      if (!text) return;
      if (node.textContent !== text) node.textContent = text;
      const { left, top } = widget.getBoundingClientRect();
      const most = widget.clientWidth - node.offsetWidth - 4;
      const x = clamp(clientX - left + 12, 4, most);
      node.style.transform = `translate(${x}px, ${clientY - top + 16}px)`;
    },
  };
}
