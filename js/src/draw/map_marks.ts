import palette from "./palette.json" with { type: "json" };

/**
 * First layer to last, away from the background: every step can be read as a number (4.5:1). Weights have a scale of
 * their own; these hues keep the two apart.
 */
const of = (dark: boolean) => (dark ? palette.dark : palette.light);
const channels = (hex = "#000000") =>
  [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as [number, number, number];

/** The colour of layer `layer` of `count`. */
export function layerColour(dark: boolean, layer: number, count: number): string {
  const anchors = of(dark).layers;
  const at = (count > 1 ? layer / (count - 1) : 0) * (anchors.length - 1);
  const low = Math.min(Math.floor(at), anchors.length - 2);
  const [from, to] = [channels(anchors[low]), channels(anchors[low + 1])];
  const mixed = from.map((channel, i) =>
    Math.round(channel + ((to[i] ?? 0) - channel) * (at - low)),
  );
  return `rgb(${mixed.join(" ")})`;
}

export type Shape =
  | "circle"
  | "square"
  | "triangle"
  | "diamond"
  | "wedge"
  | "plus"
  | "cross"
  | "star"
  | "ring";
const SHAPES: Shape[] = [
  "circle",
  "square",
  "triangle",
  "diamond",
  "wedge",
  "plus",
  "cross",
  "star",
];

/** Colour and shape of a behaviour: pairs repeat after 24 slots only. */
export const groupColour = (dark: boolean, slot: number): string => {
  const { series, rest } = of(dark);
  return slot < 0 ? rest : (series[slot % series.length] ?? rest);
};
export const groupShape = (slot: number): Shape =>
  slot < 0 ? "ring" : (SHAPES[slot % SHAPES.length] ?? "circle");

/** Corners on a circle of radius 1, from angle `start` (turns, clockwise from the top). */
const regular = (count: number, start = 0) =>
  Array.from({ length: count }, (_, i): [number, number] => {
    const angle = 2 * Math.PI * (start + i / count);
    return [Math.sin(angle), -Math.cos(angle)];
  });
const [ARM, TIP] = [0.38, 1.1];
const PLUS: [number, number][] = [
  [-ARM, -TIP],
  [ARM, -TIP],
  [ARM, -ARM],
  [TIP, -ARM],
  [TIP, ARM],
  [ARM, ARM],
  [ARM, TIP],
  [-ARM, TIP],
  [-ARM, ARM],
  [-TIP, ARM],
  [-TIP, -ARM],
  [-ARM, -ARM],
];
const turn = ([x, y]: [number, number]): [number, number] => [
  (x - y) * Math.SQRT1_2,
  (x + y) * Math.SQRT1_2,
];
/** Corners in units of the radius, so large that all shapes cover like areas. */
const CORNERS: Partial<Record<Shape, [number, number][]>> = {
  square: regular(4, 1 / 8).map(([x, y]) => [1.25 * x, 1.25 * y]),
  triangle: regular(3).map(([x, y]) => [1.4 * x, 1.4 * y + 0.25]),
  diamond: regular(4).map(([x, y]) => [1.3 * x, 1.3 * y]),
  wedge: regular(3, 1 / 2).map(([x, y]) => [1.4 * x, 1.4 * y - 0.25]),
  plus: PLUS,
  cross: PLUS.map(turn),
  star: regular(10).map(([x, y], i) => (i % 2 ? [0.6 * x, 0.6 * y] : [1.4 * x, 1.4 * y])),
};

/** Draw a shape of about `radius` round a point, in the colour that is set. */
export function drawShape(
  context: CanvasRenderingContext2D,
  shape: Shape,
  x: number,
  y: number,
  radius: number,
): void {
  context.beginPath();
  const corners = CORNERS[shape];
  if (corners) {
    for (const [dx, dy] of corners) context.lineTo(x + radius * dx, y + radius * dy);
    context.closePath();
  } else context.arc(x, y, shape === "ring" ? 0.75 * radius : radius, 0, 2 * Math.PI);
  if (shape !== "ring") context.fill();
  else {
    context.lineWidth = 1.5;
    context.stroke();
  }
}
