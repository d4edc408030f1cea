import type { Head } from "../shared/types.js";

/** Head in the plane of the data. */
export interface Point {
  head: Head;
  x: number;
  y: number;
  /** Index of its behavior. */
  group: number;
}

/**
 * Transformation from the plane to the canvas, in CSS pixels. Both directions have the same scale,
 * so that distances are comparable.
 */
export interface MapLayout {
  width: number;
  height: number;
  scale: number;
  /** Position of the plane's origin. */
  x0: number;
  y0: number;
}
