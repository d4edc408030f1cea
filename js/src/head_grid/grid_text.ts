import { ALL_HIDDEN, type Caption, caption, headNames, MERGED, SCALE_WORDS, type Table } from "../shared/caption.js";
import type { Cell } from "../shared/cells.js";
import { barTexts } from "../shared/colour_bar.js";
import type { MetricState } from "../shared/head_types.js";
import { labelOf, specialName } from "../shared/labels.js";
import { counted, figures } from "../shared/numbers.js";
import { printValue, quantityName, symbolOf } from "../shared/quantity.js";
import type { Axes, Axis, Head, Special } from "../shared/types.js";
import type { SmallMaps } from "./grid_pixels.js";
import { barRange, type Metric, type Order, orderHeads, passes } from "./head_order.js";
import type { Scene } from "./scene.js";
import type { GridState } from "./state.js";

/** Rows of the table beside a picture. */
const MOST_ROWS = 20;

/** The pair of a head's largest value; undefined where nothing is left to see. */
export function strongest(maps: SmallMaps, axes: Axes, [row, col]: Cell) {
  const head = row * maps.cols + col;
  const weight = maps.maxima[head] ?? 0;
  const [query = -1, key = -1] = maps.strongest.subarray(2 * head);
  if (!(weight > 0) || !(query in axes.query.text) || !(key in axes.key.text)) return undefined;
  return {
    query: labelOf(axes.query, query),
    key: labelOf(axes.key, key),
    weight: printValue(maps.quantity)(weight),
  };
}

/** A head in words, for assistive technology. */
export function describe(head: Cell | undefined, pair: ReturnType<typeof strongest>, metric: string, selected: boolean) {
  if (!head) return "no head: filtered out";
  const most = pair && `strongest ${pair.query} to ${pair.key} ${pair.weight}`;
  const parts = [`layer ${head[0]} head ${head[1]}`, metric, most, selected && "selected"];
  return parts.filter(Boolean).join(", ");
}

/** The chosen metric of one head, in words. */
export function metricText(metric: Metric | undefined, head: Cell, heads: number): string {
  const value = metric?.values[head[0] * heads + head[1]];
  return metric && value !== undefined ? `${metric.title} ${figures(value)}` : "";
}

/** What a caption says of the metric: its bars, the order and the filter. */
function metricNotes(metric: Metric, order: Order, state: MetricState): string[] {
  const { filter, outside, descending } = state;
  const [low, high] = barRange(metric);
  const notes = [`bars: ${metric.title}, ${figures(low)} to ${figures(high)}`];
  const sorted = { none: "", rows: "heads of each layer", all: "all heads" }[order.sort];
  if (sorted) notes.push(`${sorted} by ${metric.title}, ${descending ? "largest" : "smallest"} first`);
  if (filter) {
    const kept = metric.values.reduce((n, value) => n + (passes(value, filter) ? 1 : 0), 0);
    const [from, to] = filter.map(figures);
    const others = `the others ${outside === "dim" ? "dimmed" : "removed"}`;
    notes.push(`${kept} of ${metric.values.length} heads have ${from} to ${to}, ${others}`);
  }
  return notes;
}

/** The values under the colour bar, and what stands beside it. */
export function legendOf({ scale, shared_scale: shared }: GridState, maps: SmallMaps | null) {
  const quantity = maps?.quantity ?? "weights";
  const maximum = maps?.maximum ?? 1;
  const print = printValue(quantity);
  const words = (range: string) => [symbolOf(quantity), scale, range].filter(Boolean).join(" · ");
  if (shared)
    return {
      texts: barTexts(scale, maximum, print),
      words: words(`shared, max ${print(maximum)}`),
    };
  // Without a common maximum the scale is in parts of each head's own.
  const [low, middle] = barTexts(scale, 100);
  const texts: [string, string, string] = [low === "0" ? low : `${low} %`, `${middle} %`, "head max"];
  return { texts, words: words("per head") };
}

/** What the grid shows, and what was left out, merged or made smaller. */
export function captionOf(scene: Scene): Caption {
  const { state, maps, stack, metric, order, bands } = scene;
  const { hidden, _source: source, _axes: axes } = state;
  const maximum = printValue(maps?.quantity ?? "weights")(maps?.maximum ?? 1);
  const range = state.shared_scale ? `0 to ${maximum}, shared by all heads` : "per head";
  const names = hidden.map((kind) => specialName(axes, kind) ?? kind).join(", ");
  const quantity = [quantityName(state.quantity, source.loss), lengths(scene)];
  return caption(`All heads, ${stack?.name === "self" ? "self-" : `${stack?.name} `}attention`, {
    model: source.model,
    head: headNames(state.selected),
    quantity: quantity.filter(Boolean).join(" · "),
    scale: `${SCALE_WORDS[state.scale]} colour scale, ${range}`,
    notes: [
      names && `${names} hidden`,
      state.unit === "words" ? MERGED : "",
      pooled(scene),
      ...(metric ? metricNotes(metric, order, state) : []),
      bands ? `bands: heads that share keys (${bands})` : "",
      source.note,
    ],
  });
}

/** "15 tokens", "12 × 15 words". */
function lengths({ state: { _axes: axes }, stack }: Scene): string {
  if (!axes.query) return "";
  const [n, m] = [axes.query.text.length, axes.key.text.length];
  return stack?.name === "cross" || n !== m ? `${n} × ${m} ${axes.unit}` : counted(n, axes.unit.slice(0, -1));
}

/** What becomes of more tokens than a thumbnail has cells. */
function pooled({ maps, state: { _axes: axes, hidden } }: Scene): string {
  if (!maps || !axes.query) return "";
  const { height, width } = maps;
  if (height * width === 0) return ALL_HIDDEN;
  const kept = ({ special }: Axis) => special.filter((kind) => !hidden.includes(kind as Special)).length;
  const smaller = kept(axes.query) > height || kept(axes.key) > width;
  return smaller ? `shown as ${height} × ${width} block maxima` : "";
}

/** The selected heads, then the first ones in the order of the metric, or of the largest values. */
export function tableOf({ state, maps, metric }: Scene): Table {
  const columns = [
    ...["head", "selected", ...(metric ? [metric.title] : [])],
    ...[`largest ${state.quantity.slice(0, -1)}`, "from → to"],
  ];
  if (!maps) return { columns, rows: [] };
  const { rows, cols, maxima } = maps;
  const chosen = state.selected.flatMap(([layer, head, stack]) =>
    stack === maps.stack && layer < rows && head < cols ? [layer * cols + head] : [],
  );
  const others = metric
    ? orderHeads(rows, cols, metric, { ...state, sort: "all", outside: "remove" }).heads
    : [...maxima.keys()].sort((a, b) => (maxima[b] ?? 0) - (maxima[a] ?? 0));
  const picked = [...new Set([...chosen, ...others.filter((head) => head >= 0)])];
  const listed = picked.slice(0, MOST_ROWS);
  const print = printValue(maps.quantity, Math.max(...listed.map((i) => maxima[i] ?? 0)));
  return {
    columns,
    rows: listed.map((i) => {
      const head: Head = [Math.floor(i / cols), i % cols, maps.stack];
      const most = strongest(maps, state._axes, [head[0], head[1]]);
      return [
        ...[headNames([head]), chosen.includes(i) ? "yes" : ""],
        ...(metric ? [figures(metric.values[i] ?? 0)] : []),
        print(maxima[i] ?? 0),
        most ? `${most.query} → ${most.key}` : "",
      ];
    }),
  };
}
