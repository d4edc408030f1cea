import { clamp } from "../shared/clamp.js";
import { labelOfHead } from "../shared/head_names.js";
import { LABEL_SIZE, labelFont, tableRuler } from "../shared/labels.js";
import type { HeadLabel } from "../shared/types.js";
import type { MapLayout, Point } from "./map_points.js";
import type { MapScene } from "./scene.js";

export const NUMBER_SIZE = 10;

/** Text next to a head: its number or its label. */
export interface HeadText {
  text: string;
  /** Whether the text is a label that the user gave to the head. */
  isLabel: boolean;
  /** Left end and vertical center of the line. */
  x: number;
  y: number;
}

export interface Edges {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

const GAP = 3;
const LABEL_GAP = 4;
/** Return whether two boxes overlap. */
export const meets = (a: Edges, b: Edges) =>
  a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;

/**
 * Return the label or the number of each head that has room for it next to its mark. No text covers
 * a mark, another text or a `taken` box. Labels have priority. The name of the shown head, the last
 * of `selected`, is drawn elsewhere. Widths come from the table on pages too, so that pictures and
 * pages have the texts at the same positions.
 * If `byLayer`, marks are layer numbers followed by the number of the head: "3" and "·7".
 */
export function headTexts(
  points: Point[],
  of: {
    labels: HeadLabel[];
    byLayer: boolean;
    layout: MapLayout;
    size: { text: number; radius: number; ring: number };
    selected: Point[];
    taken: Edges[];
  },
): HeadText[] {
  const { labels, byLayer, layout, size, selected, taken } = of;
  const number = tableRuler(labelFont("", true, size.text));
  const rings = new Set(selected);
  const half = (point: Point) =>
    rings.has(point) ? size.ring : byLayer ? number(String(point.head[0])) / 2 : size.radius;
  const marks = points.map((point): Edges => {
    const across = half(point);
    const down = rings.has(point) ? size.ring : byLayer ? size.text / 2 : size.radius;
    return boxAround(point, across, down);
  });
  const texts: HeadText[] = [];
  const boxes = [...taken];
  const named = new Set(selected.slice(-1));
  const place = (point: Point, text: string, isLabel: boolean) => {
    const height = isLabel ? LABEL_SIZE : NUMBER_SIZE;
    const width = tableRuler(labelFont("", false, height))(text);
    const joins = byLayer && !isLabel && !rings.has(point);
    const away = half(point) + (joins ? 0 : isLabel ? LABEL_GAP : GAP);
    const [right, ...others] = placesBeside(point, away, width, height);
    // The number of a head must follow the number of its layer.
    const places = isLabel || !byLayer ? [right, ...others] : [right];
    const box = places.find(
      (place): place is Edges =>
        place !== undefined &&
        isWithin(place, layout) &&
        !boxes.some((other) => meets(place, other)) &&
        !marks.some((mark, i) => points[i] !== point && meets(place, mark)),
    );
    if (!box) return;
    boxes.push(box);
    texts.push({ text, isLabel, x: box.x0, y: (box.y0 + box.y1) / 2 });
    named.add(point);
  };
  for (const point of points) {
    const label = labelOfHead(point.head, labels);
    if (label && !named.has(point)) place(point, label, true);
  }
  for (const point of points) {
    const [layer, head] = point.head;
    if (!named.has(point)) place(point, byLayer ? `·${head}` : `${layer}·${head}`, false);
  }
  return texts;
}

/** Padding around the name of a head, and its height. */
export const NAME = { pad: 4, height: 16 };

/**
 * Return the box of a head's name, `away` from the head and inside the map, over as few heads as
 * possible.
 */
export function nameBox(
  name: string,
  point: Point,
  away: number,
  { points, layout, size, selected }: Pick<MapScene, "points" | "layout" | "size" | "selected">,
): Edges {
  const width = tableRuler(labelFont("", false, LABEL_SIZE))(name) + 2 * NAME.pad;
  const { height } = NAME;
  const beside = placesBeside(point, away, width, height);
  const places = [away, 0, -away].flatMap((up) =>
    beside.map(({ x0, y0 }) => {
      const x = clamp(x0, 0, layout.width - width);
      return boxAt(x, clamp(y0 - up, 0, layout.height - height), width, height);
    }),
  );
  const covered = (box: Edges) =>
    points.filter((other) => {
      const reach = selected.includes(other) ? size.ring : size.text / 2;
      return meets(box, boxAround(other, reach, reach));
    }).length;
  return places.reduce((best, place) => (covered(place) < covered(best) ? place : best));
}

const boxAt = (x0: number, y0: number, width: number, height: number): Edges => ({
  x0,
  y0,
  x1: x0 + width,
  y1: y0 + height,
});

/** Return the box around a point with these half sizes. */
export const boxAround = ({ x, y }: Pick<Point, "x" | "y">, across: number, down: number): Edges =>
  boxAt(x - across, y - down, 2 * across, 2 * down);

/** Return boxes to the right of a point, to its left, above it and below it. */
function placesBeside({ x, y }: Point, away: number, width: number, height: number): Edges[] {
  const top = y - height / 2;
  return [
    boxAt(x + away, top, width, height),
    boxAt(x - away - width, top, width, height),
    boxAt(x - width / 2, y - away - height, width, height),
    boxAt(x - width / 2, y + away, width, height),
  ];
}

const isWithin = ({ x0, y0, x1, y1 }: Edges, { width, height }: MapLayout) =>
  x0 >= 0 && y0 >= 0 && x1 <= width && y1 <= height;
