import { clamp } from "./clamp.js";
import { ramp, transfer } from "./color.js";
import type { Theme } from "./theme.js";

/** Colors of letters on dark and on light backgrounds. */
const ON_DARK = "#ffffff";
const ON_LIGHT = "#15151a";
/** Brightness (0 to 255) above which a background takes dark letters. */
const BRIGHT = 125;

/**
 * Return the background of a weight on the absolute scale and the color of letters on it. `table`
 * replaces the scale of the theme.
 */
export function inkOf(
  theme: Theme,
  weight: number,
  table: Uint32Array = ramp(theme),
): { ground: string; letters: string } {
  const at = transfer("absolute")(clamp(weight, 0, 1));
  const word = table[Math.round(255 * at)] ?? 0;
  const [r, g, b] = [word & 255, (word >> 8) & 255, (word >> 16) & 255];
  const brightness = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  if (theme.forced) {
    const letters = at > 0.5 ? theme.background : theme.text;
    return { ground: `rgb(${r} ${g} ${b})`, letters };
  }
  return { ground: `rgb(${r} ${g} ${b})`, letters: brightness > BRIGHT ? ON_LIGHT : ON_DARK };
}

/** Return the color of arcs and lines. */
export const lineColor = ({ dark, forced, text }: Theme): string =>
  forced ? text : dark ? "#c9c6ff" : "#241783";
