import type { Ruler } from "./labels.js";
import type { Theme } from "./theme.js";

/**
 * Width to lay out for before the host has attached the widget, and of a picture that asks for
 * none.
 */
export const UNATTACHED = 640;

/** What the page, or a picture, has decided before anything is drawn. */
export interface Look {
  theme: Theme;
  /** Width there is, in CSS pixels. */
  width: number;
  /** Family of the labels, and how wide they are. */
  font: string;
  ruler: Ruler;
  /** Device pixels for each of CSS. */
  density: number;
}
