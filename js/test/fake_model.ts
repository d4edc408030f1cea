type State = Record<string, unknown>;

/**
 * Create an anywidget model for tests. `sent` holds the changes that the page saved, and
 * `fromKernel` acts as Python.
 */
export function fakeModel<T extends object>(state: T) {
  const handlers = new Map<string, Set<() => void>>();
  let dirty: State = {};
  const fire = (name: string) => {
    for (const callback of [...(handlers.get(`change:${name}`) ?? [])]) callback();
  };
  return {
    sent: [] as State[],
    get: <K extends keyof T>(key: K): T[K] => state[key],
    set<K extends keyof T>(key: K, value: T[K]) {
      if (JSON.stringify(state[key]) === JSON.stringify(value)) return;
      state[key] = value;
      dirty[key as string] = value;
      fire(key as string);
    },
    save_changes() {
      if (Object.keys(dirty).length) this.sent.push(dirty);
      dirty = {};
    },
    on(event: string, callback: () => void) {
      if (!handlers.has(event)) handlers.set(event, new Set());
      handlers.get(event)?.add(callback);
    },
    off(event: string, callback: () => void) {
      handlers.get(event)?.delete(callback);
    },
    fromKernel(patch: Partial<T>) {
      Object.assign(state, patch);
      for (const key of Object.keys(patch)) fire(key);
    },
  };
}
