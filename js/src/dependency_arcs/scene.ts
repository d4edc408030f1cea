import { type Caption, caption, type Table } from "../shared/caption.js";
import { inLine } from "../shared/in_line.js";
import { counted, percentOf, signed } from "../shared/numbers.js";
import { ALL } from "../shared/relation_types.js";
import type { Answerer, AnswererTexts, Answers } from "./answerer.js";
import { answererOf } from "./answerers.js";
import type { ArcsState, DrawnSentence } from "./state.js";
import {
  arcsOf,
  decodeTree,
  hasRelation,
  numberedWord,
  type Predicted,
  type Tree,
  wordText,
} from "./tree.js";

/** Number of table rows that a notebook stores. */
const MOST_ROWS = 20;

/** Sentence with its answers, and the user's filter. */
export interface Scene {
  state: ArcsState;
  drawn: DrawnSentence;
  tree: Tree;
  answerer: Answerer;
  named: AnswererTexts;
  answers: Answers | undefined;
  /** Predicted arcs of the relation. */
  shown: Predicted[];
  /** Title, and the text about how often the answers are right, here and in the treebank. */
  title: string;
  rightness: string;
}

/** Return the scene of a state; undefined before the sentence arrives. */
export function sceneOf(state: ArcsState): Scene | undefined {
  const { _drawn: drawn, relation } = state;
  if (!drawn) return undefined;
  const tree = decodeTree(drawn);
  const answerer = answererOf(state._source);
  const named = answerer.named(state, drawn);
  const answers = answerer.answers(drawn, tree, state);
  const shown = arcsOf(tree, answers?.predicted ?? [], relation);
  const relations = relation === ALL ? "all relations" : relation;
  const title = inLine([named.title, relations, named.arcs]);
  const rightness = answers
    ? rightnessText(answers.outcomes(relation, shown), state._measured)
    : "";
  return { state, drawn, tree, answerer, named, answers, shown, title, rightness };
}

function rightnessText(outcomes: boolean[], measured: ArcsState["_measured"]): string {
  const right = outcomes.filter(Boolean).length;
  const here = outcomes.length
    ? `right on ${right} of ${counted(outcomes.length, "word")} here`
    : "no such word here";
  if (!measured) return here;
  const { correct, n, baseline, offset } = measured;
  return (
    `${here} · ${percentOf(correct / n, n)} of ${n.toLocaleString("en")} in the treebank ` +
    `(best offset ${signed(offset)}: ${percentOf(baseline, n)})`
  );
}

/** Return the source of the sentence, and the units of its words. */
export const sourceTexts = ({ drawn, state: { _source } }: Scene) =>
  [_source.model, drawn.name, _source.note].filter(Boolean);

/** Return the caption. `brief`: Whether the table has only its first rows. */
export function captionOf(scene: Scene, brief = false): Caption {
  const { drawn, named, answers, rightness } = scene;
  const { relation } = scene.state;
  const [model = "", ...source] = sourceTexts(scene);
  const words = drawn.problem ? 0 : listed(scene).length;
  const cut = `the table lists the first ${MOST_ROWS} of ${words} words`;
  const notes = answers?.notes(rightness) ?? [];
  return caption(`Dependency arcs${answers ? ": annotated above, predicted below" : ""}`, {
    model,
    head: named.caption,
    quantity: answers?.quantity ?? "",
    scale: answers?.scale ?? "",
    notes: [
      ...source,
      `sentence ${drawn.sentence}`,
      relation === ALL ? "all relations" : `relation ${relation}`,
      ...notes,
      heldTexts(scene).join("; "),
      brief && words > MOST_ROWS ? cut : "",
      drawn.problem,
    ],
  });
}

/**
 * Return the heights of the bars under the words while a word is active, as shares of the highest.
 */
export function sharesOf({ answers }: Scene, word: number): number[] {
  const heights = answers?.bars(word) ?? [];
  const most = Math.max(...heights);
  return heights.map((height) => (most > 0 ? height / most : 0));
}

/** Return the held word that pictures mark. */
export const heldWord = ({ answerer, answers, state: { word } }: Scene): number | undefined =>
  answerer.keepsWord && answers ? (word ?? undefined) : undefined;

/**
 * Return the texts about the held word in pictures: its governors, and the reasons for the answer.
 */
export function heldTexts(scene: Scene): string[] {
  const word = heldWord(scene);
  if (word === undefined) return [];
  const { arc, to } = wordTexts(scene, word);
  return [arc, to].filter(Boolean);
}

/** Return the words of the relation; with all relations, including the root. */
const listed = ({ tree, state: { relation } }: Scene) =>
  [...tree.words.keys()].filter(
    (i) => hasRelation(relation, tree.relations[i] ?? "") && (relation === ALL || i !== tree.root),
  );

/**
 * Return the table of the relation's words with both governors. `brief`: Whether to return only the
 * first rows.
 */
export function tableOf(scene: Scene, brief = false): Table {
  const { drawn, tree, answers } = scene;
  if (drawn.problem) return { columns: ["problem"], rows: [[drawn.problem]] };
  const rows = listed(scene).map((word) => {
    const governor = tree.governors[word] ?? -1;
    const annotated = [
      numberedWord(tree, word),
      tree.relations[word] ?? "",
      governor < 0 ? "" : numberedWord(tree, governor),
    ];
    return annotated.concat(answers?.cells(word) ?? []);
  });
  const columns = ["word", "relation", "governor"].concat(answers?.columns ?? []);
  return { columns, rows: brief ? rows.slice(0, MOST_ROWS) : rows };
}

/** Return the relation of a word, its predicted governor, and the other texts of its answer. */
export function wordTexts({ tree, answers }: Scene, word: number, other?: number) {
  const governor = tree.governors[word] ?? -1;
  const relation =
    governor < 0 ? "root" : `${tree.relations[word] ?? ""} of ${wordText(tree, governor)}`;
  const annotated = `${wordText(tree, word)}: ${relation}`;
  if (!answers) return { arc: annotated, from: "", to: "", spoken: "" };
  const { predicted, from, to, spoken } = answers.readout(word, other);
  return { arc: predicted ? `${annotated} · ${predicted}` : annotated, from, to, spoken };
}

/** Return the accessible names of the two halves of the figure. */
export function figureNames({ tree, shown, named }: Scene) {
  const right = shown.filter((arc) => arc.right).length;
  const root = tree.words[tree.root] ?? "none";
  const what = shown.some(({ isLink }) => isLink) ? "link" : "arc";
  return {
    annotated:
      `dependency tree of ${counted(tree.words.length, "word")}, root ${root}; the ` +
      `table lists its arcs`,
    predicted:
      `${counted(shown.length, what)} that ${named.predicts}: ${right} right, ` +
      `${shown.length - right} wrong; the table lists them`,
  };
}
