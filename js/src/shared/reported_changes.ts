import type { RenderContext } from "./types.js";

const REPORTED = "_changes_reported";

/**
 * Report each change that another figure has made in this figure. marimo reruns cells only after a
 * message from the page of the figure that they read. The kernel requests the message only in
 * marimo.
 */
export function reportChanges<T>({ model, signal }: Pick<RenderContext<T>, "model" | "signal">) {
  if (!model.send) return;
  const report = (message?: unknown) => {
    const changes = (message as { changes?: number } | undefined)?.changes;
    if (changes === undefined) return;
    model.set(REPORTED as keyof T, changes as T[keyof T]);
    model.save_changes();
  };
  model.on("msg:custom", report);
  signal.addEventListener("abort", () => model.off("msg:custom", report));
}
