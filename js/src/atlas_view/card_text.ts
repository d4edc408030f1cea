import { type Caption, caption, headNames, NO_HEAD, type Table } from "../shared/caption.js";
import { inQuotes } from "../shared/labels.js";
import { counted, printP } from "../shared/numbers.js";
import { percentText } from "../shared/percent_text.js";
import { headName } from "../shared/types.js";
import { printed, printScore, type Row } from "./rows.js";
import {
  type AtlasState,
  type Card,
  COLUMNS,
  type Column,
  type Effect,
  type Example,
  type InText,
  type Kind,
  type LossChange,
  OF_NAME,
  type Rule,
  type RuleGroup,
  type Score,
  type Shares,
} from "./state.js";

export const FIGURE = "Atlas of attention heads";
export const NOTHING = "No head is left: search for less.";
export const NO_CARD =
  "Select a head: choose a row of the table, or set view.selected = [(layer, head)].";
export const NO_EXAMPLES = "No examples of this kind.";
/** Range of the number of scores on a card that does not show all of them. */
const FEW = { least: 3, most: 8 };

export const MEANINGS: Record<Column, string> = {
  head: "layer and head, from 0",
  name: "the behavior that describes the head best",
  strength: "score above control, as a share of the possible excess",
  "held out": "score on the half of the data that did not choose the name",
  outcome: "whether the loss rises without the head where its behavior applies",
};
/** Return the heading of a column. */
export const headingOf = (column: Column): string =>
  column === "outcome" ? "losing it hurts" : column;
export const KIND_MEANINGS: Record<Kind, string> = {
  strongest: "strongest: by weight and length of the moved vector",
  heaviest: "heaviest: by weight",
  "top tenth": "top tenth: drawn at random from the strongest tenth of all links",
  middle: "middle: drawn at random from the middle of all links",
  right: "right: the name predicts a link, and the head looks there most",
  wrong: "wrong: the name predicts a link, and the head looks elsewhere most",
  missed: "missed: the name predicts a link with less than even attention",
};

const change = (value: number | null): string =>
  value === null ? "–" : `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;

/** Return for example `L2 H8 · determiner to its noun`. */
export const cardTitle = ({ head, name }: Card): string =>
  `${headName(head)} · ${name || "no name"}`;

/**
 * Return sentences on the score that names the head, with its control, in both halves of the data.
 */
export function cardSentences(card: Card): string[] {
  const named = card.named_by === null ? undefined : card.scores[card.named_by];
  const also = card.runner_up ? `Also: ${card.runner_up}.` : "";
  if (!named) {
    const [closest] = card.scores;
    const none = `None of ${card.scores.length} measured behaviors describes this head.`;
    return closest ? [none, `Closest: ${closest.behavior}, ${scoreAgainst(closest)}.`] : [none];
  }
  const control = printScore(named.held_out_control);
  const held =
    named.held_out === null
      ? ""
      : `On other texts: ${printScore(named.held_out)} against ${control}.`;
  const auc =
    named.auc === null
      ? ""
      : `A predicted link has more weight than another link in ${percentText(named.auc)} of pairs.`;
  const test = named.adjusted === null ? "" : `, ${printP(named.adjusted)}`;
  return [
    `${sentence(named.description)} Score ${scoreAgainst(named)}${test}.`,
    [held, auc, also].filter(Boolean).join(" "),
  ].filter(Boolean);
}

const scoreAgainst = ({ score, control, control_name }: Score) =>
  `${printScore(score)} against ${printScore(control)} by ${control_name}`;

/** Return whether to show more than the sentences. A card without a name needs `all_scores`. */
export const isWhole = (card: Card, { all_scores }: Pick<AtlasState, "all_scores">): boolean =>
  card.named_by !== null || all_scores;

const sentence = (text: string) =>
  text && `${text[0]?.toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;

/** Return the scores on the card: the strongest, and those that may name the head. */
export const shownScores = ({ scores }: Card, all: boolean): Score[] =>
  all
    ? scores
    : scores.filter(
        ({ names, score, control }, i) =>
          names || i < FEW.least || (i < FEW.most && score > control),
      );

export const scoreTexts = ({ score, control }: Score): [score: string, control: string] => [
  printScore(score),
  printScore(control),
];

/** Describe a score. */
export const scoreText = (score: Score): string =>
  `${score.behavior}: ${score.description} · control: ${score.control_name} · ` +
  `${counted(score.n, score.unit.replace(/s$/, ""))} · ${score.source}`;

/** Row of the chart of the effect. */
export interface EffectRow {
  label: string;
  /** Marked values: one number, or the numbers of several heads. */
  values: number[];
  /** Ends of an interval. */
  interval: [number, number] | null;
  text: string;
}

export function effectRows(effect: Effect): EffectRow[] {
  const { low, high, matched } = effect;
  const others = effect.random.flatMap(([, value]) => (value === null ? [] : [value]));
  const rows: EffectRow[] = [
    {
      label: "where it applies",
      values: effect.effect === null ? [] : [effect.effect],
      interval: low === null || high === null ? null : [low, high],
      text: change(effect.effect),
    },
  ];
  if (matched !== null)
    rows.push({ label: "elsewhere", values: [matched], interval: null, text: change(matched) });
  if (others.length) {
    const range = [Math.min(...others), Math.max(...others)] as const;
    rows.push({
      label: counted(others.length, "other head"),
      values: others,
      interval: null,
      text: others.length > 1 ? `${change(range[0])} to ${change(range[1])}` : change(range[0]),
    });
  }
  return rows;
}

export const effectTitle = ({ losing }: Effect): string => `losing it hurts: ${losing}`;

export const effectNote = ({ n_places, n_texts }: Effect): string =>
  `rise of the loss without the head (0.01: the right token is 1\u00a0% less probable), with ` +
  `the 95\u00a0% interval · ` +
  `${counted(n_places, "place")} in ${counted(n_texts, "text")} of the atlas · ` +
  "other heads: of the same layer";

export const SHARES_TITLE = "what decides where it looks";
export const sharesNote = ({ texts }: Shares): string =>
  `share of its attention that each explains, in ${texts}`;

export const RULE_TITLE = "its rule in its place";

/** Return a sentence about a group of predictions: "Where it applies (the word itself), its …". */
export const ruleGroupText = ({ group, verdict }: RuleGroup): string =>
  `${group === "the word itself" ? "Where it applies" : "Elsewhere"} (${group}), ${verdict}.`;

/** Return the rows of the chart of one group, with the changes of the loss. */
export const ruleRows = ({ off, rule, wrong }: RuleGroup): EffectRow[] =>
  (
    [
      ["head off", off],
      ["its rule instead", rule],
      ["a wrong rule", wrong],
    ] as [string, LossChange][]
  ).map(([label, [mean, low, high]]) => ({
    label,
    values: mean === null ? [] : [mean],
    interval: low === null || high === null ? null : [low, high],
    text: change(mean),
  }));

/** Return how to read the charts of a rule. */
export function ruleNote({ texts, groups }: Rule): string {
  const predictions = groups.map(({ n_predictions }) => n_predictions.toLocaleString("en"));
  return [
    "rise of the loss in nats, with the 95\u00a0% interval over texts",
    texts && `measured on ${texts}`,
    predictions.length ? `${predictions.join(" and ")} predictions` : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

/** Number of examples of the name that are shown for each kind. */
const FEW_OF_NAME = 2;

/** Return examples of the name, in addition to the examples of the selected kind. */
export const examplesOfName = (card: Card, chosen: Kind): [Kind, Example[], number][] =>
  OF_NAME.filter((kind) => kind !== chosen).flatMap((kind) => {
    const all = card.examples[kind] ?? [];
    return all.length ? [[kind, all.slice(0, FEW_OF_NAME), all.length]] : [];
  });

export const IN_TEXT_TITLE = "in this text";
export const NOTHING_IN_TEXT = "In this text, the name predicts no link.";

/** Return the number of predictions by outcome: "3 predictions: 2 right, 1 wrong". */
export function inTextCounts({ predictions, likelihood, kinds }: InText): string {
  const counts = kinds.filter(([, count]) => count);
  const outcomes = counts.map(([kind, count]) => `${count} ${likelihood}${kind}`);
  return `${counted(predictions, "prediction")}: ${outcomes.join(", ")}`;
}

/** Return how to read likely links; "" if the tokens determine the links. */
export const inTextNote = ({ likelihood }: InText): string =>
  likelihood && "likely: the text has no parse, so each content word that may be meant counts";

/** Return the links of the reader's own text with their kinds. */
export const linksInText = ({ kinds }: InText): [kind: string, Example][] =>
  kinds.flatMap(([kind, , examples]) =>
    examples.map((example): [string, Example] => [kind, example]),
  );

/** Return an example as text: `he → captain, 0.59: …`. */
export function exampleText({ pieces, query, key, weight }: Example): string {
  const word = (piece: number) => (pieces[piece] ?? "").trim();
  return `${word(query)} → ${word(key)}, ${percentText(weight)}: ${pieces.join("").trim()}`;
}

export const writesText = ([source, promoted, suppressed]: Card["writes"][number]): string =>
  `reads ${source}: promotes ${promoted.join(", ")}; suppresses ${suppressed.join(", ")}`;

/** Return the number of visible rows, and the search. */
export function rowsText(shown: number, all: number, { search }: AtlasState): string {
  const found = search ? ` · search: ${inQuotes(search)}` : "";
  return `${shown} of ${counted(all, "head")}${found}`;
}

/** Notes on how to read the figure. */
export const MEANING = [
  "strength: (score − control) / (1 − control)",
  "bar: score, with the control as a tick and the 95\u00a0% interval of their difference",
];

export function captionOf(state: AtlasState, rows: Row[], all: number): Caption {
  const { selected, examples, _source, _card } = state;
  const last = selected.at(-1);
  return caption(FIGURE, {
    model: _source.model,
    head: last ? headNames([last]) : NO_HEAD,
    quantity: _card?.name ?? "",
    notes: [
      state.table ? rowsText(rows.length, all, state) : "",
      _source.note,
      ...MEANING,
      _card ? `examples: ${KIND_MEANINGS[examples].replace(": ", ", ")}` : "",
    ],
  });
}

/** Return the table of the rows. */
export const tableOf = (rows: Row[]): Table => ({
  columns: [...COLUMNS],
  rows: rows.map((row) => {
    const { head, strength, "held out": heldOut } = printed(row);
    return [head, row.name, strength, heldOut, row.outcome];
  }),
});
