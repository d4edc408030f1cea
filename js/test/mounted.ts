import { afterEach } from "vitest";
import type { RenderContext } from "../src/shared/types.js";
import { fakeModel } from "./fake_model.js";

let controller = new AbortController();

/** Remove all mounted widgets from the page. */
export function leave(): void {
  controller.abort();
  controller = new AbortController();
}
afterEach(leave);

/** Wait until the widget has drawn its changes. */
export async function frame(): Promise<void> {
  for (let i = 0; i < 4; i++) await new Promise(requestAnimationFrame);
}

/** Mount a widget on the page until the test ends. */
export async function mounted<S extends object>(
  widget: { render(context: RenderContext<S>): unknown },
  state: S,
) {
  const model = fakeModel(state);
  const el = document.createElement("div");
  document.body.append(el);
  widget.render({ model, el, signal: controller.signal });
  await frame();
  const find = <E extends Element = HTMLElement>(selector: string) => {
    const found = el.querySelector<E>(selector);
    if (!found) throw new Error(`nothing matches ${selector}`);
    return found;
  };
  return { model, el, find };
}
