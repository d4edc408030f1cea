import { evenOf, isLargestLink } from "../shared/largest_link.js";
import type { Axes, Axis, Head } from "../shared/types.js";
import { asFloat32 } from "../shared/wire.js";
import type { GridState, Rows } from "./state.js";

/**
 * Multiple of the even share from which a number is printed, although another key has a larger
 * weight.
 */
const TIMES_PRINTED = 3;
/** Multiple of the even share, and smallest weight, from which the word is printed. */
const TIMES_STANDS_OUT = 2;
const LEAST = 0.1;

/** Question that the cells answer instead of showing thumbnails: about one word, or about two. */
export interface WordQuestion {
  rows: Rows;
  /** Key of a locked pair; undefined if one word is locked. */
  key: number | undefined;
}

/** Strongest head of a layer for the locked words. */
export interface LayerAnswer {
  /** Number of the head in its layer. */
  head: number;
  /** Word that the head looks at, or that looks at the locked key; the key of a locked pair. */
  other: number;
  weight: number;
  standsOut: boolean;
}

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
  standsOut: boolean;
}

const standsOut = (weight: number, even: number): boolean =>
  weight >= Math.max(TIMES_STANDS_OUT * even, LEAST);

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
    return { other, weight, standsOut: standsOut(weight, even) };
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
    return {
      weight,
      isLargest,
      isPrinted: isLargest || weight >= TIMES_PRINTED * even,
      standsOut: standsOut(weight, even),
    };
  });
}

/** Return the question of the locked words to all heads; undefined if the cells show maps. */
export function askedOf(state: GridState): WordQuestion | undefined {
  const { _rows: rows, tokens, cells, stack, unit, quantity } = state;
  if (cells !== "answers" || !rows || quantity !== "weights") return undefined;
  if (rows.stack !== stack || rows.unit !== unit || rows.quantity !== quantity) return undefined;
  const last = (side: string) => tokens.filter(([of]) => of === side).at(-1)?.[1];
  const isOfKey = last("query") === undefined;
  const [, , count = 0] = rows.values.shape;
  const others = isOfKey ? state._axes?.query : state._axes?.key;
  if ((rows.side === "key") !== isOfKey || last(rows.side) !== rows.of) return undefined;
  if (others?.text.length !== count) return undefined;
  const key = isOfKey ? undefined : last("key");
  return { rows, key: key !== undefined && key < count ? key : undefined };
}

/**
 * Return the strongest head of each layer for the locked words; undefined for a layer whose heads
 * give no visible word any weight.
 */
export function layerAnswers(
  { rows, key }: WordQuestion,
  axes: Axes,
  hidden: readonly string[],
): (LayerAnswer | undefined)[] {
  const answers =
    key === undefined
      ? wordAnswers(rows, axes, hidden)
      : pairAnswers(rows, key, axes, hidden).map((answer) => ({ ...answer, other: key }));
  const [layers = 0, heads = 0] = rows.values.shape;
  return Array.from({ length: layers }, (_, layer) => {
    let best: LayerAnswer | undefined;
    for (let head = 0; head < heads; head++) {
      const answer = answers[layer * heads + head];
      if (answer && answer.weight > (best?.weight ?? 0)) best = { ...answer, head };
    }
    return best;
  });
}

/**
 * Return the strongest head of a layer for the locked words; undefined without locked words and for
 * a layer without attention to them.
 */
export function strongestHead(state: GridState, layer: number): Head | undefined {
  const asked = askedOf(state);
  const answer = asked && layerAnswers(asked, state._axes, state.hidden)[layer];
  return answer && [layer, answer.head, state.stack];
}

/**
 * Return the number of heads that give the key strictly more than every other visible key, and the
 * strongest of these heads, or of all heads if there are none; undefined below 10 %.
 */
export function pairCount(rows: Rows, key: number, axes: Axes, hidden: readonly string[]) {
  const answers = pairAnswers(rows, key, axes, hidden);
  const [, heads = 1] = rows.values.shape;
  const count = answers.filter(({ isLargest }) => isLargest).length;
  let most = -1;
  for (const [i, { weight, isLargest }] of answers.entries())
    if ((isLargest || !count) && weight > (answers[most]?.weight ?? 0)) most = i;
  const weight = answers[most]?.weight ?? 0;
  const head: [number, number] = [Math.floor(most / heads), most % heads];
  return { count, most: weight >= LEAST ? { head, weight } : undefined };
}
