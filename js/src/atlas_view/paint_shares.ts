import { LABEL_SIZE, labelFont, type Measure, write } from "../shared/labels.js";
import type { Pen } from "../shared/pen.js";
import { percentText } from "../shared/percent_text.js";
import type { Theme } from "../shared/theme.js";
import type { Shares } from "./state.js";

/** Colors of position, grammar, same word and rest. */
const FACTORS = {
  light: ["#0f7d62", "#b5661a", "#3f74b8", "#d3d5d9"],
  dark: ["#35b08d", "#dd8f45", "#7aa7e6", "#45474d"],
};
const INK = { dark: "#111111", light: "#ffffff" };
/** Largest width of the bar of shares: a wider bar is no easier to read. */
export const WIDEST_SHARES = 560;
const BAR = 16;
const LINE = 18;
const SWATCH = 10;
const SWATCH_GAP = 5;
const ENTRY_GAP = 16;
/** Smallest share with a number in the bar. */
const LEAST_PRINTED = 0.06;

interface Part {
  name: string;
  share: number;
}

/** Return the shares without noise below 0; they sum to 1. */
export function partsOf({ parts }: Shares): Part[] {
  const positive = parts.map(([name, share]) => ({ name, share: Math.max(0, share ?? 0) }));
  const sum = positive.reduce((total, { share }) => total + share, 0) || 1;
  return positive.map(({ name, share }) => ({ name, share: share / sum }));
}

export const partText = ({ name, share }: Part): string => `${name} ${percentText(share)}`;

/** Return the position of each entry of the legend, on as many lines as it needs. */
function legendOf(parts: Part[], width: number, measure: Measure) {
  let x = 0;
  let line = 0;
  return parts.map((part) => {
    const length = SWATCH + SWATCH_GAP + measure(partText(part));
    if (x && x + length > width) {
      x = 0;
      line++;
    }
    const at = { x, line };
    x += length + ENTRY_GAP;
    return at;
  });
}

/** Return the height of the bar with its legend. */
export const sharesHeight = (shares: Shares, width: number, measure: Measure): number =>
  BAR + LINE * ((legendOf(partsOf(shares), width, measure).at(-1)?.line ?? 0) + 1) + 2;

/** Draw a bar of shares and its legend. */
export function paintShares(
  pen: Pen,
  theme: Theme,
  font: string,
  { shares, width, measure }: { shares: Shares; width: number; measure: Measure },
): void {
  const parts = partsOf(shares);
  const colors = theme.dark ? FACTORS.dark : FACTORS.light;
  const legend = legendOf(parts, width, measure);
  pen.textBaseline = "middle";
  pen.font = labelFont(font, false, LABEL_SIZE);
  let x = 0;
  for (const [i, part] of parts.entries()) {
    const length = part.share * width;
    const color = colors[i] ?? theme.hairline;
    pen.fillStyle = color;
    // A line of the background separates neighbors, also for readers who see no hues.
    pen.fillRect(x, 0, Math.max(0, length - 1), BAR);
    const isRest = i === parts.length - 1;
    const ink = theme.dark === isRest ? INK.light : INK.dark;
    if (part.share >= LEAST_PRINTED)
      write(pen, percentText(part.share), [x + length / 2, BAR / 2 + 0.5], ink, "center");
    x += length;
    const at = legend[i];
    if (!at) continue;
    const middle = BAR + 2 + LINE * (at.line + 0.5);
    pen.fillStyle = color;
    pen.fillRect(at.x, middle - SWATCH / 2, SWATCH, SWATCH);
    write(pen, partText(part), [at.x + SWATCH + SWATCH_GAP, middle], theme.text);
  }
}
