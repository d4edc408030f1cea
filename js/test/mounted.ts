import { afterEach } from "vitest";
import type { RenderContext } from "../src/shared/types.js";
import { fakeModel } from "./fake_model.js";

let controller = new AbortController();

/** The page lets go of every widget that is mounted. */
export function leave(): void {
  controller.abort();
  controller = new AbortController();
}
afterEach(leave);

/** The widget has drawn what it was told. */
export async function frame(): Promise<void> {
  for (let i = 0; i < 4; i++) await new Promise(requestAnimationFrame);
}

/** A widget on the page, until the test ends. */
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
