import { element } from "../shared/dom.js";
import type { Scene, Target } from "./scene.js";
import { strongestOf } from "./view_text.js";

/** The strongest weights of a locked token, each a button that goes there; returns how to bring them up to date. */
export function strongestList(parent: HTMLElement, signal: AbortSignal, go: (target: Target) => void) {
  const box = element(parent, "div", { class: "attnw-strongest", hidden: true });
  const heading = element(box, "p", { class: "attnw-strongest-of" });
  const list = element(box, "ol");
  let last = "";
  return (scene: Scene | undefined): boolean => {
    const found = scene && strongestOf(scene);
    box.hidden = !found;
    const text = JSON.stringify(found);
    if (!found || text === last) return found !== undefined;
    last = text;
    heading.textContent = found.of;
    list.replaceChildren();
    for (const { label, weight, target } of found.listed) {
      const name = { type: "button", class: "attnw-strongest-go", "aria-label": `go to ${label}, ${weight}` };
      const button = element(element(list, "li"), "button", name);
      element(button, "span", {}, label);
      element(button, "span", { class: "attnw-strongest-weight" }, weight);
      button.addEventListener("click", () => go(target), { signal });
    }
    return true;
  };
}
