import { evenOf, isLargestLink } from "../shared/largest_link.js";
import type { Axes, Axis } from "../shared/types.js";
import { asFloat32 } from "../shared/wire.js";
import type { Rows } from "./state.js";

/** A number is printed from so many even shares on, where another key gets more. */
const TIMES_PRINTED = 3;
/** The word is printed where it stands out: from so many even shares on, and from so much. */
const TIMES_STANDS_OUT = 2;
const LEAST = 0.1;

/** Where the locked word looks in one head, or who looks at it. */
interface WordAnswer {
  /** The visible key that gets most, or the query that gives most; -1 without any. */
  other: number;
  weight: number;
  standsOut: boolean;
}

/** How much of its attention the locked word gives to the locked key, in one head. */
interface PairAnswer {
  /** 0 where the key is masked. */
  weight: number;
  /** Whether the key gets strictly more than every other key. */
  isLargest: boolean;
  isPrinted: boolean;
}

const isHidden = (axis: Axis, hidden: readonly string[]) =>
  axis.special.map((kind) => hidden.includes(kind));

/** The words whose weights the rows have: the keys of a query, or the queries of a key. */
export const othersOf = ({ side }: Pick<Rows, "side">, axes: Axes): Axis =>
  side === "query" ? axes.key : axes.query;

/** The rows of all heads, each with the even share of its values. */
function rowsOf({ values, side }: Rows, axes: Axes) {
  const [layers = 0, heads = 0, count = 0] = values.shape;
  const all = asFloat32(values);
  return Array.from({ length: layers * heads }, (_, head) => {
    const row = all.subarray(head * count, (head + 1) * count);
    // A column does not tell how many keys each query sees.
    return { row, even: side === "query" ? evenOf(row) : 1 / axes.key.text.length };
  });
}

/** What the word does in every head, as layer * heads + head. */
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

/** How the heads link the word with a key. */
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
 * The number of heads that give the key strictly more than every other visible key, and the head
 * with the largest weight; undefined below 10 %.
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
