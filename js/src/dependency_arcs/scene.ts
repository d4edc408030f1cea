import { type Caption, caption, headNames, NO_HEAD, type Table } from "../shared/caption.js";
import { alignedWeights, counted, digits, figures, percent, signed } from "../shared/numbers.js";
import { signedValue } from "../shared/quantity.js";
import {
  ALL,
  type ArcsState,
  DIRECTIONS,
  type DrawnSentence,
  type Votes,
} from "../shared/relation_types.js";
import { headName, paperName } from "../shared/types.js";
import { asFloat32, asInt32 } from "../shared/wire.js";
import { edges, linkedTo, nearestText, pairText, readingOfStructure } from "./structure.js";
import type { Distances, Predicted, Reading, Tree } from "./tree_types.js";

/** Weights that a readout names. */
const NAMED = 8;
/** Rows of the table that is kept with a notebook. */
const MOST_ROWS = 20;
const POOLED = " (all)";
/** Stands for the governor of the root. */
export const ROOT = "root";

export function decodeTree({ words, relations, governors: sent }: DrawnSentence): Tree {
  const governors = [...asInt32(sent)].map((governor) => governor - 1);
  const annotated = governors.flatMap((governor, dependent) =>
    governor < 0 ? [] : [{ governor, dependent, relation: relations[dependent] ?? "" }],
  );
  return { words, relations, governors, annotated, root: governors.indexOf(-1) };
}

export function decodeReading(
  drawn: DrawnSentence,
  tree: Tree,
  direction: ArcsState["direction"],
): Reading | undefined {
  if (drawn.structure) return readingOfStructure(drawn.structure, tree);
  if (!drawn.predicted) return undefined;
  const m = tree.words.length;
  const map = asFloat32(drawn.predicted.map);
  const governors = asInt32(drawn.predicted.governors);
  const way = DIRECTIONS.indexOf(direction);
  if (drawn.predicted.root) return readingOfProbe(drawn.predicted, tree, map, governors);
  const weight = (from: number, to: number) => map[from * m + to] ?? 0;
  const predicted = tree.annotated.map(({ dependent, governor: annotated }) => {
    const governor = (governors[way * m + dependent] ?? 0) - 1;
    const pair: [number, number] = way === 0 ? [dependent, governor] : [governor, dependent];
    return { dependent, governor, weight: weight(...pair), right: governor === annotated };
  });
  return { predicted, weight };
}

/** What a probe answers: of every word, the root too. */
function readingOfProbe(
  { root, votes }: NonNullable<DrawnSentence["predicted"]>,
  tree: Tree,
  map: Float32Array,
  governors: Int32Array,
): Reading {
  const m = tree.words.length;
  const ofRoot = root ? asFloat32(root) : new Float32Array();
  const weight = (word: number, other: number) =>
    (other < 0 ? ofRoot[word] : map[word * m + other]) ?? 0;
  const predicted = tree.words.map((_, dependent) => {
    const governor = (governors[dependent] ?? 0) - 1;
    return {
      dependent,
      governor,
      weight: weight(dependent, governor),
      right: governor === tree.governors[dependent],
    };
  });
  return { predicted, weight, votes: votes ? (word) => votesText(votes, word) : undefined };
}

/** The heads whose votes for a word's governor are farthest from 0. */
function votesText({ heads, places, values, sums }: Votes, word: number): string {
  const count = places.shape[1] ?? 0;
  const print = signedValue(figures);
  const wordVotes = [...asFloat32(values).subarray(word * count, (word + 1) * count)];
  const named = wordVotes.map((value, i) => {
    const place = asInt32(places)[word * count + i] ?? 0;
    const head = place >> 1;
    const back = place & 1;
    return (
      `${headName([Math.floor(head / heads), head % heads, ""])}${back ? " back" : ""} ` +
      `${print(value)}`
    );
  });
  const back = named.some((text) => text.includes(" back "))
    ? " (back: attention from the governor)"
    : "";
  return (
    `score ${print(asFloat32(sums)[word] ?? 0)} of all heads, most by ` +
    `${named.join(" · ")}${back}`
  );
}

/** Whether a word's relation is the one chosen, or a subtype of it. */
export function hasRelation(chosen: string, relation: string): boolean {
  if (chosen === ALL || chosen === relation) return true;
  return chosen.endsWith(POOLED) && relation.split(":")[0] === chosen.slice(0, -POOLED.length);
}

/** A sentence with the predictions of an attention head, and the user's filter. */
export interface Scene {
  state: ArcsState;
  drawn: DrawnSentence;
  tree: Tree;
  reading: Reading | undefined;
  /** Predicted arcs of the relation, and the drawn arcs: those above the threshold. */
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
  // A link that is not annotated has no relation.
  const isOwn = ({ dependent, isLink, right }: Predicted) =>
    isLink && !right ? relation === ALL : hasRelation(relation, tree.relations[dependent] ?? "");
  const predicted = (reading?.predicted ?? []).filter(isOwn);
  const shown = predicted.filter(({ weight }) => weight >= threshold);
  const layer = reading?.structure ? ` · layer ${reading.structure.layer}` : "";
  const probe = state._source.probe && state._source.probe + layer;
  const [head, arcs] = drawn.head
    ? [`${headName(drawn.head)} · ${paperName(drawn.head)}`, direction]
    : probe
      ? [probe, "annotated and predicted arcs"]
      : [NO_HEAD, "annotated arcs"];
  const title = [head, relation === ALL ? "all relations" : relation, arcs].join(" · ");
  const outcomes = reading?.structure
    ? foundIn(tree, reading.structure, relation)
    : predicted.map(({ right }) => right);
  const rightness = reading ? rightnessText(outcomes, state._measured) : "";
  return { state, drawn, tree, reading, own: predicted, shown, title, rightness };
}

/** Of the words of a relation that count: whether a structural probe found what they hang on. */
const foundIn = ({ relations }: Tree, { found }: Distances, relation: string): boolean[] =>
  relations.flatMap((label, word) => (hasRelation(relation, label) ? (found(word) ?? []) : []));

const verdict = (right: boolean) => (right ? "right" : "wrong");

function rightnessText(outcomes: boolean[], measured: ArcsState["_measured"]): string {
  const right = outcomes.filter(Boolean).length;
  const here = outcomes.length
    ? `right on ${right} of ${counted(outcomes.length, "word")} here`
    : "no such word here";
  if (!measured) return here;
  const { correct, n, baseline, offset } = measured;
  return (
    `${here} · ${percent(correct / n, n)} % of ${n.toLocaleString("en")} in the treebank ` +
    `(best offset ${signed(offset)}: ${percent(baseline, n)} %)`
  );
}

/** The source of the sentence, and the units of its words. */
export const sourceTexts = ({ drawn, state: { _source } }: Scene) =>
  [_source.model, drawn.name, _source.note].filter(Boolean);

/** What both matrices are of. */
export const DISTANCES = "distances between words, in edges of the tree";

/** What is shown, in words; `brief` where the table has its first rows alone. */
export function captionOf(scene: Scene, brief = false): Caption {
  const { drawn, own, shown, reading, rightness } = scene;
  const { relation, direction, threshold, _source } = scene.state;
  const probe = _source.probe;
  const structure = reading?.structure;
  const what = probe ? "probability" : "weight";
  const [model = "", ...source] = sourceTexts(scene);
  const hidden = own.length - shown.length;
  const words = drawn.problem ? 0 : listed(scene).length;
  const cut = `the table lists the first ${MOST_ROWS} of ${words} words`;
  const predictions = structure
    ? [
        rightness,
        "below the minimum spanning tree of the predicted distances, without punctuation: " +
          "solid where annotated, dashed elsewhere",
      ]
    : [
        ...(probe
          ? [rightness]
          : [direction, rightness, "special tokens left out, nothing renormalised"]),
        "solid where the predicted governor is the annotated one, dashed elsewhere",
      ];
  return caption(`Dependency arcs${reading ? ": annotated above, predicted below" : ""}`, {
    model,
    head: drawn.head
      ? headNames([drawn.head])
      : structure
        ? `${probe}, layer ${structure.layer}`
        : (probe ?? NO_HEAD),
    quantity: reading
      ? structure
        ? DISTANCES
        : probe
          ? "probability of each governor"
          : "attention weights between words"
      : "",
    scale: structure
      ? `linear, 0 to ${edges(structure.most)} in both matrices`
      : reading
        ? `width and opacity: square root of the ${what}`
        : "",
    notes: [
      ...source,
      `sentence ${drawn.sentence}`,
      relation === ALL ? "all relations" : `relation ${relation}`,
      ...(reading ? predictions : []),
      hidden ? `${counted(hidden, "arc")} below ${digits(threshold)} not drawn` : "",
      voted(scene).join("; "),
      brief && words > MOST_ROWS ? cut : "",
      drawn.problem,
    ],
  });
}

/** What a word gives to every word, or gets from it, as shares of the most. */
export function sharesOf({ tree, reading, state }: Scene, word: number): number[] {
  if (reading?.structure) return [];
  const forward = state.direction === DIRECTIONS[0] || Boolean(state._source.probe);
  const weights = tree.words.map(
    (_, other) => (forward ? reading?.weight(word, other) : reading?.weight(other, word)) ?? 0,
  );
  const most = Math.max(...weights);
  return weights.map((weight) => (most > 0 ? weight / most : 0));
}

/** The word of a probe that a picture marks. */
export const heldWord = ({ reading, state: { word } }: Scene): number | undefined =>
  reading?.votes || reading?.structure ? (word ?? undefined) : undefined;

/** Of a probe: the chosen word with its governors, and what the probe went by. */
export function voted(scene: Scene): string[] {
  const word = heldWord(scene);
  if (word === undefined) return [];
  const { arc, to } = wordTexts(scene, word);
  return [arc, to];
}

/** The words of the relation; with all relations the root too. */
const listed = ({ tree, state: { relation } }: Scene) =>
  [...tree.words.keys()].filter(
    (i) => hasRelation(relation, tree.relations[i] ?? "") && (relation === ALL || i !== tree.root),
  );

/** The words of the relation with both governors; `brief` for the first ones alone. */
export function tableOf(scene: Scene, brief = false): Table {
  const { drawn, tree, reading } = scene;
  if (drawn.problem) return { columns: ["problem"], rows: [[drawn.problem]] };
  const word = (i = -1) => (i < 0 ? "" : `${i + 1} ${tree.words[i] ?? ""}`);
  const governor = (i: number) => (i < 0 ? ROOT : word(i));
  const structure = reading?.structure;
  if (structure) {
    const rows = listed(scene).map((i) => {
      const isRight = structure.found(i);
      const outcome = isRight === undefined ? "not counted" : verdict(isRight);
      const linked = linkedTo(reading, i).map(governor).join(", ");
      return [
        word(i),
        tree.relations[i] ?? "",
        word(tree.governors[i]),
        linked,
        outcome,
        edges(structure.depth(i)),
      ];
    });
    const columns = [
      "word",
      "relation",
      "governor",
      "linked to",
      "right or wrong",
      "predicted depth",
    ];
    return { columns, rows: brief ? rows.slice(0, MOST_ROWS) : rows };
  }
  const predicted = new Map(reading?.predicted.map((arc) => [arc.dependent, arc]));
  const print = alignedWeights(Math.max(...[...predicted.values()].map(({ weight }) => weight), 0));
  const rows = listed(scene).map((i) => {
    const arc = predicted.get(i);
    const readoutLines = arc
      ? [governor(arc.governor), print(arc.weight), verdict(arc.right)]
      : ["", "", ""];
    const annotated = [word(i), tree.relations[i] ?? "", word(tree.governors[i])];
    return reading ? [...annotated, ...readoutLines] : annotated;
  });
  const what = scene.state._source.probe ? "probability" : "weight";
  const more = reading ? ["predicted", what, "right or wrong"] : [];
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

/** The words that a word attends to, the words that attend to it, and the predicted governor. */
export function wordTexts({ tree, reading }: Scene, word: number, other?: number) {
  const textOf = (i: number) => tree.words[i] ?? "";
  const governor = tree.governors[word] ?? -1;
  const relation = governor < 0 ? "root" : `${tree.relations[word] ?? ""} of ${textOf(governor)}`;
  const annotated = `${textOf(word)}: ${relation}`;
  if (!reading) return { arc: annotated, from: "", to: "" };
  const { structure } = reading;
  if (structure) {
    const linked = linkedTo(reading, word).map((i) => (i < 0 ? ROOT : textOf(i)));
    return {
      arc:
        `${annotated} · ` +
        `${linked.length ? `linked to ${linked.join(", ")}` : "punctuation, not linked"}`,
      from: other === undefined ? "" : pairText(tree, structure, word, other),
      to: nearestText(tree, structure, word),
    };
  }
  const prediction = reading.predicted.find(({ dependent }) => dependent === word);
  const to = prediction && (prediction.governor < 0 ? ROOT : textOf(prediction.governor));
  const predicted =
    prediction &&
    ` · predicted ${to} with ${digits(prediction.weight)}, ${verdict(prediction.right)}`;
  if (reading.votes)
    return {
      arc: annotated + (predicted ?? ""),
      from:
        `governors: ${ROOT} ${digits(reading.weight(word, -1))} · ` +
        `${strongest(tree, word, (other) => reading.weight(word, other))}`,
      to: reading.votes(word),
    };
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
  const head = drawn.head ? headName(drawn.head) : (state._source.probe ?? "no head");
  const what = shown.some(({ isLink }) => isLink) ? "link" : "arc";
  return {
    annotated:
      `dependency tree of ${counted(tree.words.length, "word")}, root ${root}; the ` +
      `table lists its arcs`,
    predicted:
      `${counted(shown.length, what)} that ${head} ` +
      `predicts${state._source.probe ? "" : `, ${state.direction}`}: ${right} right, ` +
      `${shown.length - right} wrong; the table lists them`,
  };
}
