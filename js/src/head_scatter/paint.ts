import { blend, channels } from "../shared/color.js";
import { shortName } from "../shared/head_names.js";
import { AXIS_LABEL_SIZE, LABEL_SIZE, labelFont, type Ruler, write } from "../shared/labels.js";
import palette from "../shared/palette.json" with { type: "json" };
import type { Pen } from "../shared/pen.js";
import { wrapped } from "../shared/text_width.js";
import type { Theme } from "../shared/theme.js";
import { NAME, NUMBER_SIZE, nameBox } from "./head_numbers.js";
import type { Point } from "./map_points.js";
import { type MapScene, type Rectangle, within } from "./scene.js";

const of = ({ dark }: Theme) => (dark ? palette.dark : palette.light);

/**
 * Return the color of layer `layer` of `count`, from the first layer to the last, increasingly
 * different from the background. Every color has enough contrast for numbers (4.5:1). The hues
 * differ from those of the scale of weights.
 */
export function layerColor(theme: Theme, layer: number, count: number): string {
  if (theme.forced) return theme.text;
  const mixed = blend(of(theme).layers.map(channels), count > 1 ? layer / (count - 1) : 0);
  return `rgb(${mixed.join(" ")})`;
}

/** Draw all layers from left to right. */
export function paintLayers(
  pen: Pen,
  theme: Theme,
  layers: number,
  width: number,
  height: number,
): void {
  for (let layer = 0; layer < layers; layer++) {
    pen.fillStyle = layerColor(theme, layer, layers);
    const x = (layer * width) / layers;
    // Extend each bar to the end, because the background would show between adjacent bars.
    pen.fillRect(x, 0, width - x, height);
  }
}

/** Return the color of a behavior. Pairs of color and shape repeat only after 24 slots. */
export function groupColor(theme: Theme, slot: number): string {
  const { series, rest } = of(theme);
  if (theme.forced) return theme.text;
  return slot < 0 ? rest : (series[slot % series.length] ?? rest);
}

type Corners = [x: number, y: number][];

/**
 * Return corners on a circle of radius 1, from angle `start` (in turns, clockwise from the top).
 */
const regular = (count: number, start = 0): Corners =>
  Array.from({ length: count }, (_, i) => {
    const angle = 2 * Math.PI * (start + i / count);
    return [Math.sin(angle), -Math.cos(angle)];
  });
const turned = (corners: Corners, turns: number): Corners => {
  const sin = Math.sin(2 * Math.PI * turns);
  const cos = Math.cos(2 * Math.PI * turns);
  return corners.map(([x, y]) => [x * cos - y * sin, x * sin + y * cos]);
};
const ARM = 0.38;
const TIP = 1.1;
/** End of an arm, before the corner that follows it. */
const END: Corners = [-ARM, ARM].map((x) => [x, -TIP]);
const PLUS = [0, 1 / 4, 1 / 2, 3 / 4].flatMap((turns) => turned([...END, [ARM, -ARM]], turns));
/**
 * Corners in units of the radius, scaled so that all shapes have a similar area; a circle has none.
 */
const SHAPES: Record<string, Corners> = {
  circle: [],
  square: regular(4, 1 / 8).map(([x, y]) => [1.25 * x, 1.25 * y]),
  triangle: regular(3).map(([x, y]) => [1.4 * x, 1.4 * y + 0.25]),
  diamond: regular(4).map(([x, y]) => [1.3 * x, 1.3 * y]),
  wedge: regular(3, 1 / 2).map(([x, y]) => [1.4 * x, 1.4 * y - 0.25]),
  plus: PLUS,
  cross: turned(PLUS, 1 / 8),
  star: regular(10).map(([x, y], i) => (i % 2 ? [0.6 * x, 0.6 * y] : [1.4 * x, 1.4 * y])),
};
const NAMES = Object.keys(SHAPES);
export const groupShape = (slot: number): string =>
  slot < 0 ? "ring" : (NAMES[slot % NAMES.length] ?? "circle");

/** Draw the mark of a behavior with a radius of about `radius` around a point. */
export function paintMark(
  pen: Pen,
  theme: Theme,
  slot: number,
  x: number,
  y: number,
  radius: number,
): void {
  const shape = groupShape(slot);
  const corners = SHAPES[shape] ?? [];
  pen.beginPath();
  for (const [dx, dy] of corners) pen.lineTo(x + radius * dx, y + radius * dy);
  if (corners.length) pen.closePath();
  else pen.arc(x, y, shape === "ring" ? 0.75 * radius : radius, 0, 2 * Math.PI);
  pen.fillStyle = groupColor(theme, slot);
  pen.strokeStyle = pen.fillStyle;
  pen.lineWidth = 1.5;
  if (shape === "ring") pen.stroke();
  else pen.fill();
}

/** Heads under the pointer and the keyboard cursor, and the brush. */
interface Pointed {
  hovered: Point | undefined;
  focused: Point | undefined;
  brush: Rectangle | undefined;
  /** Text next to the head under the pointer or cursor. */
  label: string;
}

function paintHead(pen: Pen, scene: MapScene, point: Point): void {
  const { theme, layers, slots, size } = scene;
  if (!layers) {
    paintMark(pen, theme, slots[point.group] ?? -1, point.x, point.y, size.radius);
    return;
  }
  const [layer] = point.head;
  const number = String(layer);
  pen.fillStyle = layerColor(theme, layer, layers);
  pen.strokeStyle = theme.background;
  pen.lineWidth = 2;
  // A line of background separates overlapping numbers.
  if (scene.touching.has(point)) pen.strokeText(number, point.x, point.y);
  pen.fillText(number, point.x, point.y);
}

function ring(pen: Pen, { x, y }: Point, radius: number, width: number, color: string): void {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.lineWidth = width;
  pen.strokeStyle = color;
  pen.stroke();
}

/** Draw a line of text next to a point, on a box of background color. */
function paintLabel(pen: Pen, scene: MapScene, point: Point, text: string, away: number): void {
  const { theme } = scene;
  const { x0, x1, y0 } = nameBox(text, point, away, scene);
  pen.fillStyle = theme.background;
  pen.globalAlpha = 0.9;
  pen.fillRect(x0, y0, x1 - x0, NAME.height);
  pen.globalAlpha = 1;
  write(pen, text, [x0 + NAME.pad, y0 + NAME.height / 2], theme.text);
}

/** Draw the names of behaviors over their heads, with a rim of background color. */
function paintNames(pen: Pen, { names, theme, font }: MapScene): void {
  pen.font = labelFont(font, true, LABEL_SIZE);
  pen.textAlign = "center";
  pen.strokeStyle = theme.background;
  pen.lineWidth = 4;
  for (const { text, slot, x, y } of names) {
    pen.fillStyle = groupColor(theme, slot);
    pen.strokeText(text, x, y);
    pen.fillText(text, x, y);
  }
}

/** Draw numbers and labels next to their heads. */
function paintTexts(pen: Pen, { texts, theme, font }: MapScene): void {
  for (const { text, isLabel, x, y } of texts) {
    pen.font = labelFont(font, false, isLabel ? LABEL_SIZE : NUMBER_SIZE);
    write(pen, text, [x, y], isLabel ? theme.text : theme.muted);
  }
}

/** Draw the heads, with rings around the selected ones. `pointed` is used only on pages. */
export function paintMap(pen: Pen, scene: MapScene, pointed?: Pointed): void {
  const { theme, font, points, selected, size } = scene;
  const around = size.ring;
  const chosen = new Set(selected);
  pen.textBaseline = "middle";
  // Draw rings below all numbers, so that a ring does not hide a neighboring head.
  for (const point of selected) {
    ring(pen, point, around, 4, theme.background);
    ring(pen, point, around, 2, theme.accent);
  }
  paintTexts(pen, scene);
  pen.textAlign = "center";
  pen.lineJoin = "round";
  pen.font = labelFont(font, true, size.text);
  for (const point of points) if (!chosen.has(point)) paintHead(pen, scene, point);
  paintNames(pen, scene);
  pen.font = labelFont(font, true, size.text);
  for (const point of selected) paintHead(pen, scene, point);
  const { hovered, focused, brush, label = "" } = pointed ?? {};
  for (const point of [hovered, focused]) {
    if (!point) continue;
    paintHead(pen, scene, point);
    if (point === focused) ring(pen, point, around + 3, 2, theme.text);
    else ring(pen, point, around, 1, theme.text);
  }
  pen.font = labelFont(font, false, LABEL_SIZE);
  const shown = selected.at(-1);
  const near = hovered ?? focused;
  if (shown && shown !== near)
    paintLabel(pen, scene, shown, shortName(shown.head, scene), around + 2);
  if (near) paintLabel(pen, scene, near, label, around + 4);
  if (brush) paintBrush(pen, scene, brush);
}

function paintBrush(pen: Pen, { theme, points, size }: MapScene, brush: Rectangle): void {
  const { x0, y0, x1, y1 } = brush;
  const box = [Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0), Math.abs(y1 - y0)] as const;
  pen.fillStyle = theme.accent;
  pen.globalAlpha = 0.1;
  pen.fillRect(...box);
  pen.globalAlpha = 1;
  pen.strokeStyle = theme.accent;
  pen.lineWidth = 1;
  pen.setLineDash([4, 2]);
  pen.strokeRect(...box);
  pen.setLineDash([]);
  for (const point of within(points, brush)) ring(pen, point, size.ring, 1, theme.accent);
}

export const MARK = 14;
export const MARK_RADIUS = 4.5;
const BAR = { width: 184, height: 8 };
const ROW = 24;
const LINE = 14;
/** Gaps between a mark, its name and its count, and from a count to the next mark. */
const GAP = 6;
const APART = 16;

/** Size and painter of a legend. */
interface Legend {
  width: number;
  height: number;
  paint(pen: Pen): void;
}

/** Return the legend of layers, from first to last. */
export function layerLegend({ theme, font, layers }: MapScene): Legend {
  return {
    width: BAR.width,
    height: BAR.height + 20,
    paint(pen) {
      paintLayers(pen, theme, layers, BAR.width, BAR.height);
      pen.font = labelFont(font, false, AXIS_LABEL_SIZE);
      write(pen, "layer 0", [0, BAR.height + 12], theme.muted);
      write(pen, String(layers - 1), [BAR.width, BAR.height + 12], theme.muted, "right");
    },
  };
}

/**
 * Return the legend of behaviors with mark, name and count: one per row next to the map, or side by
 * side under it.
 */
export function groupLegend(scene: MapScene, names: string[], room: number, ruler: Ruler): Legend {
  const { theme, font, slots, points, beside } = scene;
  const measure = ruler(labelFont(font, false, LABEL_SIZE));
  let x = 0;
  let y = 0;
  let height = 0;
  /** Mark, name and count are on the first line of an item; the count ends at `right`. */
  const items = names.map((name, i) => {
    const count = String(points.filter(({ group }) => group === i).length);
    const around = MARK + GAP + GAP + measure(count);
    const lines = wrapped(name, room - around, measure);
    const width = around + Math.max(0, ...lines.map(measure));
    if (x > 0 && (beside || x + width > room)) {
      x = 0;
      y = height;
    }
    const right = beside ? room : x + width;
    const item = { slot: slots[i] ?? -1, x, y, lines, count, right };
    height = Math.max(height, y + ROW + LINE * (Math.max(1, lines.length) - 1));
    x += width + APART;
    return item;
  });
  const width = Math.max(0, ...items.map(({ right }) => right));
  return {
    width,
    height,
    paint(pen) {
      pen.textBaseline = "middle";
      for (const item of items) {
        const middle = item.y + ROW / 2;
        paintMark(pen, theme, item.slot, item.x + MARK / 2, middle, MARK_RADIUS);
        pen.font = labelFont(font, false, LABEL_SIZE);
        for (const [k, line] of item.lines.entries())
          write(pen, line, [item.x + MARK + GAP, middle + k * LINE], theme.text);
        write(pen, item.count, [item.right, middle], theme.muted, "right");
      }
    },
  };
}
