import type { MetricState } from "../model/head_types.js";
import type { Axes, Axis, GridState, Head, Model, Scale, Special } from "../model/types.js";
import { barRange } from "./grid_badges.js";
import type { Cell } from "./grid_layout.js";
import { figures, type Metric, type Order, passes } from "./grid_order.js";
import type { Picture } from "./grid_pixels.js";
import { printValue, quantityNote, symbolOf } from "./quantity.js";

export const SPECIALS: Special[] = ["cls", "sep", "first"];

/** A token as a reader can see it: white space alone shows its spelling in the vocabulary. */
const visible = (axis: Axis, index: number) =>
  axis.text[index]?.trim() || axis.raw[index]?.trim() || "␣";

export interface Strongest {
  query: string;
  key: string;
  weight: string;
}

/** The pair of a head's largest value; undefined where nothing is left to see. */
export function strongest(picture: Picture, axes: Axes, [row, col]: Cell): Strongest | undefined {
  const head = row * picture.cols + col;
  const weight = picture.maxima[head] ?? 0;
  const query = picture.strongest[2 * head] ?? -1;
  const key = picture.strongest[2 * head + 1] ?? -1;
  if (!(weight > 0) || !(query in axes.query.text) || !(key in axes.key.text)) return undefined;
  return {
    query: visible(axes.query, query),
    key: visible(axes.key, key),
    weight: printValue(picture.quantity)(weight),
  };
}

/** A head in words, for assistive technology. */
export function describe(
  head: Cell | undefined,
  pair: Strongest | undefined,
  metric: string,
  selected: boolean,
) {
  if (!head) return "no head: filtered out";
  const parts = [`layer ${head[0]} head ${head[1]}`];
  if (metric) parts.push(metric);
  if (pair) parts.push(`strongest ${pair.query} to ${pair.key} ${pair.weight}`);
  if (selected) parts.push("selected");
  return parts.join(", ");
}

/** What the live region says after the selection changed. */
export function announcement(selected: Head[]): string {
  const last = selected.at(-1);
  if (!last) return "no head selected";
  const where = last[2] === "self" ? "" : `${last[2]} `;
  const count = selected.length > 1 ? `, ${selected.length} heads selected` : " selected";
  return `${where}layer ${last[0]} head ${last[1]}${count}`;
}

/** The chosen metric of one head, in words. */
export function metricText(metric: Metric | undefined, head: Cell, heads: number): string {
  const value = metric?.values[head[0] * heads + head[1]];
  return metric && value !== undefined ? `${metric.title} ${figures(value)}` : "";
}

/** How the heads are sorted, in words. */
export function sortingText(order: Order, metric: Metric | undefined, descending: boolean): string {
  if (order.sort === "none" || !metric) return "";
  return `${metric.title}, ${descending ? "largest" : "smallest"} first →`;
}

/** What a caption says of the metric: its bars, the order and the filter. */
export function metricCaption(
  metric: Metric,
  order: Order,
  { filter, outside, descending }: Pick<MetricState, "filter" | "outside" | "descending">,
): string[] {
  const [low, high] = barRange(metric);
  const parts = [`bars: ${metric.title}, ${figures(low)} to ${figures(high)}`];
  const sorted = { none: "", rows: "heads of each layer", all: "all heads" }[order.sort];
  if (sorted)
    parts.push(`${sorted} by ${metric.title}, ${descending ? "largest" : "smallest"} first`);
  if (filter) {
    const kept = metric.values.reduce((n, value) => n + (passes(value, filter) ? 1 : 0), 0);
    const [from, to] = filter.map(figures);
    const others = outside === "dim" ? "dimmed" : "removed";
    parts.push(
      `${kept} of ${metric.values.length} heads have ${from} to ${to}, the others ${others}`,
    );
  }
  return parts;
}

/** What stands beside the colour bar. */
export function scaleText(scale: Scale, shared: boolean, picture: Picture | null): string {
  const quantity = picture?.quantity ?? "weights";
  const maximum = printValue(quantity)(picture?.maximum ?? 1);
  const range = shared ? `shared, max ${maximum}` : "per head";
  return [symbolOf(quantity), scale, range].filter(Boolean).join(" · ");
}

/** Name of a kind of special token, spelled as the model does: "[CLS]", "<s>". */
export function specialName(axes: Axes, kind: Special): string | undefined {
  for (const axis of [axes.query, axes.key]) {
    const index = axis?.special.indexOf(kind) ?? -1;
    if (index >= 0) return kind === "first" ? "first token" : visible(axis, index);
  }
  return undefined;
}

/** The line under the figure: what is shown, and what was left out, merged or made smaller. */
export function caption(
  model: Model<GridState>,
  picture: Picture | null,
  metric: Metric | undefined,
  order: Order,
): string {
  const source = model.get("_source");
  const stack = model.get("_stacks").find(({ name }) => name === model.get("stack"));
  const axes = model.get("_axes");
  const shared = model.get("shared_scale") ? "shared by all heads" : "per head";
  const parts = [source.model];
  if (stack && stack.name !== "self") parts.push(stack.name);
  if (axes.query) {
    const [n, m] = [axes.query.text.length, axes.key.text.length];
    const counts = stack?.name === "cross" || n !== m ? `${n} × ${m}` : String(n);
    parts.push(`${counts} ${axes.unit}`);
  }
  const quantity = model.get("quantity");
  parts.push(
    quantityNote(quantity, source.loss) || quantity,
    `${model.get("scale")} colour scale ${shared}`,
  );
  const hidden = model.get("hidden").map((kind) => specialName(axes, kind) ?? kind);
  if (hidden.length) parts.push(`${hidden.join(", ")} hidden`);
  if (model.get("unit") === "words")
    parts.push("words: sum over the attended word's tokens, mean over the attending word's");
  if (picture && axes.query) {
    const kept = ({ special }: Axis) =>
      special.filter((kind) => !model.get("hidden").includes(kind as Special)).length;
    const { height, width } = picture;
    if (kept(axes.query) > height || kept(axes.key) > width)
      parts.push(`shown as ${height} × ${width} block maxima`);
  }
  if (metric)
    parts.push(
      ...metricCaption(metric, order, {
        ...{ filter: model.get("filter"), outside: model.get("outside") },
        descending: model.get("descending"),
      }),
    );
  if (stack && stack.n_key_heads < stack.n_heads && order.sort === "none")
    parts.push(`bands: heads that share keys (${stack.n_key_heads})`);
  if (source.note) parts.push(source.note);
  return parts.filter(Boolean).join(" · ");
}
