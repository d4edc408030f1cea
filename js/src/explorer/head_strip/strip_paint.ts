import { AXIS_LABEL_SIZE, labelFont } from "../../shared/labels.js";
import type { Pen } from "../../shared/pen.js";
import {
  areWide,
  type Bar,
  barHeight,
  NAME_HEIGHT,
  SCALE_WIDTH,
  STRIP_HEIGHT,
  type StripScene,
  scaleTexts,
  ZERO,
} from "./strip_scene.js";

/** Space above and below the lines between layers. */
const RULE = 4;
/** Smallest height of a bar, so that each head has a mark. */
const LEAST = 0.75;

/** Draw the bars of all heads at the pen's origin. */
export function paintStrip(pen: Pen, scene: StripScene): void {
  const { look, bars, rules, names, present, reach } = scene;
  const { theme, font, density } = look;
  const space = areWide(scene) ? 1 : 0;
  const snapped = (x: number) => Math.round(x * density) / density;
  pen.fillStyle = theme.hairline;
  const [first, last] = [bars[0], bars.at(-1)];
  if (first && last) pen.fillRect(first.x, ZERO - 0.5, last.x + last.width - first.x, 1);
  for (const x of rules) pen.fillRect(snapped(x), RULE, 1, STRIP_HEIGHT - 2 * RULE);
  // Lines between layers would cross the letters.
  pen.fillStyle = theme.background;
  for (const { x, end, isAbove } of names)
    pen.fillRect(x - 1, isAbove ? 0 : STRIP_HEIGHT - NAME_HEIGHT, end - x + 2, NAME_HEIGHT);
  const color = theme.forced ? theme.text : theme.muted;
  const drawBar = ({ x, width, change }: Bar) => {
    const left = snapped(x);
    const right = snapped(x + width) - space;
    const high = Math.max(LEAST, barHeight(change, reach));
    const top = change < 0 ? ZERO : ZERO - high;
    pen.fillRect(left, top, Math.max(right - left, 1 / density), high);
  };
  pen.fillStyle = color;
  for (const bar of bars) if (bar !== present) drawBar(bar);
  if (present) {
    pen.fillStyle = theme.accent;
    drawBar(present);
    const left = snapped(present.x) - 1.5;
    const right = snapped(present.x + present.width) - space + 1.5;
    pen.strokeStyle = theme.accent;
    pen.lineWidth = 1;
    pen.strokeRect(left, 0.5, right - left, STRIP_HEIGHT - 1);
  }
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  for (const { name, change, x, bold, isAbove } of names) {
    const y = isAbove ? NAME_HEIGHT / 2 : STRIP_HEIGHT - NAME_HEIGHT / 2;
    pen.fillStyle = theme.text;
    pen.font = labelFont(font, false, AXIS_LABEL_SIZE);
    pen.fillText(name, x, y);
    pen.font = labelFont(font, true, AXIS_LABEL_SIZE);
    pen.fillText(change, x + bold, y);
  }
}

/** Draw the bars with their scale to the left, for a picture. */
export function paintWithScale(pen: Pen, scene: StripScene): void {
  const { theme, font } = scene.look;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  pen.font = labelFont(font, false, AXIS_LABEL_SIZE);
  pen.fillStyle = theme.muted;
  const [first, second] = scaleTexts(scene.effects);
  pen.fillText(first, SCALE_WIDTH - 8, ZERO - 7);
  pen.fillText(second, SCALE_WIDTH - 8, ZERO + 7);
  pen.save();
  pen.translate(SCALE_WIDTH, 0);
  paintStrip(pen, scene);
  pen.restore();
}
