import { element } from "../../shared/dom.js";

/** Text beside a point of the page, kept inside the widget. */
export function tooltip(parent: HTMLElement) {
  const node = element(parent, "div", { class: "attnw-tooltip", "aria-hidden": "true" });
  node.hidden = true;
  return (text: string, clientX: number, clientY: number): void => {
    node.hidden = !text;
    if (!text) return;
    if (node.textContent !== text) node.textContent = text;
    const { left, top } = parent.getBoundingClientRect();
    const most = parent.clientWidth - node.offsetWidth - 4;
    const x = Math.max(4, Math.min(clientX - left + 12, most));
    node.style.transform = `translate(${x}px, ${clientY - top + 16}px)`;
  };
}
