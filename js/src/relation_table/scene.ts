import { type Caption, caption, headNames, type Table } from "../shared/caption.js";
import type { Cell } from "../shared/cells.js";
import { inLine } from "../shared/in_line.js";
import { counted, percent, percentOf, printP, signed } from "../shared/numbers.js";
import { ALL, DIRECTIONS, type Direction, POOLED } from "../shared/relation_types.js";
import { type Head, headName } from "../shared/types.js";
import { asFloat32, asInt32 } from "../shared/wire.js";
import { COLUMNS, type Column, type RelationNumbers, type TableState } from "./state.js";

export const FIGURE = "Best head of each relation";
export const NOTHING = "No relation is left: ask for fewer words.";
export const LEGEND = "accuracy % · dot: better than the offset, corrected p ≤ 0.05";
/** Number of rows of the accessible table. */
const MOST_ROWS = 20;
const ORDERS: Partial<Record<Column, [down: string, up: string]>> = {
  relation: ["Z to A", "A to Z"],
  direction: ["Z to A", "A to Z"],
  head: ["last layer first", "first layer first"],
};
const SORTED: Partial<Record<Column, string>> = {
  head: "best head",
  other_texts: "accuracy on other texts",
  baseline: "the offset's accuracy",
  gain: "the gain",
};

/** How often a head is right on a relation. */
interface Score {
  correct: number;
  n: number;
  accuracy: number;
  /** 95 % interval of the accuracy. */
  low: number;
  high: number;
  p: number;
}

export interface Row extends Score {
  /** Index of the relation. */
  index: number;
  relation: string;
  head: Head;
  direction: Direction;
  baseline: number;
  offset: number;
  gain: number;
  /** Accuracies of the head and of the best fixed offset on other texts; -1 if unknown. */
  other_texts: number;
  other_baseline: number;
}

interface Decoded {
  layers: number;
  heads: number;
  stack: string;
  /** Short name of the corpus of other texts and its description, if there is one. */
  other: { corpus: string; description: string } | undefined;
  rows: Row[];
  /** Return the score of any head on the relation of a row. */
  score(row: Row, layer: number, head: number, direction: Direction): Score;
}

const Z = 1.959963984540054;
/** Largest corrected p-value that counts as significant. */
export const LEVEL = 0.05;

/** Return Wilson's 95 % interval of a proportion. */
export function wilson(correct: number, n: number): [low: number, high: number] {
  if (n === 0) return [0, 1];
  const p = correct / n;
  const center = (p + Z ** 2 / (2 * n)) / (1 + Z ** 2 / n);
  const reach = (Z / (1 + Z ** 2 / n)) * Math.sqrt((p * (1 - p)) / n + Z ** 2 / (4 * n ** 2));
  return [Math.max(0, center - reach), Math.min(1, center + reach)];
}

export function decodeRelations(table: RelationNumbers): Decoded {
  const [layers = 0, heads = 0, , count = 0] = table.correct.shape;
  const correct = asInt32(table.correct);
  const p = asFloat32(table.p_values);
  const counts = asInt32(table.counts);
  const best = asInt32(table.best);
  const baselines = asInt32(table.baseline);
  const offsets = asInt32(table.offsets);
  const other = table.other_texts ?? undefined;
  const known = (values: Float32Array | undefined, index: number): number => {
    const value = values?.[index] ?? Number.NaN;
    return Number.isNaN(value) ? -1 : value;
  };
  const others = other && asFloat32(other.accuracy);
  const other_baselines = other && asFloat32(other.baseline);
  const scoreAt = (index: number, layer: number, head: number, direction: number): Score => {
    const at = ((layer * heads + head) * 2 + direction) * count + index;
    const hits = correct[at] ?? 0;
    const n = counts[index] ?? 0;
    const [low, high] = wilson(hits, n);
    return { correct: hits, n, accuracy: hits / n, low, high, p: p[at] ?? 1 };
  };
  const rows = table.relations.map((relation, index): Row => {
    const [layer = 0, head = 0, direction = 0] = best.subarray(3 * index, 3 * index + 3);
    const score = scoreAt(index, layer, head, direction);
    const baseline = (baselines[index] ?? 0) / score.n;
    return {
      index,
      relation,
      head: [layer, head, table.stack],
      baseline,
      ...score,
      direction: DIRECTIONS[direction] ?? DIRECTIONS[0],
      offset: offsets[index] ?? 0,
      gain: score.accuracy - baseline,
      other_texts: known(others, index),
      other_baseline: known(other_baselines, index),
    };
  });
  return {
    layers,
    heads,
    stack: table.stack,
    other,
    rows,
    score: (row, layer, head, direction) =>
      scoreAt(row.index, layer, head, DIRECTIONS.indexOf(direction)),
  };
}

const keyOf = ({ head, ...row }: Row, column: Column): number | string =>
  column === "head" ? head[0] * 1e4 + head[1] : row[column];

type Wish = Pick<TableState, "min_count" | "sort" | "descending">;

/** Return the requested rows in their order. */
export function chosenRows(rows: Row[], wish: Wish): Row[] {
  const way = wish.descending ? -1 : 1;
  return rows
    .filter(({ n }) => n >= wish.min_count)
    .sort((a, b) => {
      // Gains that may be due to chance come after the significant ones.
      const certain = Number(b.p <= LEVEL) - Number(a.p <= LEVEL);
      if (wish.sort === "gain" && wish.descending && certain) return certain;
      const x = keyOf(a, wish.sort);
      const y = keyOf(b, wish.sort);
      return x === y ? a.index - b.index : way * (x < y ? -1 : 1);
    });
}

/** Return the order after a click on a heading: numbers start with the largest. */
export const sorted = (wish: Wish, column: Column): Pick<Wish, "sort" | "descending"> => ({
  sort: column,
  descending:
    wish.sort === column ? !wish.descending : !["relation", "head", "direction"].includes(column),
});

/** Return whether the best head of a row is less accurate than the best fixed offset. */
export const isBelow = ({ gain }: Row): boolean => gain < 0;

/**
 * Return whether the row of a relation includes its subtypes; "" for a relation without subtypes.
 */
function subtypes({ relation }: Row, relations: string[]): string {
  if (relation.endsWith(POOLED)) return "with all subtypes";
  return relations.includes(relation + POOLED) ? "without subtypes" : "";
}

/** Return the printed texts of a row. */
export const printed = (row: Row) => ({
  relation: row.relation,
  n: row.n.toLocaleString("en"),
  head: headName(row.head),
  direction: row.direction === DIRECTIONS[0] ? "governor" : "dependent",
  accuracy: percent(row.accuracy, row.n),
  interval: `${percent(row.low, row.n)}–${percent(row.high, row.n)}`,
  baseline: percent(row.baseline, row.n),
  offset: signed(row.offset),
  gain: percent(row.gain, row.n),
  other_texts: row.other_texts < 0 ? "–" : percent(row.other_texts, row.n),
  star: row.p <= LEVEL ? "*" : "",
});

/** Describe the result of a head on a relation. */
function scoreText(score: Score, row: Row): string {
  const { n, accuracy, low, high, p } = score;
  const interval = `${percent(low, n)} to ${percent(high, n)}`;
  return (
    `${percentOf(accuracy, n)} of ${counted(n, "word")} (95\u00a0% interval ${interval}) · ` +
    `best offset ${signed(row.offset)}: ${percentOf(row.baseline, n)} · ${printP(p)}`
  );
}

/** Describe a row of a scene. */
export function rowText(row: Row, { relations, other }: Scene): string {
  const name = [row.relation, subtypes(row, relations)].filter(Boolean).join(", ");
  const below = isBelow(row) ? ", below the offset" : "";
  const elsewhere =
    other && row.other_texts >= 0
      ? ` · on ${other.corpus}: ${percentOf(row.other_texts, row.n)}, best offset there ` +
        percentOf(row.other_baseline, row.n)
      : "";
  return (
    `${name}: best ${headName(row.head)}${below}, ${row.direction}, ` +
    `${scoreText(row, row)}${elsewhere}`
  );
}

/** Scores of every head on the selected relation, in the selected direction. */
export interface Heat {
  layers: number;
  heads: number;
  /** Scores of all heads, layer by layer. */
  scores: Score[];
  /** Largest accuracy. */
  most: number;
  selected: Cell[];
}

/** Complete description of the figure in a state. */
export interface Scene {
  state: TableState;
  /** Names of all relations. */
  relations: string[];
  rows: Row[];
  /** Sentence about the number of rows, the filter and the order. */
  said: string;
  stack: string;
  /** Corpus of other texts, if the head of each row was measured on it. */
  other: Decoded["other"];
  /** Columns of the table. */
  columns: Column[];
  chosen: Row | undefined;
  heat: Heat | undefined;
}

/**
 * Return the scene of a state. It has all requested rows; in a picture, each relation occurs once,
 * and only the first rows and the selected row are shown.
 */
export function sceneOf(
  state: TableState,
  relations: Decoded | undefined,
  isPicture = false,
): Scene {
  const all = relations?.rows ?? [];
  const chosen = all.find(({ relation }) => relation === state.relation);
  const whole = chosenRows(all, state);
  const most = state.picture_rows;
  const single = isPicture ? eachOnce(whole, chosen) : whole;
  const rows = isPicture ? firstRows(single, chosen, most) : whole;
  const first = `the first ${most}${rows.length > most ? " and the chosen one" : ""}`;
  const cut = rows.length < single.length && first;
  const said = [`${rows.length} of ${all.length} rows`, cut, ...wishes(state)];
  return {
    state,
    relations: all.map(({ relation }) => relation),
    rows,
    chosen,
    stack: relations?.stack ?? "self",
    other: relations?.other,
    columns: COLUMNS.filter((column) => column !== "other_texts" || relations?.other),
    said: inLine(said),
    heat:
      relations && chosen && !(isPicture && chosen.relation === ALL)
        ? heatOf(state, relations, chosen)
        : undefined,
  };
}

const firstRows = (rows: Row[], chosen: Row | undefined, most = MOST_ROWS): Row[] =>
  rows.filter((row, i) => i < most || (row === chosen && row.relation !== ALL));

/**
 * Return one row per relation, including its subtypes if there are any, without the row of all
 * words.
 */
function eachOnce(rows: Row[], chosen: Row | undefined): Row[] {
  const names = new Set(rows.map(({ relation }) => relation));
  const left = rows.filter(
    (row) => row.relation !== ALL && (row === chosen || !names.has(row.relation + POOLED)),
  );
  return left.length ? left : rows;
}

function wishes({ min_count, sort, descending }: TableState): string[] {
  const [down, up] = ORDERS[sort] ?? ["largest first", "smallest first"];
  return [
    min_count > 1 ? `at least ${min_count.toLocaleString("en")} words` : "",
    `by ${SORTED[sort] ?? sort}, ${descending ? down : up}` +
      (sort === "gain" && descending ? ", significant gains first" : ""),
  ];
}

function heatOf(state: TableState, relations: Decoded, row: Row): Heat {
  const { layers, heads, stack } = relations;
  const scores = Array.from({ length: layers * heads }, (_, i) =>
    relations.score(row, Math.floor(i / heads), i % heads, state.direction),
  );
  return {
    layers,
    heads,
    scores,
    most: Math.max(0, ...scores.map(({ accuracy }) => accuracy)),
    selected: state.selected
      .filter(([, , of]) => of === stack)
      .map(([layer, head]) => [layer, head]),
  };
}

export const mapTitle = ({ relation }: TableState): string =>
  `every head on ${relation === ALL ? "all words" : relation}`;

/** Describe the accuracy of one head on the selected relation. */
export function cellText({ heat, chosen }: Scene, [layer, head]: Cell): string {
  const score = heat?.scores[layer * heat.heads + head];
  if (score && Number.isNaN(score.p)) return "no attention";
  return score && chosen ? scoreText(score, chosen) : "";
}

/** Return the numbers of the head under the pointer, or of the selected head; "" without one. */
export function readout(scene: Scene, pointed?: Cell): string {
  const cell = pointed ?? scene.heat?.selected.at(-1);
  const text = cell && cellText(scene, cell);
  return text ? `${headName([...cell, scene.stack])}: ${text}` : "";
}

export const ofStack = (stack: string) => (stack === "self" ? "" : `, ${stack} attention`);

/** Return the caption of the table. `bars`: Whether accuracies have bars. */
export function captionOf(scene: Scene, bars: boolean): Caption {
  const { state, said, stack, heat } = scene;
  const { relation, direction, selected, labels, _source } = state;
  return caption(FIGURE + ofStack(stack), {
    model: _source.model,
    head: headNames(selected, { labels }),
    quantity: "accuracy: how often the most attended word is the governor",
    scale: heat ? `map: linear color scale, 0 to ${percentOf(heat.most, 100)}` : "",
    notes: [
      said,
      heat ? `map: every head on ${relation}, ${direction}` : "",
      _source.note,
      ...meaning(scene, bars),
    ],
  });
}

/** Return notes on how to read the rows. */
export const meaning = ({ rows, other }: Scene, bars: boolean): string[] => [
  "heads are chosen and scored on the same words",
  other ? `${other.corpus}: accuracy of the same head on ${other.description}` : "",
  bars ? "bar: accuracy, with its interval and a tick at the best fixed offset" : "",
  rows.some(isBelow) ? "dashed: best head below the offset" : "",
  rows.some(({ relation }) => relation.endsWith(POOLED)) ? "(all): subtypes included" : "",
  "intervals: Wilson, 95\u00a0%",
  "p: McNemar's test against the best fixed offset, Holm's correction",
  "*: corrected p ≤ 0.05",
];

/** Return the table of the first rows and the selected one. */
export function tableOf({ rows, chosen, other }: Scene): Table {
  const columns = ["relation", "n", "best head", "direction", "accuracy %", "95 % interval"];
  if (other) columns.push(`on ${other.corpus} %`);
  columns.push("offset", "offset %", "gain");
  return {
    columns,
    rows: firstRows(rows, chosen).map((row) => {
      const { relation, head, accuracy, interval, offset, baseline, gain, star, other_texts } =
        printed(row);
      const { n, direction } = row;
      const cells = [relation, n, head, direction, accuracy, interval];
      if (other) cells.push(other_texts);
      cells.push(offset, baseline, gain + star);
      return cells;
    }),
  };
}
