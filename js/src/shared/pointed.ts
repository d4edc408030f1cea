import type { Side } from "./types.js";

/**
 * Token or word under the pointer of a figure; `index` counts positions as the trait `tokens` does.
 */
export interface Pointed {
  side: Side;
  index: number;
}

interface Call {
  circle: string;
  from: object;
  pointed: Pointed | null;
}

// Each widget has its own bundle, so shared objects must live outside of modules.
const PLACE = Symbol.for("attnwidget.pointed");

function calls(): EventTarget {
  const page = globalThis as { [PLACE]?: EventTarget };
  page[PLACE] ??= new EventTarget();
  return page[PLACE];
}

/**
 * Point at a token in the linked figures of `circle`, or stop with null. `from` is the figure that
 * points, which ignores its own event.
 */
export function pointOut(circle: string, from: object, pointed: Pointed | null): void {
  if (!circle) return;
  const detail: Call = { circle, from, pointed };
  calls().dispatchEvent(new CustomEvent("pointed", { detail }));
}

/** Listen for tokens that other linked figures point at, until the signal aborts. */
export function onPointed(
  signal: AbortSignal,
  circle: () => string,
  self: object,
  listener: (pointed: Pointed | null) => void,
): void {
  const hear = (event: Event) => {
    const call = (event as CustomEvent<Call>).detail;
    if (call.from !== self && call.circle === circle()) listener(call.pointed);
  };
  calls().addEventListener("pointed", hear, { signal });
}
