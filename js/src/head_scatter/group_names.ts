import { clamp } from "../shared/clamp.js";
import { LABEL_SIZE, labelFont, shorten, tableRuler } from "../shared/labels.js";
import { boxAround, type Edges, meets } from "./head_numbers.js";
import type { MapLayout, Point } from "./map_points.js";

/** Name of a behavior, printed near most of its heads. */
export interface GroupName {
  text: string;
  slot: number;
  /** Center of the name in pixels of the map. */
  x: number;
  y: number;
  /** Region of the name on the map. */
  box: Edges;
}

/**
 * Share of a group's heads, nearest to its medoid, that determine its position: outliers are
 * ignored.
 */
const CORE = 0.6;
const LONGEST = 160;
const HEIGHT = 16;
/** Size and number of steps, to each side of the core, of the candidate positions. */
const STEP = 12;
const STEPS = 10;
/**
 * Cost of a position: per head under the name, per head of another group next to it, per other
 * name.
 */
const COST = { covered: 400, others: 12, name: 1e6 };
const NEAR = 14;

/**
 * Return the positions of the names: next to the core of their group, over as few heads as
 * possible, and never over another name. Widths come from the table on pages too, so that pictures
 * and pages have the names at the same positions.
 */
export function groupNames(
  points: Point[],
  groups: { name: string; slot: number }[],
  layout: MapLayout,
  radius: number,
  taken: Edges[] = [],
): GroupName[] {
  const measure = tableRuler(labelFont("", true, LABEL_SIZE));
  const members = groups.map((_, i) => points.filter(({ group }) => group === i));
  const named = groups
    .map(({ name, slot }, i) => ({ name, slot, own: members[i] ?? [] }))
    // Gray heads form no group.
    .filter(({ slot, own }) => slot >= 0 && own.length > 0)
    .sort((a, b) => b.own.length - a.own.length);
  const boxes = [...taken];
  return named.map(({ name, slot, own }) => {
    const text = shorten(measure, name, Math.min(LONGEST, layout.width));
    const width = measure(text);
    const core = coreOf(own);
    const middle = { x: mean(core.map(({ x }) => x)), y: mean(core.map(({ y }) => y)) };
    let best = { cost: Number.POSITIVE_INFINITY, x: middle.x, y: middle.y };
    for (let i = -STEPS; i <= STEPS; i++)
      for (let j = -STEPS; j <= STEPS; j++) {
        const x = clamp(middle.x + i * STEP, width / 2, layout.width - width / 2);
        const y = clamp(middle.y + j * STEP, HEIGHT / 2, layout.height - HEIGHT / 2);
        const box = boxAround({ x, y }, width / 2, HEIGHT / 2);
        const cost =
          costOf(box, { points, own, core, radius, boxes }) +
          Math.hypot(x - middle.x, y - middle.y) / 4;
        if (cost < best.cost) best = { cost, x, y };
      }
    const { x, y } = best;
    const box = boxAround(best, width / 2, HEIGHT / 2);
    boxes.push(box);
    return { text, slot, x, y, box };
  });
}

/** Return the heads around the medoid, which is the head nearest to all heads of the group. */
function coreOf(points: Point[]): Point[] {
  const away = (to: Point) =>
    points.reduce((sum, { x, y }) => sum + Math.hypot(x - to.x, y - to.y), 0);
  const middle = points.reduce((best, point) => (away(point) < away(best) ? point : best));
  const nearest = [...points].sort((a, b) => distance(a, middle) - distance(b, middle));
  return nearest.slice(0, Math.max(2, Math.round(CORE * points.length)));
}

const distance = (a: Point, b: Point) => Math.hypot(a.x - b.x, a.y - b.y);
const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Return the distance from a point to a box; 0 inside. */
const outside = ({ x, y }: Point, { x0, y0, x1, y1 }: Edges) =>
  Math.hypot(Math.max(x0 - x, 0, x - x1), Math.max(y0 - y, 0, y - y1));

function costOf(
  box: Edges,
  {
    points,
    own,
    core,
    radius,
    boxes,
  }: { points: Point[]; own: Point[]; core: Point[]; radius: number; boxes: Edges[] },
): number {
  const mine = own[0]?.group;
  let cost = Math.min(...core.map((point) => outside(point, box)));
  for (const point of points) {
    const away = outside(point, box) - radius;
    if (away < 0) cost += COST.covered;
    else if (away < NEAR && point.group !== mine) cost += COST.others;
  }
  return cost + COST.name * boxes.filter((other) => meets(box, other)).length;
}
