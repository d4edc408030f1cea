import type { Cell } from "../shared/cells.js";
import type { Metrics } from "../shared/head_types.js";
import { asFloat32 } from "../shared/wire.js";
import type { GridState } from "./state.js";

/** Traits of a figure that shows one metric with all heads. */
export interface MetricState {
  metric: string | null;
  sort: "none" | "rows" | "all";
  descending: boolean;
  filter: [low: number, high: number] | null;
  _metrics: Metrics | null;
}

/** Selected metric of the shown stack, layer by layer. */
export interface Metric {
  title: string;
  values: Float32Array;
  low: number;
  high: number;
}

/**
 * Return the selected metric; undefined if none is selected or the shown stack does not have it.
 */
export function chosenMetric({
  _metrics: metrics,
  metric: title,
  stack,
}: Pick<GridState, "_metrics" | "metric" | "stack">): Metric | undefined {
  const index = title === null ? -1 : (metrics?.titles.indexOf(title) ?? -1);
  if (!metrics || title === null || index < 0 || metrics.stack !== stack) return undefined;
  const [, layers = 0, heads = 0] = metrics.values.shape;
  const count = layers * heads;
  const values = asFloat32(metrics.values).subarray(index * count, (index + 1) * count);
  // Layers without attention have no values.
  const measured = values.filter((value) => !Number.isNaN(value));
  // All checkpoints share a range, so that their bars can be compared.
  const [low, high] = metrics.ranges?.[index] ?? [Math.min(...measured), Math.max(...measured)];
  return { title, values, low, high };
}

/** Return whether a value passes the filter. Python compares in float32 as well. */
export function passes(value: number, filter: MetricState["filter"]): boolean {
  return !filter || (value >= Math.fround(filter[0]) && value <= Math.fround(filter[1]));
}

/** Assignment of heads to cells. */
export interface Order {
  sort: MetricState["sort"];
  rows: number;
  cols: number;
  /** Head of each cell as layer * heads + head; -1 for an empty cell. */
  heads: number[];
  /** Number of heads per layer, if each column is a layer. */
  perLayer?: number;
}

type Wish = Pick<MetricState, "sort" | "descending">;

/**
 * Return the heads in their cells, sorted as requested with a stable order. Layers in `without`
 * have no heads.
 */
export function orderHeads(
  layers: number,
  cols: number,
  metric: Metric | undefined,
  wish: Wish,
  without: number[] = [],
): Order {
  const all = Array.from({ length: layers * cols }, (_, i) => i);
  const exists = (head: number) => !without.includes(Math.floor(head / cols));
  const sort = metric ? wish.sort : "none";
  if (!metric || sort === "none")
    return { sort, rows: layers, cols, heads: all.map((head) => (exists(head) ? head : -1)) };
  const value = (head: number) => metric.values[head] ?? 0;
  const sign = wish.descending ? -1 : 1;
  const sorted = (heads: number[]) =>
    heads.filter(exists).sort((a, b) => sign * (value(a) - value(b)) || a - b);
  const groups =
    sort === "all"
      ? [all]
      : Array.from({ length: layers }, (_, row) => all.slice(row * cols, (row + 1) * cols));
  const heads = groups.flatMap((group) => {
    const kept = sorted(group);
    const cells = Math.ceil(kept.length / cols || (sort === "rows" ? 1 : 0)) * cols;
    return [...kept, ...new Array<number>(cells - kept.length).fill(-1)];
  });
  return { sort, rows: heads.length / cols, cols, heads };
}

/** Return the same heads with layers as columns; sorted heads keep their order. */
export function flipped(order: Order): Order {
  const { sort, rows, cols, heads } = order;
  if (sort !== "none") return order;
  const turned = Array.from({ length: rows * cols }, (_, i) => {
    const [head, layer] = [Math.floor(i / rows), i % rows];
    return heads[layer * cols + head] ?? -1;
  });
  return { sort, rows: cols, cols: rows, heads: turned, perLayer: cols };
}

/** Return the head in a cell as [layer, head]; undefined for an empty cell. */
export function headIn({ heads, cols, perLayer }: Order, [row, col]: Cell): Cell | undefined {
  const head = heads[row * cols + col] ?? -1;
  const count = perLayer ?? cols;
  return head < 0 ? undefined : [Math.floor(head / count), head % count];
}

/** Return the cell of a head; undefined if its layer has none. */
export function cellOf({ heads, cols, perLayer }: Order, [layer, head]: Cell): Cell | undefined {
  const index = heads.indexOf(layer * (perLayer ?? cols) + head);
  return index < 0 ? undefined : [Math.floor(index / cols), index % cols];
}

/** Return the ends of the bars' range, which includes 0. */
export const barRange = ({ low, high }: Metric): [number, number] => [
  Math.min(0, low),
  Math.max(0, high),
];
