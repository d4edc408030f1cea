import type { Axes, Head, Scale, StackInfo, ViewState } from "../model/types.js";
import { headName, paperName } from "../model/types.js";
import { labelOf } from "./labels.js";
import { printValue, quantityNote } from "./quantity.js";
import { type Target, weightAt } from "./scene.js";
import type { VisibleMap } from "./visible_map.js";

export const title = (head: Head, quantity: string, unit: string) =>
  [headName(head), paperName(head), quantity, unit].join(" · ");

/** Which heads read the same keys, where heads share them. */
export function keyGroup(stack: StackInfo | undefined, [, head]: Head): string {
  if (!stack || stack.n_key_heads >= stack.n_heads) return "";
  const size = stack.n_heads / stack.n_key_heads;
  const first = Math.floor(head / size) * size;
  return `shares keys with H${first}–H${first + size - 1}`;
}

/** Prints a value of a quantity; rounded ones say so. */
export const printer = (exact: boolean, quantity: string) => (value: number) => {
  if (Number.isNaN(value)) return "masked";
  const text = printValue(quantity)(value);
  return exact || !(value > 0) || text.startsWith("<") ? text : `≈${text}`;
};

const FILTERS = { aa: "A → A", ab: "A → B", ba: "B → A", bb: "B → B" };
export const sentencesName = (value: ViewState["sentences"]) =>
  value === "all" ? "all" : FILTERS[value];

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

export interface Facts {
  head: Head;
  model: string;
  note: string;
  quantity: string;
  /** What gradients are of. */
  loss: string;
  unit: string;
  scale: Scale;
  mode: ViewState["mode"];
  topMass: number;
  /** Texts of the tokens left out. */
  hidden: string[];
  /** "all" where the filter does not apply. */
  sentences: ViewState["sentences"];
  map: VisibleMap;
  rowSums: [number, number];
  mask: string;
  exact: boolean;
  /** What the drawing itself left out. */
  drawing: string;
}

/** Rounding to bytes loses small weights: only a larger gap is then the model's. */
const FULL_SUM = 0.99;
const FULL_SUM_ROUNDED = 0.9;

/** The line under the figure: what is shown, and what was hidden, merged, rescaled or rounded. */
export function caption(facts: Facts): string {
  const { head, map, hidden, sentences, topMass } = facts;
  const [low, high] = facts.rowSums;
  const counts = [map.rows.length, map.cols.length];
  const whole = facts.quantity === "weights" ? "weight" : facts.quantity;
  return [
    facts.model,
    head[2] === "self" ? "" : `${head[2]} attention`,
    `${headName(head)} (${paperName(head)} counted from 1)`,
    quantityNote(facts.quantity, facts.loss) || facts.quantity,
    `${counts[0] === counts[1] ? counts[0] : counts.join(" × ")} ${facts.unit}`,
    `${facts.scale} scale`,
    facts.mode === "lines" && topMass < 1
      ? `lines that make up ${Math.round(100 * topMass)} % of each row`
      : "",
    hidden.length
      ? `hidden: ${hidden.join(" ")} (${percent(map.hiddenShare)} of the ${whole})`
      : "",
    sentences === "all"
      ? ""
      : `only ${sentencesName(sentences)} (${percent(map.filteredShare)} of the ${whole} goes to the other sentence)`,
    map.renormalised ? "rows renormalised" : "",
    facts.quantity === "weights" && low < (facts.exact ? FULL_SUM : FULL_SUM_ROUNDED)
      ? `rows sum to ${low.toFixed(2)}–${high.toFixed(2)} (attention sinks)`
      : "",
    facts.mask,
    facts.exact ? "" : "rounded to 8 bits",
    facts.unit === "words"
      ? "words: sum over the attended word's tokens, mean over the attending word's"
      : "",
    facts.drawing,
    facts.note,
  ]
    .filter(Boolean)
    .join(" · ");
}

interface Pair {
  query: number;
  key: number;
  weight: number;
}

/** The strongest pairs of the map, or of one token. */
export function strongest(map: VisibleMap, of: Target, count: number): Pair[] {
  const best: Pair[] = [];
  const [rows, cols] = [map.rows.length, map.cols.length];
  const [r0, r1] = of.query === undefined ? [0, rows] : [of.query, of.query + 1];
  const [c0, c1] = of.key === undefined ? [0, cols] : [of.key, of.key + 1];
  for (let query = r0; query < r1; query++)
    for (let key = c0; key < c1; key++) {
      const weight = weightAt(map, query, key);
      const least = best.length < count ? 0 : (best[count - 1]?.weight ?? 0);
      if (!(weight > least)) continue;
      best.push({ query, key, weight });
      best.sort((a, b) => b.weight - a.weight);
      if (best.length > count) best.pop();
    }
  return best;
}

/** A token with its three largest weights, or a pair with its weight. */
export function describe(
  map: VisibleMap,
  axes: Axes,
  target: Target,
  print: (weight: number) => string,
): string {
  const { query, key } = target;
  const from = (row: number) => labelOf(axes.query, map.rows[row] ?? 0);
  const to = (col: number) => labelOf(axes.key, map.cols[col] ?? 0);
  if (query !== undefined && key !== undefined)
    return `${from(query)} → ${to(key)} ${print(weightAt(map, query, key))}`;
  const pairs = strongest(map, target, 3);
  const list = (name: (pair: Pair) => string) =>
    pairs.map((pair) => `${name(pair)} ${print(pair.weight)}`).join(" · ") || "nothing";
  if (query !== undefined) return `${from(query)} → ${list((pair) => to(pair.key))}`;
  if (key !== undefined) return `${to(key)} ← ${list((pair) => from(pair.query))}`;
  return "";
}

/** What assistive technology reads on the figure. */
export function figureName(
  head: Head,
  quantity: string,
  map: VisibleMap,
  axes: Axes,
  print: (weight: number) => string,
): string {
  const pairs = strongest(map, {}, 3).map((pair) => describe(map, axes, pair, print));
  const of = quantity === "weights" ? "Attention" : `Attention ${quantity}`;
  return `${of} of ${headName(head)}; strongest: ${pairs.join(", ")}. Question mark lists the keys.`;
}
