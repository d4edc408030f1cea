import type { Head } from "../shared/types.js";

/** A head in the plane of the data. */
export interface Point {
  head: Head;
  x: number;
  y: number;
  /** Index of its behavior. */
  group: number;
}

/**
 * Where the plane lies on the canvas, in CSS pixels; one scale for both directions, as distances
 * ask for.
 */
export interface MapLayout {
  width: number;
  height: number;
  scale: number;
  /** Where the plane's origin is. */
  x0: number;
  y0: number;
}
