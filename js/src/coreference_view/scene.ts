import { type Caption, caption, headNames, NO_HEAD, type Table } from "../shared/caption.js";
import { counted, percentOf } from "../shared/numbers.js";
import { shareText } from "../shared/percent_text.js";
import type { TextState } from "../shared/text_frame.js";
import { type Head, headName } from "../shared/types.js";
import type { Outcome } from "../shared/verdict.js";
import { asFloat32, asInt32, type WireArray } from "../shared/wire.js";

const FIGURE = "Coreference: mentions and the antecedents that a head chooses";
/** Number of rows of the table next to a picture. */
const MOST_ROWS = 20;
/** Number of antecedents in a readout. */
const MOST_NAMED = 6;
const ONCE = "the window mentions this once: there is no antecedent to find";
const NOT_EVALUATED =
  "not evaluated: no mention of its cluster precedes it in this window, " +
  "or a longer one with its head word stands for it";

/** Candidates of a head's choice. */
export const VARIANTS = ["words", "mentions"] as const;
export type Variant = (typeof VARIANTS)[number];
const AMONG = { words: "among all words", mentions: "among preceding mentions" };

/** Mention; its words are counted from the first word of the window. */
export interface Mention {
  mention: number;
  words: number[];
  head: number;
  /** Number of the cluster, from 1; 0 for a mention that occurs only once in the window. */
  cluster: number;
  kind: string;
}

/** Text of one window, and the choices of the shown head for its E evaluated mentions. */
export interface DrawnWindow {
  document: number;
  window: number;
  windows: number;
  name: string;
  /** Index of the window's first word in its document. */
  start: number;
  /** Number of words of the document. */
  length: number;
  words: string[];
  mentions: Mention[];
  /** Evaluated mentions with the mention chosen by each rule, or -1 if it chose none. */
  evaluated: { mention: number; antecedents: number[]; baselines: Record<string, number> }[];
  head: Head | null;
  /**
   * int32 [2, E] words, float32 [2, E] weights, and number of right choices in all documents, by
   * variant.
   */
  chosen: { words: WireArray; weights: WireArray; correct: number[] } | null;
  /** Message of a page without the data of this document. */
  problem?: string;
}

export interface CoreferenceState extends TextState {
  document: number;
  window: number;
  mention: number | null;
  variant: Variant;
  _drawn: DrawnWindow | null;
  _source: TextState["_source"] & { n: number; baselines: Record<string, number> };
}

/** Mention with antecedents in the window, and the choices for it. */
interface Evaluated {
  mention: Mention;
  antecedents: Mention[];
  /** Mentions chosen by each rule. */
  baselines: [rule: string, mention: Mention | undefined][];
  /** Word that the head chooses. */
  choice: { word: number; weight: number; right: boolean } | undefined;
}

/** Complete description of a window. */
export interface Scene {
  state: CoreferenceState;
  drawn: DrawnWindow;
  /** Selectable mentions, which belong to clusters of several, in the order of the text. */
  asked: Mention[];
  evaluated: Evaluated[];
  /** Selected mention, with its choices if it is evaluated. */
  marked: Mention | undefined;
  own: Evaluated | undefined;
}

/** Return the scene of a state; undefined before the text arrives. */
export function sceneOf(state: CoreferenceState): Scene | undefined {
  const { _drawn: drawn, variant, mention: wanted } = state;
  if (!drawn) return undefined;
  const mentions = new Map(drawn.mentions.map((mention) => [mention.mention, mention]));
  const words = drawn.chosen && asInt32(drawn.chosen.words);
  const weights = drawn.chosen && asFloat32(drawn.chosen.weights);
  const first = VARIANTS.indexOf(variant) * drawn.evaluated.length;
  const evaluated = drawn.evaluated.flatMap((entry, i): Evaluated[] => {
    const mention = mentions.get(entry.mention);
    if (!mention) return [];
    const antecedents = entry.antecedents.flatMap((index) => mentions.get(index) ?? []);
    const baselines = Object.entries(entry.baselines).map(
      ([rule, index]): Evaluated["baselines"][number] => [rule, mentions.get(index)],
    );
    if (!words || !weights) return [{ mention, antecedents, baselines, choice: undefined }];
    const word = words[first + i] ?? -1;
    const right = antecedents.some(({ head }) => head === word);
    const choice = { word, weight: weights[first + i] ?? 0, right };
    return [{ mention, antecedents, baselines, choice }];
  });
  return {
    state,
    drawn,
    evaluated,
    asked: drawn.mentions.filter(({ cluster }) => cluster > 0),
    marked: mentions.get(wanted ?? -1),
    own: evaluated.find(({ mention }) => mention.mention === wanted),
  };
}

/** Return the name of a mention for the readout: its text, cluster and position. */
function mentionName({ drawn }: Scene, mention: Mention | undefined): string {
  if (!mention) return "nothing";
  const text = mention.words.map((word) => drawn.words[word] ?? "").join(" ");
  const place = drawn.start + (mention.words[0] ?? 0);
  return `${text} (${mention.cluster ? `cluster ${mention.cluster}, ` : ""}word ${place})`;
}

/** Return the label for the button of a mention. */
export const mentionLabel = (scene: Scene, mention: Mention) =>
  `${mentionName(scene, mention)}, ${mention.kind}`;

/**
 * Return the shown head with its candidates, and its accuracy here and in the whole study; ""
 * without a head.
 */
export function titleParts({ drawn, evaluated, state }: Scene): [head: string, accuracy: string] {
  if (!drawn.head || !drawn.chosen) return ["", ""];
  const { variant, _source } = state;
  const right = evaluated.filter(({ choice }) => choice?.right);
  const here = `right on ${right.length} of ${counted(evaluated.length, "mention")} here`;
  const correct = drawn.chosen.correct[VARIANTS.indexOf(variant)] ?? 0;
  const all = `${shareOf(correct, _source.n)} of ${_source.n.toLocaleString("en")} in the study`;
  const head = [headName(drawn.head), AMONG[variant]].join(" · ");
  return [head, `${here} · ${all}`];
}

const shareOf = (right: number, n: number) => percentOf(right / n, n);

/** Return the notes below the text of a picture, which the page has in its caption. */
export function notesOf({ drawn, state: { _source } }: Scene): string[] {
  const rules = Object.entries(_source.baselines).map(
    ([name, right]) => `${name} ${shareOf(right, _source.n)}`,
  );
  const end = drawn.start + drawn.words.length - 1;
  return [
    `words ${drawn.start}–${end} of ${drawn.length}`,
    "special tokens left out, nothing renormalized",
    `rules in the study: ${rules.join(", ")}`,
  ];
}

/** Return the caption. */
export function captionOf(scene: Scene): Caption {
  const { drawn, evaluated, state } = scene;
  const [range = "", ...notes] = notesOf(scene);
  const listed = `the table lists ${MOST_ROWS} of ${evaluated.length} evaluated mentions`;
  return caption(FIGURE, {
    model: state._source.model,
    head: drawn.head ? headNames([drawn.head]) : NO_HEAD,
    quantity: drawn.head ? "attention weights from the mention's head word" : "",
    notes: [
      drawn.name,
      range,
      drawn.head ? AMONG[state.variant] : "",
      titleParts(scene)[1],
      ...notes,
      evaluated.length > MOST_ROWS ? listed : "",
    ],
  });
}

/**
 * Return the table of choices for the window's evaluated mentions, with the selected mention first.
 */
export function tableOf(scene: Scene): Table {
  const { drawn, evaluated, own } = scene;
  const others = evaluated.filter((mention) => mention !== own);
  const listed = (own ? [own, ...others] : others).slice(0, MOST_ROWS);
  const rows = listed.map((mention) => {
    const { choice } = mention;
    const ofHead = choice ? [chosenText(scene, choice), verdict(choice.right)] : [];
    const ofRules = ruleLines(scene, mention).map(({ text }) => text);
    const name = mentionName(scene, mention.mention);
    return [name, ...ofHead, antecedentsText(scene, mention), ...ofRules];
  });
  const head = drawn.head ? [headName(drawn.head), "right or wrong"] : [];
  const rules = evaluated[0]?.baselines.map(([rule]) => rule) ?? [];
  return { columns: ["mention", ...head, "antecedents", ...rules], rows };
}

export interface ReadoutLine {
  label: string;
  text: string;
  outcome?: Outcome;
}

const verdict = (right: boolean): Outcome => (right ? "right" : "wrong");

const chosenText = ({ drawn }: Scene, { word, weight }: NonNullable<Evaluated["choice"]>) =>
  `${drawn.words[word] ?? ""} (word ${drawn.start + word}) with weight ${shareText(weight)}`;

function antecedentsText(scene: Scene, { antecedents }: Evaluated): string {
  const named = antecedents.slice(-MOST_NAMED).map((antecedent) => mentionName(scene, antecedent));
  const more = antecedents.length - named.length;
  if (more > 0) named.push(`${more} before these`);
  return named.join(", ");
}

const ruleLines = (scene: Scene, { baselines, antecedents }: Evaluated) =>
  baselines.map(([label, found]): ReadoutLine => {
    const outcome = verdict(found !== undefined && antecedents.includes(found));
    return { label, text: `${mentionName(scene, found)}, ${outcome}`, outcome };
  });

/** Return the choices for the selected mention: by the head, the annotators and each rule. */
export function readout(scene: Scene): ReadoutLine[] {
  const { drawn, marked, own } = scene;
  if (!marked) return [];
  const lines: ReadoutLine[] = [{ label: "mention", text: mentionLabel(scene, marked) }];
  if (!own) return [...lines, { label: "", text: marked.cluster ? NOT_EVALUATED : ONCE }];
  if (own.choice && drawn.head) {
    const outcome = verdict(own.choice.right);
    const text = `${chosenText(scene, own.choice)}, ${outcome}`;
    lines.push({ label: headName(drawn.head), text, outcome });
  }
  const antecedents = { label: "antecedents", text: antecedentsText(scene, own) };
  return [...lines, antecedents, ...ruleLines(scene, own)];
}

/** Return a readout as one line. */
export const sentence = (lines: ReadoutLine[]) =>
  lines.map(({ label, text }) => [label, text].filter(Boolean).join(": ")).join("; ");
