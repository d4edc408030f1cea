import { headNames, NO_HEAD } from "../shared/caption.js";
import { shortName } from "../shared/head_names.js";
import { DIRECTIONS } from "../shared/relation_types.js";
import { headName } from "../shared/types.js";
import { asFloat32, asInt32 } from "../shared/wire.js";
import type { Answerer, Answers } from "./answerer.js";
import type { DrawnSentence } from "./state.js";
import type { Tree } from "./tree.js";
import { LEGEND, LOOK_NOTE, predictedText, strongest, weightedParts } from "./weighted_arcs.js";

const FORWARD = DIRECTIONS[0];

/** Answerer for the shown head: the governor of a word is the word with the largest weight. */
export const HEADS: Answerer = {
  noun: "head",
  needsHead: true,
  keepsWord: false,
  directions: DIRECTIONS,
  layers: [],
  hint: "Point at a word for its attention, click to hold it.",
  legend: LEGEND,
  barsOf: ({ direction = FORWARD }) =>
    direction === FORWARD ? "what the word attends to" : "who attends to the word",
  named({ direction = FORWARD, labels }, { head }) {
    if (!head)
      return {
        title: NO_HEAD,
        caption: NO_HEAD,
        predicts: `no head predicts, ${direction}`,
        arcs: "annotated arcs",
      };
    return {
      title: shortName(head, { labels }),
      caption: headNames([head], { labels }),
      predicts: `${headName(head)} predicts, ${direction}`,
      arcs: direction,
    };
  },
  answers: ({ predicted }, tree, { direction = FORWARD }) =>
    predicted ? answersOf(predicted, tree, direction) : undefined,
};

function answersOf(
  sent: NonNullable<DrawnSentence["predicted"]>,
  tree: Tree,
  direction: (typeof DIRECTIONS)[number],
): Answers {
  const m = tree.words.length;
  const map = asFloat32(sent.map);
  const governors = asInt32(sent.governors);
  const way = DIRECTIONS.indexOf(direction);
  const isForward = direction === FORWARD;
  const weight = (from: number, to: number) => map[from * m + to] ?? 0;
  const along = (word: number, other: number) =>
    isForward ? weight(word, other) : weight(other, word);
  const predicted = tree.annotated.map(({ dependent, governor: annotated }) => {
    const governor = (governors[way * m + dependent] ?? 0) - 1;
    const right = governor === annotated;
    return { dependent, governor, weight: along(dependent, governor), right };
  });
  return {
    ...weightedParts(tree, predicted, "weight"),
    quantity: "attention weights between words",
    notes: (rightness) => [
      direction,
      rightness,
      "special tokens left out, nothing renormalized",
      LOOK_NOTE,
    ],
    bars: (word) => tree.words.map((_, other) => along(word, other)),
    readout(word) {
      const from = `attends to ${strongest(tree, word, (other) => weight(word, other))}`;
      const to = `is attended to by ${strongest(tree, word, (other) => weight(other, word))}`;
      const spoken = isForward ? from : to;
      return { predicted: predictedText(tree, predicted, word), from, to, spoken };
    },
  };
}
