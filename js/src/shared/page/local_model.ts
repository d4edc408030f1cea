import type { Fixed, Model } from "../types.js";
import { sentenceOf } from "./damage.js";

/**
 * Return a model without a kernel: it holds the page's own state and has the same change events. It
 * refuses to change options in `_fixed` and puts the reason into `_refused`.
 */
export function localModel<T extends object>(state: T): Model<T> {
  const handlers = new Map<string, Set<() => void>>();
  const call = (name: string) => {
    for (const callback of [...(handlers.get(`change:${name}`) ?? [])]) callback();
  };
  const shown: { _fixed?: Fixed; _refused?: string } = state;
  const refuse = (reason: string) => {
    if ((shown._refused ?? "") === reason) return;
    shown._refused = reason;
    call("_refused");
  };
  return {
    get: (key) => state[key],
    set(key, value) {
      if (JSON.stringify(state[key]) === JSON.stringify(value)) return;
      const name = String(key);
      const reason = shown._fixed?.[name];
      if (reason) return refuse(reason);
      // The reason stays visible until the reader changes something else.
      if (!name.startsWith("_")) refuse("");
      state[key] = value;
      try {
        call(name);
      } catch (error) {
        // The figure shows its `_error` in its place; the other figures stay.
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
