import { releasing } from "./release.js";
import { reportChanges } from "./reported_changes.js";
import type { RenderContext } from "./types.js";

/**
 * Return the `initialize` of a figure, which runs once per model, no matter how many views the
 * model has. `large` names the state to clear when the model is closed.
 */
export function initializing<T>(...large: (keyof T)[]) {
  const release = releasing<T>(...large);
  return (context: Pick<RenderContext<T>, "model" | "signal">) => {
    release(context);
    reportChanges(context);
  };
}
