import type { Model } from "../types.js";
import { sentenceOf } from "./damage.js";

/** A model without a kernel: the page's own state, with the same change events. */
export function localModel<T extends object>(state: T): Model<T> {
  const handlers = new Map<string, Set<() => void>>();
  const call = (name: string) => {
    for (const callback of [...(handlers.get(`change:${name}`) ?? [])]) callback();
  };
  return {
    get: (key) => state[key],
    set(key, value) {
      if (JSON.stringify(state[key]) === JSON.stringify(value)) return;
      state[key] = value;
      try {
        call(String(key));
      } catch (error) {
        // A figure shows its `_error` in its place; the other figures stay.
        Object.assign(state, { _error: sentenceOf(error) });
        call("_error");
      }
    },
    on(event, callback) {
      if (!handlers.has(event)) handlers.set(event, new Set());
      handlers.get(event)?.add(callback);
    },
    off: (event, callback) => void handlers.get(event)?.delete(callback),
    save_changes: () => {},
  };
}
