import type { Side } from "./types.js";

/** A token, or a word, that a figure points at: a place on an axis as `tokens` counts it. */
export interface Pointed {
  side: Side;
  index: number;
}

interface Call {
  circle: string;
  from: object;
  pointed: Pointed | null;
}

// Each widget has a bundle of its own: what they share lies outside of modules.
const PLACE = Symbol.for("attnwidget.pointed");

function calls(): EventTarget {
  const page = globalThis as { [PLACE]?: EventTarget };
  page[PLACE] ??= new EventTarget();
  return page[PLACE];
}

/**
 * Point at a token in the linked figures of `circle`, null to end it. `from` is the figure that
 * points: it does not hear itself.
 */
export function pointOut(circle: string, from: object, pointed: Pointed | null): void {
  if (!circle) return;
  const detail: Call = { circle, from, pointed };
  calls().dispatchEvent(new CustomEvent("pointed", { detail }));
}

/** Hear of tokens that other linked figures point at, until the signal. */
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
