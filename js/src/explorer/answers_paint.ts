import { LABEL_SIZE, labelFont, type Ruler, shorten } from "../shared/labels.js";
import type { Pen } from "../shared/pen.js";
import { percentText } from "../shared/percent_text.js";
import type { Theme } from "../shared/theme.js";
import type { Guess } from "./sentence/guess.js";

const ROW = 18;
const NAME = 84;
const GAP = 8;
const SHARES = 96;
/**
 * Opacity of the second bar while it shows the answer without a head that is on, as on the page.
 */
const WITHOUT = 0.5;
const BEFORE = { light: "#9aa0a6", dark: "#7d8188" };

export const answersHeight = ({ answers }: Guess): number => answers.length * ROW;

/** Draw two thin bars for each answer of the model: gray before, blue after. */
export function paintAnswers(
  pen: Pen,
  { answers, isOff }: Guess,
  width: number,
  theme: Theme,
  font: string,
  ruler: Ruler,
): void {
  pen.textBaseline = "middle";
  const room = width - NAME - GAP - SHARES;
  const measure = ruler(labelFont(font, false, LABEL_SIZE));
  for (const [i, { text, before, after, isOwn }] of answers.entries()) {
    const y = i * ROW;
    pen.font = labelFont(font, isOwn, LABEL_SIZE);
    pen.fillStyle = isOwn ? theme.accent : theme.text;
    pen.textAlign = "right";
    pen.fillText(shorten(measure, text, NAME), NAME, y + ROW / 2);
    pen.fillStyle = theme.forced ? theme.muted : BEFORE[theme.dark ? "dark" : "light"];
    pen.fillRect(NAME + GAP, y + 2, Math.max(0.5, before * room), 6);
    if (after !== undefined) {
      pen.fillStyle = theme.accent;
      pen.globalAlpha = isOff ? 1 : WITHOUT;
      pen.fillRect(NAME + GAP, y + 9, Math.max(0.5, after * room), 6);
      pen.globalAlpha = 1;
    }
    const shares = [before, ...(after === undefined ? [] : [after])].map(percentText);
    pen.font = labelFont(font, false, LABEL_SIZE);
    pen.fillStyle = theme.muted;
    pen.textAlign = "left";
    const said = [...new Set(shares)].join(" → ");
    pen.fillText(said, NAME + GAP + room + GAP, y + ROW / 2);
  }
  pen.textAlign = "left";
}
