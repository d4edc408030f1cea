import type { Ruler } from "./labels.js";
import type { Theme } from "./theme.js";

/** Layout width before the host has attached the widget, and default width of a picture. */
export const UNATTACHED = 640;

/** Theme, width, font and density, which the page or picture decides before drawing. */
export interface Look {
  theme: Theme;
  /** Available width in CSS pixels. */
  width: number;
  /** Font family of the labels, and its ruler. */
  font: string;
  ruler: Ruler;
  /** Device pixels per CSS pixel. */
  density: number;
}
