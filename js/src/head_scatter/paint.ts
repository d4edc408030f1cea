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
 * The color of layer `layer` of `count`: first layer to last, away from the background; every step
 * can be read as a number (4.5:1). Weights have a scale of their own; these hues keep the two
 * apart.
 */
export function layerColor(theme: Theme, layer: number, count: number): string {
  if (theme.forced) return theme.text;
  const mixed = blend(of(theme).layers.map(channels), count > 1 ? layer / (count - 1) : 0);
  return `rgb(${mixed.join(" ")})`;
}

/** All layers, left to right. */
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
    // On to the end: between two that only meet the ground would show.
    pen.fillRect(x, 0, width - x, height);
  }
}

/** Color and shape of a behavior: pairs repeat after 24 slots only. */
export function groupColor(theme: Theme, slot: number): string {
  const { series, rest } = of(theme);
  if (theme.forced) return theme.text;
  return slot < 0 ? rest : (series[slot % series.length] ?? rest);
}

type Corners = [x: number, y: number][];

/** Corners on a circle of radius 1, from angle `start` (turns, clockwise from the top). */
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
/** The end of an arm and the corner that follows it. */
const END: Corners = [-ARM, ARM].map((x) => [x, -TIP]);
const PLUS = [0, 1 / 4, 1 / 2, 3 / 4].flatMap((turns) => turned([...END, [ARM, -ARM]], turns));
/** Corners in units of the radius, so large that all shapes cover like areas; a circle has none. */
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

/** The mark of a behavior, of about `radius` round a point. */
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

/** Where the pointer and the keyboard are. */
interface Pointed {
  hovered: Point | undefined;
  focused: Point | undefined;
  brush: Rectangle | undefined;
  /** What is written beside the hovered or focused head. */
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
  // A line of background keeps numbers apart where they meet.
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

/** A line of text beside a point, on a plate of background. */
function paintLabel(pen: Pen, scene: MapScene, point: Point, text: string, away: number): void {
  const { theme } = scene;
  const { x0, x1, y0 } = nameBox(text, point, away, scene);
  pen.fillStyle = theme.background;
  pen.globalAlpha = 0.9;
  pen.fillRect(x0, y0, x1 - x0, NAME.height);
  pen.globalAlpha = 1;
  write(pen, text, [x0 + NAME.pad, y0 + NAME.height / 2], theme.text);
}

/** Behaviors where their heads are, parted from these by a line of the ground. */
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

/** Numbers and labels beside their heads. */
function paintTexts(pen: Pen, { texts, theme, font }: MapScene): void {
  for (const { text, isLabel, x, y } of texts) {
    pen.font = labelFont(font, false, isLabel ? LABEL_SIZE : NUMBER_SIZE);
    write(pen, text, [x, y], isLabel ? theme.text : theme.muted);
  }
}

/** The heads, the selected ones ringed; `pointed` is a page's alone. */
export function paintMap(pen: Pen, scene: MapScene, pointed?: Pointed): void {
  const { theme, font, points, selected, size } = scene;
  const around = size.ring;
  const chosen = new Set(selected);
  pen.textBaseline = "middle";
  // Under all numbers: a ring hides no neighbor of its head.
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
/** From a mark to its name, from a name to its count, from a count to the next mark. */
const GAP = 6;
const APART = 16;

/** What is drawn of a legend, and how large it is. */
interface Legend {
  width: number;
  height: number;
  paint(pen: Pen): void;
}

/** The layers from first to last. */
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

/** Mark, name and count of each behavior: one a row beside the map, side by side under it. */
export function groupLegend(scene: MapScene, names: string[], room: number, ruler: Ruler): Legend {
  const { theme, font, slots, points, beside } = scene;
  const measure = ruler(labelFont(font, false, LABEL_SIZE));
  let x = 0;
  let y = 0;
  let height = 0;
  /** Mark, name and count stand in the first line of a row; the count ends at `right`. */
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
