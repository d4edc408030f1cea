import { leastLine } from "../../head_view/source/visible_map.js";
import { evenOf } from "../../shared/largest_link.js";
import type { Axis, Special } from "../../shared/types.js";
import type { HeadWeights } from "./head_weights.js";
import { isWord } from "./words.js";

/**
 * A weight stands out if it is at least this multiple of the even share, and at least this weight.
 */
const TIMES_EVEN = 2;
const LEAST = 0.1;

/** Key with the weight that a query gives to it. */
export interface Look {
  key: number;
  weight: number;
}

/** Attention of a word in one head. */
export interface Looks {
  query: number;
  /** Weights to all keys, NaN if masked. */
  row: Float32Array;
  /** Even share over the keys that the word sees. */
  even: number;
  /** Keys that the word sees and that are not hidden, strongest first. */
  seen: Look[];
  /** Share of the attention on hidden keys. */
  resting: number;
}

/** Return the smallest weight that is drawn as an arc or a background color. */
export const leastDrawn = ({ even }: Pick<Looks, "even">): number => leastLine(even, 1);

/** Return whether a weight is large enough for the line to name its word. */
export const standsOut = (weight: number, even: number): boolean =>
  weight >= Math.max(TIMES_EVEN * even, LEAST);

/** Return the attention of a word; undefined if the page does not have it. */
export function looksOf(
  weights: HeadWeights,
  query: number,
  hidden: readonly string[],
): Looks | undefined {
  const known = weights.row(query);
  if (!known) return undefined;
  const { key } = weights.axes;
  let count = 0;
  let rest = 0;
  let shown = 0;
  const isHidden = (i: number) => hidden.includes(key.special[i] as Special);
  for (const [i, weight] of known.entries()) {
    if (Number.isNaN(weight)) continue;
    count++;
    if (isHidden(i)) rest += weight;
    else shown += weight;
  }
  const seen: Look[] = [];
  for (const [i, weight] of known.entries())
    if (!Number.isNaN(weight) && !isHidden(i)) seen.push({ key: i, weight });
  seen.sort((a, b) => b.weight - a.weight || a.key - b.key);
  // Weights sum to 1, so the rest is on the hidden keys.
  const hides = key.special.some((_, i) => isHidden(i));
  const resting = weights.hasHidden(query) ? rest : hides ? 1 - shown : 0;
  return {
    query,
    row: known,
    even: 1 / Math.max(1, count),
    seen,
    resting: Math.max(0, resting),
  };
}

/** Link between two words. */
export interface Link extends Look {
  query: number;
  even: number;
}

/**
 * Return the strongest link between two different words; undefined if there is none, or if rows are
 * missing. `isCounted`: Leave out other links.
 */
export function strongestLink(
  weights: HeadWeights,
  hidden: readonly string[],
  isCounted: (weight: number, even: number) => boolean = () => true,
): Link | undefined {
  if (!weights.isWhole) return undefined;
  const { query: from, key: to } = weights.axes;
  const words = (axis: Axis) =>
    [...axis.text.keys()].filter(
      (i) => isWord(axis, i) && !hidden.includes(axis.special[i] as Special),
    );
  const keys = words(to);
  const isSame = from.text.length === to.text.length && from.text.every((t, i) => t === to.text[i]);
  let most: Link | undefined;
  for (const query of words(from)) {
    const row = weights.row(query);
    if (!row) continue;
    const even = evenOf(row);
    for (const key of keys) {
      const weight = row[key] ?? Number.NaN;
      if ((isSame && key === query) || !(weight > (most?.weight ?? 0))) continue;
      if (isCounted(weight, even)) most = { query, key, weight, even };
    }
  }
  return most;
}

/**
 * Return the words that attend to a key, strongest first; undefined if the page has no complete
 * map.
 */
export function lookersOf(
  weights: HeadWeights,
  key: number,
  hidden: readonly string[],
): Link[] | undefined {
  if (!weights.isWhole) return undefined;
  const { query } = weights.axes;
  const links: Link[] = [];
  for (const [i, kind] of query.special.entries()) {
    const row = hidden.includes(kind) ? undefined : weights.row(i);
    const weight = row?.[key] ?? Number.NaN;
    if (row && !Number.isNaN(weight)) links.push({ query: i, key, weight, even: evenOf(row) });
  }
  return links.sort((a, b) => b.weight - a.weight || a.query - b.query);
}
