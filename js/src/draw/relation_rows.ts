import {
  type Column,
  DIRECTIONS,
  type Direction,
  type RelationNumbers,
  type TableState,
} from "../model/relation_types.js";
import { type Head, headName } from "../model/types.js";
import { asFloat32, asInt32 } from "../model/wire.js";

/** How often a head is right on a relation. */
export interface Score {
  correct: number;
  n: number;
  accuracy: number;
  /** The 95 % interval. */
  low: number;
  high: number;
  p: number;
}

export interface Row extends Score {
  /** Index among the relations. */
  index: number;
  relation: string;
  head: Head;
  direction: Direction;
  baseline: number;
  offset: number;
  gain: number;
}

export interface Decoded {
  layers: number;
  heads: number;
  stack: string;
  rows: Row[];
  /** Of any head on the relation of a row. */
  score(row: Row, layer: number, head: number, direction: Direction): Score;
}

const Z = 1.959963984540054;
/** A corrected p-value up to this is significant. */
export const LEVEL = 0.05;

/** Wilson's 95 % interval of a proportion. */
export function wilson(correct: number, n: number): [low: number, high: number] {
  if (n === 0) return [0, 1];
  const p = correct / n;
  const centre = (p + Z ** 2 / (2 * n)) / (1 + Z ** 2 / n);
  const reach = (Z / (1 + Z ** 2 / n)) * Math.sqrt((p * (1 - p)) / n + Z ** 2 / (4 * n ** 2));
  return [Math.max(0, centre - reach), Math.min(1, centre + reach)];
}

export function decodeRelations(table: RelationNumbers): Decoded {
  const [layers = 0, heads = 0, , count = 0] = table.correct.shape;
  const [correct, p] = [asInt32(table.correct), asFloat32(table.p_values)];
  const [counts, best] = [asInt32(table.counts), asInt32(table.best)];
  const [baselines, offsets] = [asInt32(table.baseline), asInt32(table.offsets)];
  const scoreAt = (index: number, layer: number, head: number, direction: number): Score => {
    const at = ((layer * heads + head) * 2 + direction) * count + index;
    const [hits, n] = [correct[at] ?? 0, counts[index] ?? 0];
    const [low, high] = wilson(hits, n);
    return { correct: hits, n, accuracy: hits / n, low, high, p: p[at] ?? 1 };
  };
  const rows = table.relations.map((relation, index): Row => {
    const [layer = 0, head = 0, direction = 0] = best.subarray(3 * index, 3 * index + 3);
    const score = scoreAt(index, layer, head, direction);
    const baseline = (baselines[index] ?? 0) / score.n;
    return {
      ...{ index, relation, head: [layer, head, table.stack], baseline, ...score },
      direction: DIRECTIONS[direction] ?? DIRECTIONS[0],
      offset: offsets[index] ?? 0,
      gain: score.accuracy - baseline,
    };
  });
  return {
    ...{ layers, heads, stack: table.stack, rows },
    score: (row, layer, head, direction) =>
      scoreAt(row.index, layer, head, DIRECTIONS.indexOf(direction)),
  };
}

const keyOf = (row: Row, column: Column): number | string => {
  if (column === "head") return row.head[0] * 1e4 + row.head[1];
  return row[column];
};

type Wish = Pick<TableState, "min_count" | "significant" | "search" | "sort" | "descending">;

/** The rows to show, in their order. */
export function chosenRows(rows: Row[], wish: Wish): Row[] {
  const wanted = wish.search.toLocaleLowerCase();
  const way = wish.descending ? -1 : 1;
  return rows
    .filter(
      ({ relation, n, p }) =>
        n >= wish.min_count &&
        (!wish.significant || p <= LEVEL) &&
        relation.toLocaleLowerCase().includes(wanted),
    )
    .sort((a, b) => {
      const [x, y] = [keyOf(a, wish.sort), keyOf(b, wish.sort)];
      return x === y ? a.index - b.index : way * (x < y ? -1 : 1);
    });
}

/** The column to sort by after a click on its heading: numbers start with the largest. */
export const sorted = (wish: Wish, column: Column): Pick<Wish, "sort" | "descending"> => ({
  sort: column,
  descending:
    wish.sort === column ? !wish.descending : !["relation", "head", "direction"].includes(column),
});

/** A share in per cent, with as many digits as a count of `n` bears. */
export function percent(share: number, n: number): string {
  const text = (100 * share).toFixed(n >= 100 ? 1 : 0);
  return text.replace("-", "−");
}

export const signed = (offset: number) => (offset < 0 ? `−${-offset}` : `+${offset}`);

export const printP = (p: number) => (p < 0.001 ? "p < 0.001" : `p = ${Number(p.toPrecision(2))}`);

/** One head on one relation, in words. */
export function scoreText(score: Score, row: Row): string {
  const { n, accuracy, low, high, p } = score;
  const interval = `${percent(low, n)} to ${percent(high, n)}`;
  return (
    `${percent(accuracy, n)} % of ${n.toLocaleString("en")} words (95 % interval ${interval}) · ` +
    `best offset ${signed(row.offset)}: ${percent(row.baseline, n)} % · ${printP(p)}`
  );
}

export const rowText = (row: Row) =>
  `${row.relation}: best ${headName(row.head)}, ${row.direction}, ${scoreText(row, row)}`;
