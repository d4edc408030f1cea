import type { PlacedHeads } from "../model/head_types.js";
import { type Head, sameHead } from "../model/types.js";
import { asFloat32, asInt32 } from "../model/wire.js";

/** A head in the plane of the data. */
export interface Point {
  head: Head;
  x: number;
  y: number;
  /** Index of its behaviour. */
  group: number;
}

/** All heads, layer by layer. */
export function decodePoints(heads: PlacedHeads): Point[] {
  const [layers = 0, perLayer = 0] = heads.positions.shape;
  const positions = asFloat32(heads.positions);
  const group = asInt32(heads.group);
  return Array.from({ length: layers * perLayer }, (_, i) => ({
    head: [Math.floor(i / perLayer), i % perLayer, heads.stack],
    x: positions[2 * i] ?? 0,
    y: positions[2 * i + 1] ?? 0,
    group: group[i] ?? 0,
  }));
}

/** Where the plane lies on the canvas, in CSS pixels; one scale for both directions, as distances ask for. */
export interface MapLayout {
  width: number;
  height: number;
  scale: number;
  /** Where the plane's origin is. */
  x0: number;
  y0: number;
}

const MARGIN = 20;
const LOWEST = 240;
const HIGHEST = 560;

/** The largest scale at which all points fit into `width`, no higher than a screen. */
export function mapLayout(points: Point[], width: number): MapLayout {
  const range = (values: number[]): [number, number] =>
    values.length ? [Math.min(...values), Math.max(...values)] : [0, 0];
  const [left, right] = range(points.map(({ x }) => x));
  const [low, high] = range(points.map(({ y }) => y));
  const room = Math.max(1, width - 2 * MARGIN);
  const across = right - left || high - low || 1;
  const up = high - low;
  const height = Math.max(LOWEST, Math.min(HIGHEST, width, (room * up) / across + 2 * MARGIN));
  const scale = Math.min(room / across, up ? (height - 2 * MARGIN) / up : Number.POSITIVE_INFINITY);
  const x0 = width / 2 - (scale * (left + right)) / 2;
  // The plane's y points up.
  const y0 = height / 2 + (scale * (low + high)) / 2;
  return { width, height, scale, x0, y0 };
}

/** Points in pixels of the canvas. */
export const toCanvas = ({ scale, x0, y0 }: MapLayout, points: Point[]): Point[] =>
  points.map((point) => ({ ...point, x: x0 + scale * point.x, y: y0 - scale * point.y }));

const REACH = 14;

/** The point nearest to a place, if it is within reach. */
export function pointAt(points: Point[], x: number, y: number): Point | undefined {
  let best: Point | undefined;
  let least = REACH ** 2;
  for (const point of points) {
    const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
    if (distance < least) [best, least] = [point, distance];
  }
  return best;
}

/** Two opposite corners. */
export interface Rectangle {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

export const within = (points: Point[], { x0, y0, x1, y1 }: Rectangle): Point[] =>
  points.filter(
    ({ x, y }) =>
      x >= Math.min(x0, x1) &&
      x <= Math.max(x0, x1) &&
      y >= Math.min(y0, y1) &&
      y <= Math.max(y0, y1),
  );

const WAYS: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/**
 * The point that a key moves to: arrows to the nearest one in their direction, the other keys in the order of heads,
 * so that every head can be reached. Undefined for other keys.
 */
export function movedPoint(key: string, points: Point[], from: Point): Point | undefined {
  const index = points.findIndex(({ head }) => sameHead(head, from.head));
  if (key === "Home") return points[0];
  if (key === "End") return points.at(-1);
  if (key === "PageDown") return points[Math.min(points.length - 1, index + 1)];
  if (key === "PageUp") return points[Math.max(0, index - 1)];
  const way = WAYS[key];
  if (!way) return undefined;
  let best = index;
  let least = Number.POSITIVE_INFINITY;
  for (const [i, point] of points.entries()) {
    const [dx, dy] = [point.x - from.x, point.y - from.y];
    const away = Math.hypot(dx, dy);
    const ahead = dx * way[0] + dy * way[1];
    // Heads in one place are told apart by their order, or some of them could not be reached.
    const forward = away === 0 ? (i - index) * (way[0] + way[1]) > 0 : ahead > 0;
    // A head straight ahead costs its distance, one at 45 degrees twice that, one further to the side much more.
    const cost = away === 0 ? 0 : away * (away / ahead) ** 2;
    const nearer = cost < least || (cost === least && Math.abs(i - index) < Math.abs(best - index));
    if (forward && nearer) [best, least] = [i, cost];
  }
  return points[best];
}
