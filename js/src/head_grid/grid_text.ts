import {
  ALL_HIDDEN,
  type Caption,
  caption,
  headNames,
  MERGED,
  scaleName,
  scaleWords,
  type Table,
} from "../shared/caption.js";
import type { Cell } from "../shared/cells.js";
import { barTexts, strip } from "../shared/color_bar.js";
import { FAMILIES } from "../shared/families.js";
import { shortName } from "../shared/head_names.js";
import { inLine } from "../shared/in_line.js";
import { labelOf, specialName, tokenInQuotes } from "../shared/labels.js";
import { alignedList, counted, figures } from "../shared/numbers.js";
import { shareText } from "../shared/percent_text.js";
import {
  barPrinter,
  columnPrinter,
  differencePrinter,
  printer,
  quantityName,
  signedValue,
  symbolOf,
  tablePrinter,
} from "../shared/quantity.js";
import type { Axes, Axis, Head, Special } from "../shared/types.js";
import { isOneInk, linesIn } from "./answer_paint.js";
import type { SmallMaps } from "./grid_pixels.js";
import { barRange, type Metric, type Order, orderHeads, passes } from "./head_order.js";
import { type PaintedRows, rowsBar } from "./painted_rows.js";
import { colorsOf, type Scene } from "./scene.js";
import type { GridState, OfTwo } from "./state.js";
import { stepNote } from "./training_step.js";

/** Number of rows of the table next to a picture. */
const MOST_ROWS = 20;

/** Name of weights times the number of keys. */
const TIMES_KEYS = "weight × keys";

/** Return the pair with a head's largest value; undefined if no visible value is left. */
export function strongest(maps: SmallMaps, axes: Axes, [row, col]: Cell) {
  const head = row * maps.cols + col;
  const weight = maps.maxima[head] ?? 0;
  const [query = -1, key = -1] = maps.strongest.subarray(2 * head);
  const isMean = maps.row?.of === null;
  if (!(Math.abs(weight) > 0) || !(key in axes.key.text)) return undefined;
  if (!isMean && !(query in axes.query.text)) return undefined;
  return {
    query: isMean ? "mean of all" : labelOf(axes.query, query),
    key: labelOf(axes.key, key),
    weight: printOf(maps)(weight),
  };
}

/**
 * Return the formatter of thumbnail values: differences with a sign, weights times keys as a
 * multiple.
 */
function printOf({ quantity, signed, times_keys }: SmallMaps) {
  const digits = tablePrinter(quantity);
  if (times_keys) return (x: number) => `${digits(x)}×`;
  return (signed ? differencePrinter : printer)(quantity);
}

/** Return the formatter of thumbnail values in one table column. */
function columnPrinterOf({ quantity, signed, times_keys }: SmallMaps, values: number[]) {
  const print = columnPrinter(times_keys ? "multiples" : quantity, values);
  if (times_keys) return (x: number) => `${print(x)}×`;
  return signed ? signedValue(print) : print;
}

/** Return the change of a head after heads were switched off. */
export function editText(
  { off, changes, maps }: Pick<Scene, "off" | "changes" | "maps">,
  [row, col]: Cell,
  print = figures,
): string {
  const head = row * (maps?.cols ?? 0) + col;
  if (off.has(head)) return "off";
  const change = changes?.[head] ?? 0;
  return change > 0 ? `changed ${print(change)}` : "";
}

/** Describe a head for assistive technology. */
export function describe(
  head: Cell | undefined,
  pair: ReturnType<typeof strongest>,
  metric: string,
  selected: boolean,
  edit = "",
  label = "",
) {
  if (!head) return "no head";
  const what = pair && /^[+−]/.test(pair.weight) ? "largest difference" : "strongest";
  const most = pair && `${what} ${pair.query} to ${pair.key} ${pair.weight}`;
  const parts = [
    `layer ${head[0]} head ${head[1]}`,
    label,
    edit,
    metric,
    most,
    selected && "selected",
  ];
  return parts.filter(Boolean).join(", ");
}

/** Relative error of float32 sums, within which values have the same rank. */
const ROUNDING = 1e-6;

/**
 * Return the value of a head and its rank among all heads of the stack. Rank 1 is the largest
 * value.
 */
function rankedText({ values }: Metric, index: number): string {
  const value = values[index] ?? Number.NaN;
  if (Number.isNaN(value)) return "";
  const above = value + ROUNDING * Math.abs(value);
  const larger = values.reduce((n, other) => n + (other > above ? 1 : 0), 0);
  const count = values.reduce((n, other) => n + (Number.isNaN(other) ? 0 : 1), 0);
  return `${figures(value)}, rank ${larger + 1} of ${count}`;
}

/** Describe the selected metric of one head. */
export function metricText(metric: Metric | undefined, head: Cell, heads: number): string {
  const said = metric && rankedText(metric, head[0] * heads + head[1]);
  return said ? `${metric.title} ${said}` : "";
}

/** Return the caption notes about the metric: its bars, the order and the filter. */
function metricNotes(metric: Metric, order: Order, state: GridState): string[] {
  const { filter, descending, _metrics_of: of = "", _source: source } = state;
  const [low, high] = barRange(metric);
  const notes = [`bars: ${metric.title}, ${figures(low)} to ${figures(high)}`];
  const shown = state.selected.at(-1);
  const heads = state._metrics?.values.shape[2] ?? 0;
  const said = shown?.[2] === state.stack ? rankedText(metric, shown[0] * heads + shown[1]) : "";
  if (shown && said) notes.push(`${shortName(shown, state)}: ${said} (1 is the largest)`);
  const own = state._metric_notes?.[metric.title];
  if (own) notes.push(`${metric.title}: ${own}`);
  else if (state._metrics_note) notes.push(`metrics ${state._metrics_note}`);
  const step = stepNote(state);
  if (step) notes.push(step);
  const now = source.edits ?? "";
  if (of !== now) notes.push(`the metric is as given, not measured ${now || "with all heads on"}`);
  const sorted = { none: "", rows: "heads of each layer", all: "all heads" }[order.sort];
  if (sorted)
    notes.push(`${sorted} by ${metric.title}, ${descending ? "largest" : "smallest"} first`);
  if (filter) {
    const kept = metric.values.reduce((n, value) => n + (passes(value, filter) ? 1 : 0), 0);
    const [from, to] = filter.map(figures);
    const share = `${kept} of ${metric.values.length} heads have ${from} to ${to}`;
    notes.push(`${share}, the others dimmed`);
  }
  return notes;
}

/** Return the name of the difference that thumbnails show. */
const differenceName = ({ versus }: GridState) =>
  versus === "other" ? "A − B" : "difference from the intact model";

/** Return which of two compared attentions is shown, or "". */
const comparedName = ({ _compared: names = [], comparison_part: of }: GridState) =>
  names.length && of !== "difference" ? ofTwoText(of, names) : "";

/** Return the name of a choice of maps in a comparison. */
export const ofTwoText = (of: OfTwo, names: string[] = []) =>
  ({ difference: "A − B", first: `A: ${names[0]}`, second: `B: ${names[1]}` })[of];

/** Return the color bar, the values below it, and the text next to it. */
export function legendOf(scene: Scene) {
  const { state } = scene;
  const { maps, scale, end, rows, table } = colorsOf(scene);
  const bar = (rows && rowsBar(rows, scale, end)) ?? strip(table);
  const quantity = maps?.quantity ?? "weights";
  const symbol = maps?.times_keys ? TIMES_KEYS : symbolOf(quantity);
  const isPlain = !maps?.signed && !maps?.times_keys;
  const words = (...range: string[]) =>
    inLine([symbol, scaleName(scale, quantity, isPlain), ...range]);
  if (maps?.signed) {
    const print = printOf(maps);
    const most = end ?? 1;
    const texts: [string, string, string] = [print(-most), "0", print(most)];
    return { bar, texts, words: words(`${differenceName(state)}, one scale for all heads`) };
  }
  if (maps?.times_keys)
    return {
      bar,
      texts: barTexts(scale, end ?? 1, printOf(maps)),
      words: words("one scale for all heads, 1× is even attention"),
    };
  if (end !== null)
    return {
      bar,
      texts: barTexts(scale, end, barPrinter(quantity, scale)),
      words: words(quantity === "weights" ? "" : "one scale for all heads"),
    };
  // Without a common end, the scale is in parts of each head's maximum.
  const [low, middle] = barTexts(scale, 100);
  const texts: [string, string, string] = [
    low === "0" ? low : `${low}\u00a0%`,
    `${middle}\u00a0%`,
    "head max",
  ];
  return { bar, texts, words: words("per head") };
}

/** Return the caption of the grid, with notes on everything that is omitted, merged or reduced. */
export function captionOf(scene: Scene): Caption {
  const { state, stack, metric, order, bands } = scene;
  const { hidden, _source: source, _axes: axes } = state;
  const { maps, scale, end } = colorsOf(scene);
  const most = end ?? 1;
  const print = maps && (maps.signed || most !== 1) ? printOf(maps) : String;
  const isPlain = !maps?.signed && !maps?.times_keys;
  const ofAll = isPlain && state.quantity === "weights" ? "" : ", one scale for all heads";
  const oneSided = end === null ? "per head" : `0 to ${print(most)}${ofAll}`;
  const range = maps?.signed ? `${print(-most)} to ${print(most)}${ofAll}` : oneSided;
  const names = hidden.map((kind) => specialName(axes, kind) ?? kind).join(", ");
  const minus = maps?.signed ? differenceName(state) : comparedName(state);
  const ofMetric = metric ? metricNotes(metric, order, state) : [];
  const times = maps?.times_keys ? "times the keys that the query sees (1× is even attention)" : "";
  const quantity = [quantityName(state.quantity, source.loss), times, minus, lengths(scene)];
  return caption(`All heads, ${stack?.name === "self" ? "self-" : `${stack?.name} `}attention`, {
    model: source.model,
    head: headNames(state.selected, state),
    quantity: inLine(quantity),
    scale: `${scaleWords(scale, state.quantity, isPlain)}, ${range}`,
    notes: [
      names && !scene.look.rows ? `${names} hidden` : "",
      state.unit === "words" ? MERGED : "",
      pooled(scene),
      ...paintedNotes(scene),
      ...editNotes(scene),
      askedNote(scene),
      layersNote(scene),
      scene.families.size ? familyNote(scene) : labelNote(state),
      ...ofMetric,
      bands ? `bands: heads that share keys (${bands})` : "",
      source.note,
    ],
  });
}

/** Return the caption note about cells that answer for locked words instead of showing maps. */
function askedNote({ asked, layout, state: { _axes: axes } }: Scene): string {
  if (!asked) return "";
  const { side, of } = asked.rows;
  const word = tokenInQuotes(axes[side], of);
  if (asked.key !== undefined)
    return (
      `cells: attention from ${word} to ${tokenInQuotes(axes.key, asked.key)} in per cent, ` +
      `bold where no other word gets as much, from 1.5 times an even share on`
    );
  const lines = linesIn(layout);
  if (isOneInk(layout))
    return side === "key"
      ? `cells: the largest share of its attention that a word gives to ${word}`
      : `cells: the largest share that ${word} gives to a word`;
  if (lines === 0)
    return side === "key"
      ? `cells: who looks at ${word}, a column for each word`
      : `cells: where ${word} looks, a column for each word`;
  const share = side === "key" ? "the share of its attention" : "its share";
  const asks = side === "key" ? `who looks at ${word} most` : `where ${word} looks most`;
  return `cells: ${asks}${lines > 1 ? `, with ${share} in per cent` : ""}`;
}

/** Return the caption note about the strongest heads of the layers. */
function layersNote({ heads }: Scene): string {
  if (!heads) return "";
  const place = heads.side === "row" ? "left of each row" : "under each column";
  return `${place}: the strongest head of the layer, from twice an even share and a tenth on`;
}

/** Return the caption notes about rows painted on pictures, and about what the cells leave out. */
function paintedNotes({ asked, look: { rows }, maps, state }: Scene): string[] {
  if (!rows || asked) return [];
  const { _axes: axes } = state;
  const of = rows.of ?? -1;
  const row = rowWords(rows, of < 0 ? "" : tokenInQuotes(axes[rows.side], of));
  const { even } = rows;
  const share = even === undefined ? "" : maps?.times_keys ? "1×" : shareText(even);
  return [
    `cells: ${row}, ${rows.plates.some(({ isPicture }) => isPicture) ? "laid out as the picture" : "along the sound"}`,
    share && `tick on the bar: even share ${share}`,
    "shares on tokens without a place are not drawn",
    rows.isTiled ? "tiles only: tokens of the whole picture are not drawn" : "",
  ].filter(Boolean);
}

/** Return "where “[CLS]” looks", "who looks at “r3c4”" or "where all queries look on average". */
const rowWords = ({ side }: Pick<PaintedRows, "side">, token: string): string =>
  side === "key"
    ? `who looks at ${token}`
    : token
      ? `where ${token} looks`
      : "where all queries look on average";

/** Return the caption note about the colors at the left edge of cells. */
const familyNote = ({ families }: Scene): string => {
  const there = FAMILIES.filter((family) => [...families.values()].includes(family));
  return there.length ? `left edge: what tests found that heads do (${there.join(", ")})` : "";
};

/** Return the caption note about the corners of cells. */
function labelNote({ labels = [], stack, _stacks }: GridState): string {
  const heads = labels.map(([head]) => head).filter(([, , name]) => name === stack);
  return heads.length
    ? `corner: labeled, ${headNames(heads, { short: true, labels, _stacks })}`
    : "";
}

/** Return the caption notes about heads that are off. */
function editNotes(scene: Scene): string[] {
  const { off, changes, maps, state } = scene;
  const notes = off.size ? ["empty and struck through: switched off"] : [];
  if (off.size && maps?.signed) notes.push("no difference is drawn of what is off");
  if (changes) {
    const most = changes.reduce((a, b) => Math.max(a, b), 0);
    const isOutlined = scene.theme.forced || scene.look.rows;
    const how = maps?.signed ? "" : isOutlined ? "outlined: " : "orange paper: ";
    const upTo =
      `${how}changed against ` +
      `${state.versus === "other" ? "B" : "the intact model"}, Jensen-Shannon divergence up ` +
      `to ${figures(most)}`;
    notes.push(most > 0 ? upTo : "no other head of this stack changed");
  }
  if (state.versus === "other" && maps?.signed)
    notes.push(`A: ${state._compared?.[0]}`, `B: ${state._compared?.[1]}`);
  if (state.versus === "other" && state.tokens.length && !scene.asked && !scene.look.rows)
    notes.push("complete maps: a comparison has no cells of the locked word alone");
  if (state.versus === "intact" && maps && !maps.signed && state.comparison_part === "difference")
    notes.push(
      state.disabled.length
        ? "the difference from the intact model is not held of these maps: they are shown " +
            "themselves"
        : "no head is off, so that nothing differs from the intact model: the maps " +
            "themselves are shown",
    );
  return notes;
}

/** Return for example "15 tokens" or "12 × 15 words". */
function lengths({ state: { _axes: axes }, stack }: Scene): string {
  if (!axes.query) return "";
  const n = axes.query.text.length;
  const m = axes.key.text.length;
  return stack?.name === "cross" || n !== m
    ? `${n} × ${m} ${axes.unit}`
    : counted(n, axes.unit.slice(0, -1));
}

/** Return the note on more tokens than a thumbnail has cells. */
function pooled({ maps, state: { _axes: axes, hidden } }: Scene): string {
  if (!maps || !axes.query) return "";
  const { height, width } = maps;
  if (maps.row) return "";
  if (height * width === 0) return ALL_HIDDEN;
  const kept = ({ special }: Axis) =>
    special.filter((kind) => !hidden.includes(kind as Special)).length;
  const [rows, cols] = maps.common ?? [kept(axes.query), kept(axes.key)];
  const count = rows === cols ? rows : `${rows} × ${cols}`;
  return inLine([
    maps.common ? `differences between the ${count} ${axes.unit} that both have` : "",
    rows > height || cols > width ? `shown as ${height} × ${width} block maxima` : "",
  ]);
}

/**
 * Return the table of the selected and disabled heads, followed by the first heads in the order of
 * the metric or of the largest values.
 */
export function tableOf(scene: Scene): Table {
  const { state, maps, metric, off, changes } = scene;
  const quantity = maps?.signed ? "difference" : state.quantity.slice(0, -1);
  const columns = ["head", "selected"];
  if (changes) columns.push("changed");
  if (metric) columns.push(metric.title);
  columns.push(`largest ${quantity}${maps?.times_keys ? " × keys" : ""}`, "from → to");
  if (!maps) return { columns, rows: [] };
  const { rows, cols, maxima } = maps;
  const chosen = state.selected.flatMap(([layer, head, stack]) =>
    stack === maps.stack && layer < rows && head < cols ? [layer * cols + head] : [],
  );
  const others = metric
    ? orderHeads(rows, cols, metric, { ...state, sort: "all" }).heads.filter((head) =>
        passes(metric.values[head] ?? Number.NaN, state.filter),
      )
    : [...maxima.keys()].sort((a, b) => Math.abs(maxima[b] ?? 0) - Math.abs(maxima[a] ?? 0));
  const picked = [...new Set([...chosen, ...off, ...others.filter((head) => head >= 0)])];
  const listed = picked.slice(0, MOST_ROWS);
  const inColumn = (values: ArrayLike<number>) => listed.map((i) => values[i] ?? 0);
  const printChange = alignedList(inColumn(changes ?? []));
  const printMetric = alignedList(inColumn(metric?.values ?? []));
  const print = columnPrinterOf(maps, inColumn(maxima));
  return {
    columns,
    rows: listed.map((i) => {
      const head: Head = [Math.floor(i / cols), i % cols, maps.stack];
      const most = strongest(maps, state._axes, [head[0], head[1]]);
      const row = [headNames([head], state), chosen.includes(i) ? "yes" : ""];
      if (changes)
        row.push(editText(scene, [head[0], head[1]], printChange).replace("changed ", ""));
      if (metric) row.push(printMetric(metric.values[i] ?? 0));
      row.push(print(maxima[i] ?? 0), most ? `${most.query} → ${most.key}` : "");
      return row;
    }),
  };
}
