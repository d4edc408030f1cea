import type { HeadsState } from "../head_types.js";
import type { Head } from "../types.js";
import type { Limits } from "./page_data.js";

/**
 * Return the shown head of the page's only stack and its index (layer * heads + head); null and -1
 * if the page does not have the head.
 */
export function shownIn({ selected }: HeadsState, shapes: Limits["shapes"]) {
  const [stack, [layers, heads]] = Object.entries(shapes)[0] ?? ["", [0, 0]];
  const last = selected.at(-1);
  const isHere = last && last[2] === stack && last[0] < layers && last[1] < heads;
  const head: Head | null = isHere ? last : null;
  return { head, index: head ? head[0] * heads + head[1] : -1 };
}

function compare(a: number[], b: number[]): number {
  const at = a.findIndex((value, i) => value !== b[i]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

/**
 * Return the items on the page in the order of a cyclic jump from position `here`, forward (`step`
 * 1) or backward (-1). The item at `here` is left out.
 */
export function nextHeld<T>(
  held: T[],
  placeOf: (item: T) => number[],
  here: number[],
  step: number,
): T[] {
  const ahead = (item: T) => step * compare(placeOf(item), here);
  const ordered = [...held].sort((a, b) => step * compare(placeOf(a), placeOf(b)));
  return [
    ...ordered.filter((item) => ahead(item) > 0),
    ...ordered.filter((item) => ahead(item) < 0),
  ];
}
