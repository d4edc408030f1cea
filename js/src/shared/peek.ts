import type { Head, Side } from "./types.js";

/** A head that a figure points at, with the data on the page, for linked figures to preview. */
export interface Peeked {
  head: Head;
  quantity: string;
  unit: string;
  hidden: string[];
  rows: number;
  cols: number;
  /** rows x cols: round(255 sqrt(value / maximum)). */
  values: Uint8Array;
  maximum: number;
  /**
   * The row of a query, or the column of a key, in place of a map, which has no cells then; `of` is
   * null for the mean over all queries.
   */
  row?: { side: Side; of: number | null; values: Float32Array } | undefined;
}

interface Call {
  circle: string;
  peeked: Peeked | null;
  shown: boolean;
}

// Each widget has a bundle of its own: what they share lies outside of modules.
const PLACE = Symbol.for("attnwidget.peek");

function calls(): EventTarget {
  const page = globalThis as { [PLACE]?: EventTarget };
  page[PLACE] ??= new EventTarget();
  return page[PLACE];
}

/**
 * Preview a head in the linked figures of `circle`, null to end the preview; returns whether a
 * figure shows it.
 */
export function peekOut(circle: string, peeked: Peeked | null): boolean {
  if (!circle) return false;
  const detail: Call = { circle, peeked, shown: false };
  calls().dispatchEvent(new CustomEvent("peek", { detail }));
  return detail.shown;
}

/**
 * Hear of heads that linked figures point at, until the signal; a listener that cannot show one
 * returns false.
 */
export function onPeek(
  signal: AbortSignal,
  circle: () => string,
  listener: (peeked: Peeked | null) => unknown,
): void {
  const hear = (event: Event) => {
    const call = (event as CustomEvent<Call>).detail;
    if (call.circle === circle() && listener(call.peeked) !== false) call.shown = true;
  };
  calls().addEventListener("peek", hear, { signal });
}
