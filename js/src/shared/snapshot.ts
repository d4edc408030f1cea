import type { Model } from "./types.js";

/**
 * Return the current values of traits. Figures are drawn from this state, with or without a page.
 */
export const snapshot = <T>(model: Model<T>, names: readonly (keyof T)[]): T =>
  Object.fromEntries(names.map((name) => [name, model.get(name)])) as T;

export function save<T>(model: Model<T>, change: Partial<T>): void {
  for (const name in change) model.set(name, change[name] as T[typeof name]);
  model.save_changes();
}
