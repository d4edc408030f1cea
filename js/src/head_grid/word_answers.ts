import { evenOf, isLargestLink } from "../shared/largest_link.js";
import type { Axes, Axis } from "../shared/types.js";
import { asFloat32 } from "../shared/wire.js";
import type { Rows } from "./state.js";

/**
 * Multiple of the even share from which a number is printed, although another key has a larger
 * weight.
 */
const TIMES_PRINTED = 3;
/** Multiple of the even share, and smallest weight, from which the word is printed. */
const TIMES_STANDS_OUT = 2;
const LEAST = 0.1;

/** Word with the largest weight from (or to) the locked word, in one head. */
interface WordAnswer {
  /**
   * Visible key with the largest weight, or query that gives the largest weight; -1 if there is
   * none.
   */
  other: number;
  weight: number;
  standsOut: boolean;
}

/** Attention from the locked word to the locked key, in one head. */
interface PairAnswer {
  /** Weight; 0 if the key is masked. */
  weight: number;
  /** Whether the key gets strictly more than every other key. */
  isLargest: boolean;
  isPrinted: boolean;
}

const isHidden = (axis: Axis, hidden: readonly string[]) =>
  axis.special.map((kind) => hidden.includes(kind));

/** Return the words of the rows' weights: the keys of a query, or the queries of a key. */
export const othersOf = ({ side }: Pick<Rows, "side">, axes: Axes): Axis =>
  side === "query" ? axes.key : axes.query;

/** Return the rows of all heads, each with its even share. */
function rowsOf({ values, side }: Rows, axes: Axes) {
  const [layers = 0, heads = 0, count = 0] = values.shape;
  const all = asFloat32(values);
  return Array.from({ length: layers * heads }, (_, head) => {
    const row = all.subarray(head * count, (head + 1) * count);
    // A column does not tell how many keys each query sees.
    return { row, even: side === "query" ? evenOf(row) : 1 / axes.key.text.length };
  });
}

/** Return the answer for the locked word in every head, by layer * heads + head. */
export function wordAnswers(rows: Rows, axes: Axes, hidden: readonly string[]): WordAnswer[] {
  const hides = isHidden(othersOf(rows, axes), hidden);
  return rowsOf(rows, axes).map(({ row, even }) => {
    let other = -1;
    for (let i = 0; i < row.length; i++)
      if (!hides[i] && (row[i] ?? 0) > (other < 0 ? 0 : (row[other] ?? 0))) other = i;
    const weight = other < 0 ? 0 : (row[other] ?? 0);
    return { other, weight, standsOut: weight >= Math.max(TIMES_STANDS_OUT * even, LEAST) };
  });
}

/** Return the attention from the word to a key in every head. */
export function pairAnswers(
  rows: Rows,
  key: number,
  axes: Axes,
  hidden: readonly string[],
): PairAnswer[] {
  const hides = isHidden(axes.key, hidden);
  return rowsOf(rows, axes).map(({ row, even }) => {
    const weight = row[key] || 0;
    const isLargest = isLargestLink(row, key, hides, even);
    return { weight, isLargest, isPrinted: isLargest || weight >= TIMES_PRINTED * even };
  });
}

/**
 * Return the number of heads that give the key strictly more than every other visible key, and the
 * head with the largest weight; undefined below 10 %.
 */
export function pairCount(rows: Rows, key: number, axes: Axes, hidden: readonly string[]) {
  const answers = pairAnswers(rows, key, axes, hidden);
  const [, heads = 1] = rows.values.shape;
  const most = answers.reduce((best, { weight }, i) => {
    return weight > (answers[best]?.weight ?? 0) ? i : best;
  }, 0);
  const weight = answers[most]?.weight ?? 0;
  const head: [number, number] = [Math.floor(most / heads), most % heads];
  return {
    count: answers.filter(({ isLargest }) => isLargest).length,
    most: weight >= LEAST ? { head, weight } : undefined,
  };
}
