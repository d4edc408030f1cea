import {
  type Caption,
  caption,
  headNames,
  MERGED,
  SCALE_WORDS,
  type Table,
} from "../shared/caption.js";
import { labelOf, quoted } from "../shared/labels.js";
import { counted } from "../shared/numbers.js";
import { type Print, printer, quantityName } from "../shared/quantity.js";
import type { Axes, Head, Side, StackInfo } from "../shared/types.js";
import { headName, paperName } from "../shared/types.js";
import { namesOf } from "./head_list_text.js";
import type { Range } from "./lines_focus.js";
import { leads, type Scene } from "./scene.js";
import type { ViewState } from "./state.js";
import type { InSight } from "./targets.js";
import { type Target, weightAt } from "./targets.js";
import { differenceScale } from "./two_maps.js";
import type { Shown } from "./view_shown.js";
import { hideable, twoSentences, type VisibleMap } from "./visible_map.js";

export const title = (head: Head, quantity: string, unit: string) =>
  [headName(head), paperName(head), quantity, unit].join(" · ");

/** Which heads read the same keys, where heads share them. */
export function keyGroup(stack: StackInfo | undefined, [, head]: Head): string {
  if (!stack || stack.n_key_heads >= stack.n_heads) return "";
  const size = stack.n_heads / stack.n_key_heads;
  const first = Math.floor(head / size) * size;
  return `shares keys with H${first}–H${first + size - 1}`;
}

export const FIGURE = "One attention head";
const SEVERAL = "Attention heads";
const COMPARED = "One attention head, compared";
export const NO_SELECTION =
  "Select a head: click one in a HeadGrid linked to this view, or set view.selected = " +
  "[(layer, head)].";
const MOST_NAMED = 6;
/** Of a locked token so many are listed. */
const MOST_LISTED = 8;
/** Rows of the table beside a picture. */
export const MOST_ROWS = 15;

const FILTERS = { aa: "A → A", ab: "A → B", ba: "B → A", bb: "B → B" };
export const sentencesName = (value: ViewState["sentences"]) =>
  value === "all" ? "all" : FILTERS[value];

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

/** Rounding to bytes loses small weights: only a larger gap is then the model's. */
const FULL_SUM = 0.99;
const FULL_SUM_ROUNDED = 0.9;

/** What the view shows, in words; `drawing` is what the drawing itself left out. */
export function captionOf(
  state: ViewState,
  shown: Shown,
  map: VisibleMap,
  drawing: string[],
  range: Range = { maximum: map.maximum, of: "this head" },
): Caption {
  const { head, axes, quantity, exact } = shown;
  const source = state._source;
  const stack = state._stacks.find(({ name }) => name === head[2]);
  const [low, high] = shown.rowSums;
  const counts = [map.rows.length, map.cols.length].join(" × ");
  const whole = quantity === "weights" ? "weight" : quantity;
  const present = hideable(axes);
  const hidden = state.hidden.flatMap((kind) => present.get(kind) ?? []);
  const share = percent(map.hiddenShare);
  const sentences = twoSentences(axes) ? state.sentences : "all";
  const together = shown.several;
  const figure = together?.names ? COMPARED : together ? SEVERAL : FIGURE;
  return caption(head[2] === "self" ? figure : `${figure}, ${head[2]} attention`, {
    model: source.model,
    head: namesOf(together?.heads ?? [head]),
    quantity: `${quantityName(quantity, source.loss)} · ${
      map.rows.length === map.cols.length
        ? counted(map.rows.length, shown.unit.slice(0, -1))
        : `${counts} ${shown.unit}`
    }`,
    scale:
      `${SCALE_WORDS[state.scale]} colour scale, 0 to ` +
      `${printer(exact, quantity)(range.maximum)}, ${range.of}${
        together?.names ? `; the difference ${differenceScale(map, quantity).range}` : ""
      }`,
    notes: [
      shown.peek ?? "",
      together ? "" : keyGroup(stack, head),
      state.mode === "lines" && state.top_mass < 1
        ? `lines that make up ${Math.round(100 * state.top_mass)} % of each row`
        : "",
      hidden.length
        ? `hidden: ${hidden.join(" ")}${shown.peek ? "" : ` (${share} of the ${whole})`}`
        : "",
      sentences === "all"
        ? ""
        : `only ${sentencesName(sentences)}${
            shown.peek
              ? ""
              : ` (${percent(map.filteredShare)} of the ${whole} goes to the other sentence)`
          }`,
      map.renormalised ? "rows renormalised" : "",
      quantity === "weights" && low < (exact ? FULL_SUM : FULL_SUM_ROUNDED)
        ? `rows sum to ${low.toFixed(2)}–${high.toFixed(2)} (attention sinks)`
        : "",
      shown.mask,
      exact ? "" : "rounded to 8 bits",
      shown.unit === "words" ? MERGED : "",
      writtenNote(axes),
      ...drawing,
      source.note,
    ],
  });
}

/** Where a model wrote the rest. */
function writtenNote({ unit, query }: Axes): string {
  const { prompt = 0, text } = query;
  return prompt > 0 && prompt < text.length
    ? `prompt: the first ${prompt} ${unit}, then the continuation`
    : "";
}

/** What the second colour stands for; "" without highlighted words. */
export function secondOf({ highlighted, axes, several }: Shown): string {
  const words = [...new Set((highlighted.query ?? []).map((i) => quoted(labelOf(axes.query, i))))];
  const text = words.join(", ").replaceAll(", ##", "");
  return (
    text &&
    `${several?.arrangement === "overlay" ? "strong" : "second"} colour: attention from and ` +
      `to ${text}`
  );
}

/** The strongest pairs of what is shown, or of the locked tokens. */
export function tableOf(scene: Scene, quantity: string): Table {
  const { map, axes, print } = scene;
  const label = (side: Side, position: number) =>
    labelOf(axes[side], (side === "query" ? map.rows : map.cols)[position] ?? 0);
  const pairs = strongest(map, leads(scene), MOST_ROWS, scene.inSight);
  const rows = pairs.map(({ query, key, weight }) => [
    label("query", query),
    label("key", key),
    print(weight, pairs.length > 1 ? pairs[0]?.weight : undefined),
  ]);
  return { columns: ["from", "to", quantity.slice(0, -1)], rows };
}

interface Pair {
  query: number;
  key: number;
  weight: number;
}

/** The strongest pairs of the map, or of one token; `within` a part of it. */
export function strongest(map: VisibleMap, of: Target, count: number, within?: InSight): Pair[] {
  const best: Pair[] = [];
  const rows = map.rows.length;
  const cols = map.cols.length;
  const { query: down = { start: 0, end: rows }, key: along = { start: 0, end: cols } } =
    within ?? {};
  const [r0, r1] = of.query === undefined ? [down.start, down.end] : [of.query, of.query + 1];
  const [c0, c1] = of.key === undefined ? [along.start, along.end] : [of.key, of.key + 1];
  for (let query = r0; query < r1; query++)
    for (let key = c0; key < c1; key++) {
      const weight = weightAt(map, query, key);
      const least = best.length < count ? 0 : Math.abs(best[count - 1]?.weight ?? 0);
      if (!(Math.abs(weight) > least)) continue;
      best.push({ query, key, weight });
      best.sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
      if (best.length > count) best.pop();
    }
  return best;
}

/** A strong weight of a locked token: the token at the opposite end, and its position. */
export interface Listed {
  label: string;
  weight: string;
  target: Target;
}

/** The strongest keys of a locked query, or queries of a locked key, and whose they are. */
export function strongestOf(scene: Scene): { of: string; listed: Listed[] } | undefined {
  const { map, axes, print } = scene;
  const { query, key } = leads({ ...scene, active: {} });
  const from = (row: number) => labelOf(axes.query, map.rows[row] ?? 0);
  const to = (col: number) => labelOf(axes.key, map.cols[col] ?? 0);
  const pairs = (of: Target, name: (pair: Pair) => string) =>
    strongest(map, of, MOST_LISTED).map((pair, _, [first]) => ({
      label: name(pair),
      weight: print(pair.weight, first?.weight),
      target: { query: pair.query, key: pair.key },
    }));
  if (query !== undefined)
    return {
      of: `strongest from ${from(query)}`,
      listed: pairs({ query }, (pair) => to(pair.key)),
    };
  if (key !== undefined)
    return { of: `strongest to ${to(key)}`, listed: pairs({ key }, (pair) => from(pair.query)) };
  return undefined;
}

/** A token with its three largest weights, or a pair with its weight. */
export function describe(map: VisibleMap, axes: Axes, target: Target, print: Print): string {
  const { query, key } = target;
  const from = (row: number) => quoted(labelOf(axes.query, map.rows[row] ?? 0));
  const to = (col: number) => quoted(labelOf(axes.key, map.cols[col] ?? 0));
  if (query !== undefined && key !== undefined)
    return `${from(query)} → ${to(key)} ${print(weightAt(map, query, key))}`;
  const pairs = strongest(map, target, 3);
  const list = (name: (pair: Pair) => string) =>
    pairs.map((pair) => `${name(pair)} ${print(pair.weight, pairs[0]?.weight)}`).join(" · ") ||
    "nothing";
  if (query !== undefined) return `${from(query)} → ${list((pair) => to(pair.key))}`;
  if (key !== undefined) return `${to(key)} ← ${list((pair) => from(pair.query))}`;
  return "";
}

/** What assistive technology reads on the figure. */
export function figureName(
  heads: Head[],
  quantity: string,
  map: VisibleMap,
  axes: Axes,
  print: Print,
): string {
  const pairs = strongest(map, {}, 3).map((pair) => describe(map, axes, pair, print));
  const of = quantity === "weights" ? "Attention" : `Attention ${quantity}`;
  return (
    `${of} of ${headNames(heads, MOST_NAMED, headName)}; strongest: ` +
    `${pairs.join(", ")}. Question mark lists the keys.`
  );
}
