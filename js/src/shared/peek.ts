import type { Head, Side } from "./types.js";

/** Head under the pointer of a figure, with its data, for a preview in linked figures. */
export interface Peeked {
  head: Head;
  quantity: string;
  unit: string;
  hidden: string[];
  rows: number;
  cols: number;
  /** Encoded cells [rows, cols]: round(255 * sqrt(value / maximum)). */
  values: Uint8Array;
  maximum: number;
  /**
   * Row of a query or column of a key, instead of a map, which then has no cells. `of` is null for
   * the mean over all queries.
   */
  row?: { side: Side; of: number | null; values: Float32Array } | undefined;
}

interface Call {
  circle: string;
  peeked: Peeked | null;
  shown: boolean;
}

// Each widget has its own bundle, so shared objects must live outside of modules.
const PLACE = Symbol.for("attnwidget.peek");

function calls(): EventTarget {
  const page = globalThis as { [PLACE]?: EventTarget };
  page[PLACE] ??= new EventTarget();
  return page[PLACE];
}

/**
 * Preview a head in the linked figures of `circle`, or end the preview with null. Return whether
 * any figure shows it.
 */
export function peekOut(circle: string, peeked: Peeked | null): boolean {
  if (!circle) return false;
  const detail: Call = { circle, peeked, shown: false };
  calls().dispatchEvent(new CustomEvent("peek", { detail }));
  return detail.shown;
}

/**
 * Listen for previewed heads of linked figures until the signal aborts. A listener that cannot show
 * a head returns false.
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
