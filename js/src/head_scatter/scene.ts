import { type Caption, caption, headNames, type Table } from "../shared/caption.js";
import { labelOfHead, shortName } from "../shared/head_names.js";
import { inLine } from "../shared/in_line.js";
import type { Look } from "../shared/mount.js";
import { counted } from "../shared/numbers.js";
import type { Theme } from "../shared/theme.js";
import { type HeadLabel, sameHead } from "../shared/types.js";
import { asFloat32, asInt32 } from "../shared/wire.js";
import { type GroupName, groupNames } from "./group_names.js";
import { type HeadText, headTexts, nameBox } from "./head_numbers.js";
import type { MapLayout, Point } from "./map_points.js";
import type { MapState, PlacedHeads } from "./state.js";

/**
 * Return all heads with a position, layer by layer. Heads of layers without attention have none.
 */
export function decodePoints(heads: PlacedHeads): Point[] {
  const [layers = 0, perLayer = 0] = heads.positions.shape;
  const positions = asFloat32(heads.positions);
  const group = asInt32(heads.group);
  const points = Array.from(
    { length: layers * perLayer },
    (_, i): Point => ({
      head: [Math.floor(i / perLayer), i % perLayer, heads.stack],
      x: positions[2 * i] ?? 0,
      y: positions[2 * i + 1] ?? 0,
      group: group[i] ?? 0,
    }),
  );
  return points.filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y));
}

const MARGIN = 20;
const LOWEST = 240;
const HIGHEST = 560;

/** Return the layout with the largest scale at which all points fit into `width` and a screen. */
export function mapLayout(points: Point[], width: number): MapLayout {
  const range = (values: number[]): [number, number] =>
    values.length ? [Math.min(...values), Math.max(...values)] : [0, 0];
  const [left, right] = range(points.map(({ x }) => x));
  const [low, high] = range(points.map(({ y }) => y));
  const room = Math.max(1, width - 2 * MARGIN);
  const across = right - left || high - low || 1;
  const up = high - low;
  const wanted = Math.max(LOWEST, Math.min(HIGHEST, width, (room * up) / across + 2 * MARGIN));
  const height = Math.round(wanted);
  const scale = Math.min(room / across, up ? (height - 2 * MARGIN) / up : Number.POSITIVE_INFINITY);
  const x0 = width / 2 - (scale * (left + right)) / 2;
  // The y axis of the plane points up.
  const y0 = height / 2 + (scale * (low + high)) / 2;
  return { width, height, scale, x0, y0 };
}

/** Return the points in pixels of the canvas. */
export const toCanvas = ({ scale, x0, y0 }: MapLayout, points: Point[]): Point[] =>
  points.map((point) => ({ ...point, x: x0 + scale * point.x, y: y0 - scale * point.y }));

const REACH = 14;

/** Return the nearest point within reach of a position. */
export function pointAt(points: Point[], x: number, y: number): Point | undefined {
  let best: Point | undefined;
  let least = REACH ** 2;
  for (const point of points) {
    const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
    if (distance < least) {
      best = point;
      least = distance;
    }
  }
  return best;
}

/** Two opposite corners. */
export type Rectangle = Record<"x0" | "y0" | "x1" | "y1", number>;

export const within = (points: Point[], { x0, y0, x1, y1 }: Rectangle): Point[] =>
  points.filter(({ x, y }) => (x - x0) * (x - x1) <= 0 && (y - y0) * (y - y1) <= 0);

const WAYS: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/**
 * Return the point that a key moves to. Arrows move to the nearest point in their direction; other
 * keys follow the order of heads, so that every head can be reached. Undefined for other keys.
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
    const dx = point.x - from.x;
    const dy = point.y - from.y;
    const away = Math.hypot(dx, dy);
    const ahead = dx * way[0] + dy * way[1];
    // Use the order of heads at equal positions: otherwise some could not be reached.
    const forward = away === 0 ? (i - index) * (way[0] + way[1]) > 0 : ahead > 0;
    // A head straight ahead costs its distance, a head at 45 degrees twice its distance, and heads
    // further to the side much more.
    const cost = away === 0 ? 0 : away * (away / ahead) ** 2;
    const nearer = cost < least || (cost === least && Math.abs(i - index) < Math.abs(best - index));
    if (forward && nearer) {
      best = i;
      least = cost;
    }
  }
  return points[best];
}

/** Width from which the legend is next to the map. */
const WIDE = 704;
export const ASIDE = 224;
const SPACE = 24;
/** Number of heads above which marks are smaller. */
const MANY = 200;
/** Distance, in letter heights, below which numbers may touch. */
const APART = 1.3;

/** Drawing of a state, without the pointer and the keyboard cursor. */
export interface MapScene {
  theme: Theme;
  font: string;
  /** Whether there is room for the legend next to the map. */
  beside: boolean;
  layout: MapLayout;
  /** Points in pixels of the map. */
  points: Point[];
  /** Heads whose numbers overlap the number of an earlier head. */
  touching: Set<Point>;
  /** Selected heads; a view shows the last one. */
  selected: Point[];
  /** Number of layers for the colors if heads have no behaviors, otherwise 0. */
  layers: number;
  labels: HeadLabel[] | undefined;
  /** Numbers and labels of heads, where they cover nothing. */
  texts: HeadText[];
  /** Mark of each behavior. */
  slots: number[];
  /** Names of behaviors on the map. */
  names: GroupName[];
  /** Sizes of letters, marks and rings. */
  size: { text: number; radius: number; ring: number };
}

/** Return the scene of a state. `plane`: Decoded heads of `_heads`. */
export function sceneOf(state: MapState, plane: Point[], look: Look): MapScene {
  const { theme, width: room, font } = look;
  const beside = room >= WIDE;
  const layout = mapLayout(plane, beside ? room - ASIDE - SPACE : room);
  const points = toCanvas(layout, plane);
  const many = points.length > MANY;
  const size = many ? { text: 10, radius: 3.5, ring: 8 } : { text: 12, radius: 5, ring: 10 };
  const groups = groupsOf(state);
  const byLayer = !groups.length;
  const selected = selectedOf(state, points);
  const labels = state.labels ?? [];
  const shown = selected.slice(-1);
  // The name of the shown head is next to it.
  const taken = shown.map((point) =>
    nameBox(shortName(point.head, { labels }), point, size.ring + 2, {
      points,
      layout,
      size,
      selected,
    }),
  );
  const names = groupNames(points, groups, layout, size.radius, taken);
  const texts = headTexts(points, {
    labels,
    byLayer,
    layout,
    size,
    selected,
    taken: [...taken, ...names.map(({ box }) => box)],
  });
  return {
    theme,
    font,
    beside,
    layout,
    points,
    size,
    selected,
    labels,
    touching: touching(points, APART * size.text),
    layers: byLayer ? (state._heads?.positions.shape[0] ?? 1) : 0,
    slots: groups.map(({ slot }) => slot),
    names,
    texts,
  };
}

/** Return the behaviors of the heads. Without behaviors, heads are colored by layer. */
const groupsOf = ({ _heads }: MapState) => _heads?.groups ?? [];

/** Return the selected heads that the map has. */
const selectedOf = ({ selected }: MapState, points: Point[]): Point[] =>
  selected.flatMap((head) => points.find((point) => sameHead(point.head, head)) ?? []);

const touching = (points: Point[], reach: number): Set<Point> =>
  new Set(
    points.filter((point, i) =>
      points.slice(0, i).some(({ x, y }) => (point.x - x) ** 2 + (point.y - y) ** 2 < reach ** 2),
    ),
  );

type Groups = { name: string }[];

export const FIGURE = "Map of attention heads";
export const HINT = "Click a head or drag a rectangle round some.";
/** Number of heads that are written out, in the selection and in a table row. */
const NAMED = 12;

const headsOf = (points: Point[]) => points.map(({ head }) => head);

/** Return the text next to a head: its names and its behavior. */
export function pointLabel({ head, group }: Point, groups: Groups, labels?: HeadLabel[]): string {
  const behavior = groups[group]?.name;
  return inLine([shortName(head, { labels }), behavior]);
}

/** Describe a head for assistive technology. */
export function describePoint(
  point: Point,
  groups: Groups,
  selected: boolean,
  labels?: HeadLabel[],
): string {
  const [layer, head] = point.head;
  const behavior = groups[point.group]?.name;
  return [
    `layer ${layer} head ${head}`,
    labelOfHead(point.head, labels),
    behavior,
    selected && "selected",
  ]
    .filter(Boolean)
    .join(", ");
}

/** Return which heads are selected, or "". */
export function readoutOf(selected: Point[], labels?: HeadLabel[]): string {
  const heads = headsOf(selected);
  if (!heads.length) return "";
  const count = heads.length > 1 ? `${heads.length} heads: ` : "";
  return `selected ${count}${headNames(heads, { most: NAMED, short: true, labels })}`;
}

const stackOf = ({ _heads }: MapState) => (_heads && _heads.stack !== "self" ? _heads.stack : "");

/** Return the model and the stack of the heads. */
export const sourceOf = (state: MapState): string => inLine([state._source.model, stackOf(state)]);

/** Return the caption of the map. */
export function captionOf(state: MapState, points: Point[]): Caption {
  const { model, quantity, note } = state._source;
  const stack = stackOf(state);
  return caption(FIGURE, {
    model,
    quantity,
    head: headNames(headsOf(selectedOf(state, points)), { most: NAMED, labels: state.labels }),
    scale: groupsOf(state).length
      ? "colors and shapes: behaviors, numbers: layer·head"
      : "numbers and colors: layers, small numbers: heads, from 0",
    notes: [stack && `stack: ${stack}`, counted(points.length, "head"), note],
  });
}

/** Return the table of the selected heads, followed by the behaviors or layers with their heads. */
export function tableOf(state: MapState, points: Point[]): Table {
  const rows: Table["rows"] = selectedOf(state, points).map(({ head }) => [
    "selected",
    1,
    headNames([head], state),
  ]);
  const layers = state._heads?.positions.shape[0] ?? 0;
  const behaviors = groupsOf(state).map(({ name }) => name);
  const byLayer = !behaviors.length;
  const groups = byLayer
    ? Array.from({ length: layers }, (_, layer) => `layer ${layer}`)
    : behaviors;
  for (const [i, name] of groups.entries()) {
    const heads = headsOf(points.filter(({ head, group }) => (byLayer ? head[0] : group) === i));
    rows.push([
      name,
      heads.length,
      headNames(heads, { most: NAMED, short: true, labels: state.labels }),
    ]);
  }
  return { columns: ["group", "count", "heads"], rows };
}
