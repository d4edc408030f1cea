import type { RenderContext } from "./types.js";

/**
 * Traits with the figure's source code, which anywidget reads from the model, and its style sheet.
 */
const CODE = ["_esm", "_css"];

/**
 * Return an `initialize` that clears large state when its model is closed. JupyterLab keeps closed
 * models, so each run of a cell would otherwise keep its arrays and a copy of the figure's code.
 */
export function releasing<T>(...names: (keyof T)[]) {
  return ({ model, signal }: Pick<RenderContext<T>, "model" | "signal">) =>
    signal.addEventListener("abort", () => {
      // Backbone also keeps the state before the last change: only a second change releases the
      // arrays.
      for (const empty of [null, undefined])
        for (const name of [...names, ...(CODE as (keyof T)[])])
          model.set(name, empty as T[keyof T]);
    });
}
