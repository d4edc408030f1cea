import { AXIS_LABEL_SIZE, drawToken, LABEL_SIZE, labelFont, write } from "../shared/labels.js";
import type { Pen } from "../shared/pen.js";
import type { Theme } from "../shared/theme.js";
import { type Curve, placeOf } from "./distance_curve.js";
import { type PlacedBlock, type PlacedPanel, ROW, type Scene, TICKS } from "./scene.js";

const BAR = 10;
const TITLE_MIDDLE = 9;
const DOT = 4;

export function paintPanels(pen: Pen, { panels, theme, font }: Scene): void {
  pen.textBaseline = "middle";
  pen.direction = "ltr";
  for (const panel of panels) {
    pen.save();
    pen.translate(panel.x, panel.y);
    paintPanel(pen, panel, theme, font);
    pen.restore();
  }
}

function paintPanel(pen: Pen, { lines, blocks }: PlacedPanel, theme: Theme, font: string): void {
  for (const { text, y, isTitle } of lines) {
    pen.font = labelFont(font, isTitle, isTitle ? LABEL_SIZE : AXIS_LABEL_SIZE);
    write(pen, text, [0, y], isTitle ? theme.text : theme.muted);
  }
  for (const block of blocks) paintBlock(pen, block, theme, font);
}

function paintBlock(pen: Pen, block: PlacedBlock, theme: Theme, font: string): void {
  const { rows, labels, start, numbers, zero, scale, ticks, top, bottom } = block;
  pen.font = labelFont(font, false, AXIS_LABEL_SIZE);
  for (const { text, x } of ticks) {
    write(pen, text, [x, top + TICKS / 2], theme.muted, "center");
    pen.fillStyle = theme.hairline;
    pen.fillRect(x - 0.5, top + TICKS, 1, bottom - top - TICKS);
  }
  for (const { label, value, text, stroke, isSum = false, y } of rows) {
    if (isSum) {
      pen.fillStyle = theme.hairline;
      pen.fillRect(0, y - ROW / 2, numbers, 1);
    }
    pen.font = labelFont(font, isSum);
    pen.fillStyle = theme.text;
    drawToken(pen, label, labels, y, "right", labels);
    const far = zero + value * scale;
    pen.fillStyle = isSum ? theme.muted : value < 0 ? theme.wrong : theme.right;
    pen.fillRect(Math.min(zero, far), y - BAR / 2, Math.abs(far - zero), BAR);
    if (stroke !== undefined) {
      pen.fillStyle = theme.text;
      pen.fillRect(zero + stroke * scale - 1, y - ROW / 2 + 2, 2, ROW - 4);
    }
    write(pen, text, [numbers, y], theme.text, "right");
  }
  pen.fillStyle = theme.muted;
  const line = ticks.length ? top + TICKS : top;
  pen.fillRect(Math.max(start, zero - 0.5), line, 1, bottom - line);
}

/**
 * Draw the curve of the weight by distance, with the distance in the text and the distance of the
 * slider.
 */
export function paintCurve(pen: Pen, curve: Curve, { theme, font }: Scene): void {
  const { left, right, top, bottom, weights, first, largest, own, at } = curve;
  const height = (weight: number) => bottom - (weight / largest) * (bottom - top);
  const place = (distance: number): [x: number, y: number] => [
    placeOf(curve, distance),
    height(weights[distance - first] ?? 0),
  ];
  pen.textBaseline = "middle";
  pen.direction = "ltr";
  pen.font = labelFont(font, true, LABEL_SIZE);
  write(pen, curve.title, [0, TITLE_MIDDLE], theme.text);
  pen.font = labelFont(font, false, AXIS_LABEL_SIZE);
  for (const { text, y } of curve.labels) write(pen, text, [left - 12, y], theme.muted, "right");
  for (const { text, x, strong } of curve.ticks) {
    pen.font = labelFont(font, strong, AXIS_LABEL_SIZE);
    write(pen, text, [x, bottom + 11], strong ? theme.text : theme.muted, "center");
  }
  pen.fillStyle = theme.hairline;
  pen.fillRect(left, bottom, right - left, 1);
  pen.strokeStyle = theme.right;
  pen.lineWidth = 1.5;
  pen.lineJoin = "round";
  pen.beginPath();
  for (let i = 0; i < weights.length; i++) {
    const [x, y] = place(first + i);
    if (i) pen.lineTo(x, y);
    else pen.moveTo(x, y);
  }
  pen.stroke();
  const [ownX, ownY] = place(own);
  pen.fillStyle = theme.muted;
  pen.fillRect(ownX - 0.5, top - 4, 1, bottom - top + 4);
  dot(pen, [ownX, ownY], theme.background, theme.text);
  if (at !== own) dot(pen, place(at), theme.accent, theme.accent);
  pen.font = labelFont(font, false, LABEL_SIZE);
  write(pen, curve.readout, [0, curve.readoutY], theme.text);
}

function dot(pen: Pen, [x, y]: [x: number, y: number], fill: string, line: string): void {
  pen.beginPath();
  pen.arc(x, y, DOT, 0, 2 * Math.PI);
  pen.fillStyle = fill;
  pen.fill();
  pen.strokeStyle = line;
  pen.lineWidth = 1.5;
  pen.stroke();
}
