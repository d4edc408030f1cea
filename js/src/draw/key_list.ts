import { element } from "../model/dom.js";

/** What the keys do, hidden until it is asked for. */
export function keyList(
  parent: HTMLElement,
  keys: readonly (readonly [key: string, meaning: string])[],
  className: string,
): HTMLElement {
  const list = element(parent, "dl", { class: className, hidden: true });
  for (const [key, meaning] of keys) {
    const line = element(list, "div");
    element(line, "dt", {}, key);
    element(line, "dd", {}, meaning);
  }
  return list;
}
