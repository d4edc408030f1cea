import { inLine } from "../shared/in_line.js";
import { figures } from "../shared/numbers.js";
import { shareText } from "../shared/percent_text.js";
import { signedValue } from "../shared/quantity.js";
import { headName } from "../shared/types.js";
import { asFloat32, asInt32 } from "../shared/wire.js";
import type { Answerer, Answers } from "./answerer.js";
import type { DrawnSentence, Votes } from "./state.js";
import { ROOT, type Tree } from "./tree.js";
import { LEGEND, LOOK_NOTE, predictedText, strongest, weightedParts } from "./weighted_arcs.js";

/**
 * Return the answerer for a probe that gives every word the probability of each governor, including
 * the root.
 */
export const dependencyProbe = (name: string): Answerer => ({
  noun: "probe",
  needsHead: false,
  keepsWord: true,
  directions: [],
  layers: [],
  hint: "Click a word for its likeliest governors, and for the heads behind its governor.",
  legend: LEGEND,
  barsOf: () => "how likely each is its governor",
  named: () => ({
    title: name,
    caption: name,
    predicts: `${name} predicts`,
    arcs: "annotated and predicted arcs",
  }),
  answers: ({ predicted }, tree) => (predicted ? answersOf(predicted, tree) : undefined),
});

function answersOf(sent: NonNullable<DrawnSentence["predicted"]>, tree: Tree): Answers {
  const m = tree.words.length;
  const map = asFloat32(sent.map);
  const governors = asInt32(sent.governors);
  const ofRoot = sent.root ? asFloat32(sent.root) : new Float32Array();
  const { votes } = sent;
  const probability = (word: number, governor: number) =>
    (governor < 0 ? ofRoot[word] : map[word * m + governor]) ?? 0;
  const predicted = tree.words.map((_, dependent) => {
    const governor = (governors[dependent] ?? 0) - 1;
    const right = governor === tree.governors[dependent];
    return { dependent, governor, weight: probability(dependent, governor), right };
  });
  return {
    ...weightedParts(tree, predicted, "probability"),
    quantity: "probability of each governor",
    notes: (rightness) => [rightness, LOOK_NOTE],
    bars: (word) => tree.words.map((_, other) => probability(word, other)),
    readout(word) {
      const others = strongest(tree, word, (other) => probability(word, other));
      const from = `governors: ${ROOT} ${shareText(probability(word, -1))} · ${others}`;
      const to = votes ? votesText(votes, word) : "";
      return { predicted: predictedText(tree, predicted, word), from, to, spoken: from };
    },
  };
}

/** Describe the heads with the strongest votes for or against a word's governor. */
function votesText({ heads, places, values, sums }: Votes, word: number): string {
  const count = places.shape[1] ?? 0;
  const print = signedValue(figures);
  const wordVotes = [...asFloat32(values).subarray(word * count, (word + 1) * count)];
  const named = wordVotes.map((value, i) => {
    const place = asInt32(places)[word * count + i] ?? 0;
    const head = place >> 1;
    const back = place & 1;
    return (
      `${headName([Math.floor(head / heads), head % heads, "self"])}${back ? " back" : ""} ` +
      `${print(value)}`
    );
  });
  const back = named.some((text) => text.includes(" back "))
    ? " (back: attention from the governor)"
    : "";
  return (
    `score ${print(asFloat32(sums)[word] ?? 0)} of all heads, most by ` + `${inLine(named)}${back}`
  );
}
