import type { RenderContext } from "./types.js";

/**
 * An `initialize` that clears large state when its model is closed: JupyterLab keeps closed models,
 * so each run of a cell would keep its arrays.
 */
export function releasing<T>(...names: (keyof T)[]) {
  return ({ model, signal }: Pick<RenderContext<T>, "model" | "signal">) =>
    signal.addEventListener("abort", () => {
      // Backbone keeps the state before the last change too: only a second change lets go of the
      // arrays.
      for (const empty of [null, undefined])
        for (const name of names) model.set(name, empty as T[keyof T]);
    });
}
