import { type MapPart, whole, wholeOf } from "../../shared/window.js";
import type { VisibleMap } from "./visible_map.js";

/** Visible part of a map on the complete axes; null for the complete map. */
export type Window = MapPart | null;
type Shown = Pick<VisibleMap, "rows" | "cols">;

export const sizeOf = ({ rows, cols }: Shown) => ({ rows: rows.length, cols: cols.length });

/** Return the first visible position whose index is at least `index`. */
function from(shown: number[], index: number): number {
  let low = 0;
  let high = shown.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((shown[middle] as number) < index) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Return the visible position of an index of the complete axis; -1 if it is hidden. */
export function positionOf(shown: number[], index: number): number {
  const at = from(shown, index);
  return shown[at] === index ? at : -1;
}

/**
 * Return the part of a map in a window: the complete map if there is no window, or if the window
 * contains none of its tokens.
 */
export function partOf(map: Shown, window: Window): MapPart {
  if (!window) return wholeOf(sizeOf(map));
  const { rows, cols } = map;
  const [q0, q1, k0, k1] = window;
  const part: MapPart = [from(rows, q0), from(rows, q1), from(cols, k0), from(cols, k1)];
  return part[0] >= part[1] || part[2] >= part[3] ? wholeOf(sizeOf(map)) : part;
}

/** Return the window that shows a part; null if the part is the complete map. */
export function windowOf({ rows, cols }: Shown, part: MapPart): Window {
  const [q0, q1, k0, k1] = whole(part);
  if (q1 - q0 >= rows.length && k1 - k0 >= cols.length) return null;
  const ends = (shown: number[], start: number, end: number): [number, number] => [
    shown[start] ?? 0,
    (shown[Math.min(shown.length, end) - 1] ?? 0) + 1,
  ];
  return [...ends(rows, q0, q1), ...ends(cols, k0, k1)];
}
