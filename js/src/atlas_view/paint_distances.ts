import { css } from "../shared/color.js";
import type { Pen } from "../shared/pen.js";
import { percentText } from "../shared/percent_text.js";
import type { Theme } from "../shared/theme.js";
import type { Distances } from "./state.js";

export const DISTANCES_TITLE = "how far it looks";
export const DISTANCES_NOTE =
  "share of its attention between words, by distance in tokens: before, itself, after";
const BAR = 12;
const BAR_GAP = 2;
const BARS_HEIGHT = 28;
const TICK = 4;
export const DISTANCES_HEIGHT = BARS_HEIGHT + TICK + 1;
/** Position of the bars on the color scale. */
const INK = 0.75;
/** The text lists the largest shares up to this sum, and at most three. */
const MOST_OF_IT = 0.5;
const MOST_LISTED = 3;

export const distancesWidth = (distances: Distances): number =>
  distances.length * (BAR + BAR_GAP) - BAR_GAP;

/** Return the distances with the largest shares: "1 after 37 %, 2 after 24 %". */
export function distancesText(distances: Distances): string {
  const sorted = [...distances].sort(([, first], [, second]) => (second ?? 0) - (first ?? 0));
  const listed: string[] = [];
  let sum = 0;
  for (const [name, share] of sorted.slice(0, MOST_LISTED)) {
    if (sum > MOST_OF_IT) break;
    listed.push(`${name} ${percentText(share ?? 0)}`);
    sum += share ?? 0;
  }
  return listed.join(", ");
}

/** Draw one bar per distance on a scale from 0 to 1, with a tick at the token itself. */
export function paintDistances(pen: Pen, theme: Theme, distances: Distances): void {
  pen.fillStyle = theme.muted;
  pen.fillRect(0, BARS_HEIGHT, distancesWidth(distances), 1);
  for (const [number, [name, share]] of distances.entries()) {
    const x = number * (BAR + BAR_GAP);
    const height = (share ?? 0) * BARS_HEIGHT;
    pen.fillStyle = css(theme, INK);
    pen.fillRect(x, BARS_HEIGHT - height, BAR, height);
    pen.fillStyle = theme.muted;
    if (name === "itself") pen.fillRect(x + BAR / 2 - 0.5, BARS_HEIGHT + 1, 1, TICK);
  }
}
