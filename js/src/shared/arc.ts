/**
 * Arcs over, under and between words. A figure decides which arcs to draw and where they begin and
 * end; this module decides their paths, heights, widths and arrowheads.
 */

import type { Pen } from "./pen.js";
import { type Shape, shape } from "./svg.js";
import type { Theme } from "./theme.js";

/** Width in pixels of an arc with weight 1, and the smallest width of a predicted arc. */
export const THICKEST = 10;
export const THINNEST = 0.75;
/** Widths of arcs without a weight: one arc over its words, or many arcs of a tree. */
export const ARC_WIDTH = 1.5;
export const TREE_WIDTH = 1;
/** Opacity at which blue and vermilion keep a contrast of 3:1 on both backgrounds. */
const OPACITY = 0.8;
/** Opacity of the other arcs while the arcs of one word are highlighted. */
export const FAINT = 0.12;
/** Arcs to a wrong word are dashed. */
export const DASH: [number, number] = [5, 3];

/**
 * Half the width of an arrowhead, its length, and the distance from its tip to the end of the line.
 */
const ARROW = { half: 3.5, length: 6, line: 4 };
/** Distance in pixels between the ends of arcs at the same word. */
export const PORT = 6;
/** Radius of the corners of a flat arc. */
const CORNER = 7;

/** Height of a round arc of length 0, and its growth with the square root of the length. */
const ROUND = { least: 4, gain: 2.5 };
/**
 * Height of flat arcs on the first level, and the step between levels, which leaves room for names.
 */
const FLAT = { least: 10, step: 19 };

type Point = [x: number, y: number];
/**
 * Direction of an arc: 1 over the words (arrows point down), -1 under the words (arrows point up).
 */
type Way = 1 | -1;

/** Path of an arc. Each step ends at its last point; the points before it are control points. */
export interface ArcPath {
  start: Point;
  steps: Point[][];
  way: Way;
}

export interface ArcLook {
  color: string;
  width: number;
  opacity?: number;
  isDashed?: boolean;
  /** Whether the arc ends in an arrowhead. */
  hasArrow?: boolean;
}

/** Return the width of an arc, which is linear in its weight and at least `least` pixels. */
export const widthOf = (weight: number, least = 0): number =>
  Math.max(least, THICKEST * Math.min(1, weight));

/** Return the opacity of arcs: 1 with forced colors, whose contrast may be low already. */
export const opacityOf = ({ forced }: Pick<Theme, "forced">): number => (forced ? 1 : OPACITY);

/** Return the height of a round arc, which grows with its length in pixels. */
export const roundHeight = (length: number, most = Number.POSITIVE_INFINITY): number =>
  Math.min(most, ROUND.least + ROUND.gain * Math.sqrt(Math.abs(length)));

/** Return the height of a flat arc from its level, counted from 1. */
export const flatHeight = (level: number): number => FLAT.least + FLAT.step * level;

/**
 * Return the level of each arc, counted from 1. An arc lies above all shorter arcs that overlap it,
 * so that the arcs of a projective tree never cross each other or a name on an arc.
 */
export function arcLevels(ends: (readonly [number, number])[]): number[] {
  const spans = ends.map(([a, b], i) => ({ i, low: Math.min(a, b), high: Math.max(a, b) }));
  const levels = ends.map(() => 0);
  const placed: typeof spans = [];
  for (const span of [...spans].sort((a, b) => a.high - a.low - (b.high - b.low))) {
    const met = placed.filter(({ low, high }) => low < span.high && span.low < high);
    levels[span.i] = 1 + Math.max(0, ...met.map(({ i }) => levels[i] ?? 0));
    placed.push(span);
  }
  return levels;
}

/** Return a straight line to a word. */
export const stem = (start: Point, end: Point): ArcPath => ({
  start,
  steps: [[end]],
  way: start[1] < end[1] ? 1 : -1,
});

/** Return an arc from a point at its top, over and down (or up) to a word. */
export function halfArc([from, top]: Point, [x, y]: Point): ArcPath {
  const corner = Math.min(CORNER, Math.abs(x - from) / 2);
  const way = top < y ? 1 : -1;
  const over: Point = [x - Math.sign(x - from) * corner, top];
  const down: Point = [x, top + way * corner];
  return { start: [from, top], steps: [[over], [[x, top], down], [[x, y]]], way };
}

/** Return an arc up, over and down to a word of the same line. Its flat top has room for a name. */
export function flatArc(start: Point, end: Point, height: number): ArcPath {
  const [x, y] = start;
  const top = y - height;
  const down = halfArc([x, top], end);
  const corner = Math.min(CORNER, Math.abs(end[0] - x) / 2);
  const over: Point = [x + Math.sign(end[0] - x) * corner, top];
  return { ...down, start, steps: [[[x, top + corner]], [[x, top], over], ...down.steps] };
}

/** Return a curve over (`way` 1) or under (-1) a line of words, from word to word. */
export function roundArc(start: Point, end: Point, height: number, way: Way): ArcPath {
  // The curve reaches three quarters of the height of its control points.
  const control = start[1] - way * (4 / 3) * height;
  return { start, steps: [[[start[0], control], [end[0], control], end]], way };
}

/** Return a curve between words of two lines. */
export function arcBetweenLines(start: Point, end: Point): ArcPath {
  const between = (start[1] + end[1]) / 2;
  const way = start[1] < end[1] ? 1 : -1;
  return { start, steps: [[[start[0], between], [end[0], between], end]], way };
}

const endOf = ({ start, steps }: ArcPath): Point => steps.at(-1)?.at(-1) ?? start;

/** Return the line of an arc. It ends inside the arrowhead, so that it does not cover the tip. */
function lineOf(arc: ArcPath, hasArrow = false): ArcPath {
  if (!hasArrow) return arc;
  const [x, y] = endOf(arc);
  const last = arc.steps.at(-1)?.slice(0, -1) ?? [];
  const end: Point = [x, y - ARROW.line * arc.way];
  return { ...arc, steps: [...arc.steps.slice(0, -1), [...last, end]] };
}

/** Return the outline of an arc's arrowhead. */
function headOf(arc: ArcPath): ArcPath {
  const [x, y] = endOf(arc);
  const back = y - ARROW.length * arc.way;
  return { ...arc, start: [x - ARROW.half, back], steps: [[[x + ARROW.half, back]], [[x, y]]] };
}

/** Round to a tenth of a pixel. */
const px = (x: number) => Math.round(10 * x) / 10;
const pointsText = (points: Point[]) => points.map((point) => point.map(px).join(" ")).join(" ");
const COMMANDS = ["L", "Q", "C"];

const pathText = ({ start, steps }: ArcPath): string =>
  `M${pointsText([start])}` +
  steps.map((step) => COMMANDS[step.length - 1] + pointsText(step)).join("");

/** Return an arc as SVG shapes: its line and its arrowhead. */
export function arcShapes(arc: ArcPath, look: ArcLook): Shape[] {
  const { color, width, opacity, isDashed, hasArrow } = look;
  const line: Shape["attributes"] = { d: pathText(lineOf(arc, hasArrow)), fill: "none" };
  line.stroke = color;
  if (width !== 1) line["stroke-width"] = Math.round(1000 * width) / 1000;
  if (opacity !== undefined) line["stroke-opacity"] = opacity;
  if (isDashed) line["stroke-dasharray"] = DASH.join(" ");
  if (!hasArrow) return [shape("path", line)];
  const head: Shape["attributes"] = { d: pathText(headOf(arc)), fill: color };
  if (opacity !== undefined) head["fill-opacity"] = opacity;
  return [shape("path", line), shape("path", head)];
}

function trace(pen: Pen, { start, steps }: ArcPath): void {
  pen.beginPath();
  pen.moveTo(...start);
  for (const [first, second, third] of steps) {
    if (first && second && third) pen.bezierCurveTo(...first, ...second, ...third);
    else if (first && second) pen.quadraticCurveTo(...first, ...second);
    else if (first) pen.lineTo(...first);
  }
}

/** Draw an arc with a pen: its line and its arrowhead. */
export function paintArc(pen: Pen, arc: ArcPath, look: ArcLook): void {
  const { color, width, opacity = 1, isDashed, hasArrow } = look;
  pen.strokeStyle = pen.fillStyle = color;
  pen.lineWidth = width;
  pen.globalAlpha = opacity;
  pen.setLineDash(isDashed ? DASH : []);
  trace(pen, lineOf(arc, hasArrow));
  pen.stroke();
  pen.setLineDash([]);
  if (hasArrow) {
    trace(pen, headOf(arc));
    pen.fill();
  }
  pen.globalAlpha = 1;
}

/**
 * Center a name or a mark on a point of an arc, over a box of background color that interrupts the
 * arc.
 */
export function onArc(text: Shape, width: number, [x, y]: Point, { background }: Theme): Shape[] {
  const box = { x: px(x - width / 2), y: y - 6, width: px(width), height: 12 };
  return [shape("rect", { ...box, fill: background }), text];
}
