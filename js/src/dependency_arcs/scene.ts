import { type Caption, caption, headNames, NO_HEAD, type Table } from "../shared/caption.js";
import { alignedWeights, counted, digits, percent, signed } from "../shared/numbers.js";
import { ALL, type ArcsState, DIRECTIONS, type DrawnSentence } from "../shared/relation_types.js";
import { headName, paperName } from "../shared/types.js";
import { asFloat32, asInt32 } from "../shared/wire.js";

/** Weights that a readout names. */
const NAMED = 8;
/** Rows of the table that is kept with a notebook. */
const MOST_ROWS = 20;
const POOLED = " (all)";

/** From a word to the word that depends on it; words count from 0. */
export interface Arc {
  governor: number;
  dependent: number;
}

export interface Annotated extends Arc {
  relation: string;
}

/** What an attention head predicts. */
export interface Predicted extends Arc {
  /** The attention weight behind the prediction, by the direction. */
  weight: number;
  /** Whether the governor is the annotated one. */
  right: boolean;
}

export interface Tree {
  words: string[];
  relations: string[];
  /** Governor of each word, -1 for the root's. */
  governors: number[];
  annotated: Annotated[];
  root: number;
}

/** One attention head on one tree. */
export interface Reading {
  /** Of every word but the root, in their order. */
  predicted: Predicted[];
  /** Attention from a word to another. */
  weight(from: number, to: number): number;
}

export function decodeTree({ words, relations, governors: sent }: DrawnSentence): Tree {
  const governors = [...asInt32(sent)].map((governor) => governor - 1);
  const annotated = governors.flatMap((governor, dependent) =>
    governor < 0 ? [] : [{ governor, dependent, relation: relations[dependent] ?? "" }],
  );
  return { words, relations, governors, annotated, root: governors.indexOf(-1) };
}

export function decodeReading(drawn: DrawnSentence, tree: Tree, direction: ArcsState["direction"]): Reading | undefined {
  if (!drawn.predicted) return undefined;
  const m = tree.words.length;
  const map = asFloat32(drawn.predicted.map);
  const governors = asInt32(drawn.predicted.governors);
  const way = DIRECTIONS.indexOf(direction);
  const weight = (from: number, to: number) => map[from * m + to] ?? 0;
  const predicted = tree.annotated.map(({ dependent, governor: annotated }) => {
    const governor = (governors[way * m + dependent] ?? 0) - 1;
    const pair: [number, number] = way === 0 ? [dependent, governor] : [governor, dependent];
    return { dependent, governor, weight: weight(...pair), right: governor === annotated };
  });
  return { predicted, weight };
}

/** Whether a word's relation is the one chosen, or a subtype of it. */
export function hasRelation(chosen: string, relation: string): boolean {
  if (chosen === ALL || chosen === relation) return true;
  return chosen.endsWith(POOLED) && relation.split(":")[0] === chosen.slice(0, -POOLED.length);
}

/** A sentence with what an attention head predicts for it, and what of it is asked for. */
export interface Scene {
  state: ArcsState;
  drawn: DrawnSentence;
  tree: Tree;
  reading: Reading | undefined;
  /** Predicted arcs of the relation, and those of them that are drawn: from the threshold on. */
  own: Predicted[];
  shown: Predicted[];
  /** What is shown; how often the head is right, here and where it was measured. */
  title: string;
  rightness: string;
}

/** What is shown of a state; nothing before the sentence arrives. */
export function sceneOf(state: ArcsState): Scene | undefined {
  const { _drawn: drawn, relation, direction, threshold } = state;
  if (!drawn) return undefined;
  const tree = decodeTree(drawn);
  const reading = decodeReading(drawn, tree, direction);
  const isOwn = ({ dependent }: Predicted) => hasRelation(relation, tree.relations[dependent] ?? "");
  const own = (reading?.predicted ?? []).filter(isOwn);
  const shown = own.filter(({ weight }) => weight >= threshold);
  const [head, arcs] = drawn.head
    ? [`${headName(drawn.head)} · ${paperName(drawn.head)}`, direction]
    : [NO_HEAD, "annotated arcs"];
  const title = [head, relation === ALL ? "all relations" : relation, arcs].join(" · ");
  const rightness = reading ? rightnessText(own, state._measured) : "";
  return { state, drawn, tree, reading, own, shown, title, rightness };
}

const verdict = (right: boolean) => (right ? "right" : "wrong");

function rightnessText(own: Predicted[], measured: ArcsState["_measured"]): string {
  const right = own.filter((arc) => arc.right).length;
  const here = own.length ? `right on ${right} of ${counted(own.length, "word")} here` : "no such word here";
  if (!measured) return here;
  const { correct, n, baseline, offset } = measured;
  return (
    `${here} · ${percent(correct / n, n)} % of ${n.toLocaleString("en")} in the treebank ` +
    `(best offset ${signed(offset)}: ${percent(baseline, n)} %)`
  );
}

/** Whose sentence it is, and what its words are. */
export const sourceTexts = ({ drawn, state: { _source } }: Scene) => [_source.model, drawn.name, _source.note].filter(Boolean);

/** What is shown, in words; `brief` where the table has its first rows alone. */
export function captionOf(scene: Scene, brief = false): Caption {
  const { drawn, own, shown, reading, rightness } = scene;
  const { relation, direction, threshold } = scene.state;
  const [model = "", ...source] = sourceTexts(scene);
  const hidden = own.length - shown.length;
  const words = drawn.problem ? 0 : listed(scene).length;
  const cut = `the table lists the first ${MOST_ROWS} of ${words} words`;
  const predictions = [
    ...[direction, rightness, "special tokens left out, nothing renormalised"],
    "solid where the predicted governor is the annotated one, dashed elsewhere",
  ];
  return caption(`Dependency arcs${reading ? ": annotated above, predicted below" : ""}`, {
    model,
    head: drawn.head ? headNames([drawn.head]) : NO_HEAD,
    quantity: reading ? "attention weights between words" : "",
    scale: reading ? "width and opacity: square root of the weight" : "",
    notes: [
      ...[...source, `sentence ${drawn.sentence}`],
      relation === ALL ? "all relations" : `relation ${relation}`,
      ...(reading ? predictions : []),
      hidden ? `${counted(hidden, "arc")} below ${digits(threshold)} not drawn` : "",
      brief && words > MOST_ROWS ? cut : "",
      drawn.problem,
    ],
  });
}

/** The words of the relation; with all relations the root too. */
const listed = ({ tree, state: { relation } }: Scene) =>
  [...tree.words.keys()].filter((i) => hasRelation(relation, tree.relations[i] ?? "") && (relation === ALL || i !== tree.root));

/** The words of the relation with both governors; `brief` for the first ones alone. */
export function tableOf(scene: Scene, brief = false): Table {
  const { drawn, tree, reading } = scene;
  if (drawn.problem) return { columns: ["problem"], rows: [[drawn.problem]] };
  const word = (i = -1) => (i < 0 ? "" : `${i + 1} ${tree.words[i] ?? ""}`);
  const predicted = new Map(reading?.predicted.map((arc) => [arc.dependent, arc]));
  const print = alignedWeights(Math.max(...[...predicted.values()].map(({ weight }) => weight), 0));
  const rows = listed(scene).map((i) => {
    const arc = predicted.get(i);
    const found = arc ? [word(arc.governor), print(arc.weight), verdict(arc.right)] : ["", "", ""];
    const annotated = [word(i), tree.relations[i] ?? "", word(tree.governors[i])];
    return reading ? [...annotated, ...found] : annotated;
  });
  const more = reading ? ["predicted", "weight", "right or wrong"] : [];
  const columns = ["word", "relation", "governor", ...more];
  return { columns, rows: brief ? rows.slice(0, MOST_ROWS) : rows };
}

function strongest(tree: Tree, word: number, weight: (other: number) => number): string {
  const others = tree.words
    .map((text, i) => ({ text: i === word ? "itself" : text, weight: weight(i) }))
    .sort((a, b) => b.weight - a.weight);
  const more = others.slice(NAMED);
  const rest = more.reduce((sum, { weight }) => sum + weight, 0);
  const print = alignedWeights(Math.max(rest, others[0]?.weight ?? 0));
  const named = others.slice(0, NAMED).map(({ text, weight }) => `${text} ${print(weight)}`);
  if (more.length) named.push(`${counted(more.length, "other")} ${print(rest)}`);
  return named.join(" · ");
}

/** What a word attends to and who attends to it, and the governor that follows. */
export function wordTexts({ tree, reading }: Scene, word: number) {
  const textOf = (i: number) => tree.words[i] ?? "";
  const governor = tree.governors[word] ?? -1;
  const relation = governor < 0 ? "root" : `${tree.relations[word] ?? ""} of ${textOf(governor)}`;
  const annotated = `${textOf(word)}: ${relation}`;
  if (!reading) return { arc: annotated, from: "", to: "" };
  const found = reading.predicted.find(({ dependent }) => dependent === word);
  const predicted = found && ` · predicted ${textOf(found.governor)} with ${digits(found.weight)}, ${verdict(found.right)}`;
  return {
    arc: annotated + (predicted ?? ""),
    from: `attends to ${strongest(tree, word, (other) => reading.weight(word, other))}`,
    to: `is attended to by ${strongest(tree, word, (other) => reading.weight(other, word))}`,
  };
}

/** What assistive technology reads on the two halves of the figure. */
export function figureNames({ tree, shown, drawn, state }: Scene) {
  const right = shown.filter((arc) => arc.right).length;
  const root = tree.words[tree.root] ?? "none";
  const head = drawn.head ? headName(drawn.head) : "no head";
  return {
    annotated: `dependency tree of ${counted(tree.words.length, "word")}, root ${root}; the table lists its arcs`,
    predicted:
      `${counted(shown.length, "arc")} that ${head} predicts, ${state.direction}: ${right} right, ` +
      `${shown.length - right} wrong; the table lists them`,
  };
}
