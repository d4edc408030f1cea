import type { Theme } from "../model/theme.js";
import { headName } from "../model/types.js";
import { drawShape, groupColour, groupShape, layerColour } from "./map_marks.js";
import { type MapLayout, type Point, type Rectangle, within } from "./map_points.js";

export interface MapLook {
  theme: Theme;
  /** The system's colours are in use: shapes and numbers have to do. */
  forced: boolean;
  font: string;
  /** Layers to colour by, or 0 to colour by behaviour. */
  layers: number;
  /** The mark of each behaviour. */
  slots: number[];
}

export interface MapMarks {
  /** The last one is the head that a view shows. */
  selected: Point[];
  hovered: Point | undefined;
  focused: Point | undefined;
  brush: Rectangle | undefined;
  /** What is written beside the hovered or focused head. */
  label: string;
}

type Context = CanvasRenderingContext2D;

/** From this many heads on the marks are smaller. */
const MANY = 200;
const size = (count: number) =>
  count > MANY ? { text: 10, radius: 3.5, ring: 8 } : { text: 12, radius: 5, ring: 10 };

function drawMark(context: Context, point: Point, look: MapLook, radius: number): void {
  const { theme, forced, layers, slots } = look;
  const [layer] = point.head;
  const slot = slots[point.group] ?? -1;
  const colour = layers ? layerColour(theme.dark, layer, layers) : groupColour(theme.dark, slot);
  context.fillStyle = forced ? theme.text : colour;
  context.strokeStyle = layers ? theme.background : context.fillStyle;
  if (!layers) {
    drawShape(context, groupShape(slot), point.x, point.y, radius);
    return;
  }
  // A line of background keeps numbers apart where they meet.
  context.lineWidth = 2;
  context.strokeText(String(layer), point.x, point.y);
  context.fillText(String(layer), point.x, point.y);
}

function ring(context: Context, { x, y }: Point, radius: number, width: number, colour: string) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.lineWidth = width;
  context.strokeStyle = colour;
  context.stroke();
}

const PAD = 4;
const LINE = 16;

/** A line of text beside a point, on a plate of background, inside the canvas. */
function drawLabel(
  context: Context,
  layout: MapLayout,
  { x, y }: Point,
  text: string,
  away: number,
  look: MapLook,
) {
  const width = context.measureText(text).width + 2 * PAD;
  const right = x + away + width <= layout.width;
  const left = right ? x + away : Math.max(0, x - away - width);
  const top = Math.max(0, Math.min(layout.height - LINE, y - away - LINE / 2));
  context.fillStyle = look.theme.background;
  context.globalAlpha = 0.9;
  context.fillRect(left, top, width, LINE);
  context.globalAlpha = 1;
  context.fillStyle = look.theme.text;
  context.textAlign = "left";
  context.fillText(text, left + PAD, top + LINE / 2);
}

/** Redraw the map; `points` are in pixels of the canvas. */
export function paintMap(
  context: Context,
  layout: MapLayout,
  dpr: number,
  points: Point[],
  look: MapLook,
  marks: MapMarks,
): void {
  const { theme, font } = look;
  const { text, radius, ring: around } = size(points.length);
  context.setTransform(dpr, 0, 0, dpr, 0, 0);
  context.globalAlpha = 1;
  context.fillStyle = theme.background;
  context.fillRect(0, 0, layout.width, layout.height);
  context.textBaseline = "middle";
  context.textAlign = "center";
  context.lineJoin = "round";
  context.font = `600 ${text}px ${font}`;
  for (const point of points) drawMark(context, point, look, radius);
  // Again on top of their neighbours, each on a disc of background that its ring encloses.
  for (const point of marks.selected) {
    ring(context, point, around, 4, theme.background);
    context.fillStyle = theme.background;
    context.fill();
    drawMark(context, point, look, radius);
    ring(context, point, around, 2, theme.accent);
  }
  for (const point of [marks.hovered, marks.focused]) {
    if (!point) continue;
    drawMark(context, point, look, radius);
    if (point === marks.focused) ring(context, point, around + 3, 2, theme.text);
    else ring(context, point, around, 1, theme.text);
  }
  context.font = `12px ${font}`;
  const pointed = marks.hovered ?? marks.focused;
  const shown = marks.selected.at(-1);
  if (shown && shown !== pointed)
    drawLabel(context, layout, shown, headName(shown.head), around + 2, look);
  if (pointed) drawLabel(context, layout, pointed, marks.label, around + 4, look);
  if (!marks.brush) return;
  const { x0, y0, x1, y1 } = marks.brush;
  const box = [Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0), Math.abs(y1 - y0)] as const;
  context.fillStyle = theme.accent;
  context.globalAlpha = 0.1;
  context.fillRect(...box);
  context.globalAlpha = 1;
  context.strokeStyle = theme.accent;
  context.lineWidth = 1;
  context.setLineDash([4, 2]);
  context.strokeRect(...box);
  context.setLineDash([]);
  for (const point of within(points, marks.brush)) ring(context, point, around, 1, theme.accent);
}
