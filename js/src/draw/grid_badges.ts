import type { MetricState } from "../model/head_types.js";
import type { Theme } from "../model/theme.js";
import { corner, type GridLayout, hasText } from "./grid_layout.js";
import { figures, headIn, type Metric, type Order, passes } from "./grid_order.js";
import type { Measure } from "./labels.js";

/** Weights, selection and metrics each have a colour of their own. */
export const metricColour = (dark: boolean) => (dark ? "#00a87b" : "#008060");

/** The two ends of the bars: 0 and the farthest value, or both farthest ones where signs differ. */
export const barRange = ({ low, high }: Metric): [number, number] => [
  Math.min(0, low),
  Math.max(0, high),
];

/** Room between two texts, in a cell and from one cell to the next. */
const TEXT_GAP = 4;

/** Numbers of a metric under each other: as many decimals as its largest value needs for `digits` digits. */
export function decimals({ low, high }: Metric, digits: number): (x: number) => string {
  const largest = Math.max(Math.abs(low), Math.abs(high));
  const places = digits - 1 - Math.floor(Math.log10(largest || 1));
  if (places > 5 || places < -2) return (x) => figures(Number(x.toPrecision(digits)));
  return (x) =>
    x
      .toFixed(Math.max(0, places))
      .replace(/^-(?=.*[1-9])/, "−")
      .replace("-", "");
}

/**
 * Name and number under each cell, in the longest spelling that fits under all of them: numbers lose a digit first, then
 * names their letters, then the numbers go. Names are only needed where the order does not tell them.
 */
export function badgeTexts(
  order: Order,
  metric: Metric,
  width: number,
  measure: Measure,
): [name: string, number: string][] {
  const spell = (make: (layer: number, head: number, value: number) => string) =>
    order.heads.map((i) =>
      i < 0 ? "" : make(Math.floor(i / order.cols), i % order.cols, metric.values[i] ?? 0),
    );
  const none = spell(() => "");
  const names = {
    none: [none],
    rows: [spell((_, head) => `H${head}`)],
    all: [spell((layer, head) => `L${layer} H${head}`), spell((layer, head) => `${layer}·${head}`)],
  }[order.sort];
  const numbers = [3, 2].map((digits) => {
    const print = decimals(metric, digits);
    return spell((_, __, value) => print(value));
  });
  const room = width - TEXT_GAP / 2;
  const fit = (name: string[], number: string[]) =>
    name.every((text, i) => {
      const other = number[i] ?? "";
      return measure(text) + measure(other) + (text && other ? TEXT_GAP : 0) <= room;
    });
  for (const name of names)
    for (const number of numbers) if (fit(name, number)) return pairs(name, number);
  return pairs(names.find((name) => fit(name, none)) ?? names.at(-1) ?? none, none);
}

const pairs = (names: string[], numbers: string[]) =>
  names.map((name, i): [string, string] => [name, numbers[i] ?? ""]);

/** A bar under each cell for its metric, its texts, and a veil over heads outside the filter. */
export function drawBadges(
  context: CanvasRenderingContext2D,
  layout: GridLayout,
  theme: Theme,
  order: Order,
  metric: Metric,
  filter: MetricState["filter"],
  family: string,
): void {
  const { cell } = layout;
  const [low, high] = barRange(metric);
  const at = (value: number) => (high > low ? ((value - low) / (high - low)) * cell : 0);
  context.font = `10px ${family}`;
  const measure = (text: string) => context.measureText(text).width;
  const texts = hasText(layout) ? badgeTexts(order, metric, cell, measure) : [];
  for (const [i, head] of order.heads.entries()) {
    const place = [Math.floor(i / order.cols), i % order.cols] as const;
    if (!headIn(order, place)) continue;
    const [x, y] = corner(layout, place);
    const value = metric.values[head] ?? 0;
    context.fillStyle = theme.hairline;
    context.fillRect(x, y + cell + 2, cell, 3);
    context.fillStyle = metricColour(theme.dark);
    const [from, to] = [at(Math.min(0, value)), at(Math.max(0, value))];
    context.fillRect(x + from, y + cell + 2, Math.max(to - from, 0.5), 3);
    const isIn = passes(value, filter);
    if (!isIn) {
      context.fillStyle = theme.background;
      context.globalAlpha = 0.8;
      context.fillRect(x, y, cell, cell + 5);
      context.globalAlpha = 1;
    }
    const [name, number] = texts[i] ?? ["", ""];
    context.textAlign = "left";
    context.fillStyle = isIn ? theme.text : theme.muted;
    context.fillText(name, x + 1, y + cell + 12);
    context.textAlign = "right";
    context.fillStyle = isIn && !name ? theme.text : theme.muted;
    context.fillText(number, x + cell - 1, y + cell + 12);
  }
}
