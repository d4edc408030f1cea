import type { Model } from "./types.js";

/** The traits named, as they are now: what figures are drawn from, on a page and off it. */
export const snapshot = <T>(model: Model<T>, names: readonly (keyof T)[]): T =>
  Object.fromEntries(names.map((name) => [name, model.get(name)])) as T;

/** Change traits in one message. */
export function save<T>(model: Model<T>, change: Partial<T>): void {
  for (const name in change) model.set(name, change[name] as T[typeof name]);
  model.save_changes();
}
