import { inLine } from "../shared/in_line.js";
import { counted } from "../shared/numbers.js";
import { asFloat32, asInt32 } from "../shared/wire.js";
import type { Answerer, Answers } from "./answerer.js";
import type { Structure } from "./state.js";
import {
  type Distances,
  hasRelation,
  numberedWord,
  type Predicted,
  type Tree,
  wordText,
} from "./tree.js";
import { verdictText } from "./weighted_arcs.js";

/** Weight with which links are drawn, because they have none. */
const DRAWN = 0.2;
/** Number of nearest words in a readout. */
const NAMED = 8;

/** Quantity of both matrices. */
export const DISTANCES = "distances between words, in edges of the tree";

/** Format a distance or a depth. */
export const edges = (x: number) => x.toFixed(1);

/**
 * Return the answerer for a probe that predicts distances between words, and therefore an
 * undirected tree.
 */
export const structuralProbe = (name: string, layers: readonly number[] = []): Answerer => ({
  noun: "probe",
  needsHead: false,
  keepsWord: true,
  directions: [],
  layers,
  hint: "Click a word for its distances to all others; point at a cell for two words.",
  legend: [
    ["right", "solid: annotated too"],
    ["wrong", "dashed: not annotated"],
  ],
  barsOf: () => "",
  named(_, { structure }) {
    const layer = structure ? [`layer ${structure.layer}`] : [];
    return {
      title: inLine([name, ...layer]),
      caption: [name, ...layer].join(", "),
      predicts: `${name} predicts`,
      arcs: "annotated and predicted arcs",
    };
  },
  answers: ({ structure }, tree) => (structure ? answersOf(structure, tree) : undefined),
});

/** Return the links of the predicted tree, and an arc to the predicted root. */
function answersOf(sent: Structure, tree: Tree): Answers {
  const predicted = linksOf(sent, tree);
  const distances = distancesOf(sent, tree.words.length);
  const depths = asFloat32(sent.depths);
  const found = asInt32(sent.found);
  /** Return whether a word is right; undefined for a word that is not counted. */
  const isRight = (word: number) => ((found[word] ?? -1) < 0 ? undefined : found[word] === 1);
  return {
    predicted,
    distances,
    quantity: DISTANCES,
    scale: `linear, 0 to ${edges(distances.most)} in both matrices`,
    notes: (rightness) => [
      rightness,
      "below the minimum spanning tree of the predicted distances, without punctuation: " +
        "solid where annotated, dashed elsewhere",
    ],
    outcomes: (relation) =>
      tree.relations.flatMap((label, word) =>
        hasRelation(relation, label) ? (isRight(word) ?? []) : [],
      ),
    bars: () => [],
    readout(word, other) {
      const linked = linkedTo(predicted, word).map((i) => wordText(tree, i));
      const from = other === undefined ? "" : pairText(tree, distances, word, other);
      const to = nearestText(tree, distances, word);
      return {
        predicted: linked.length ? `linked to ${linked.join(", ")}` : "punctuation, not linked",
        from,
        to,
        spoken: from || to,
      };
    },
    columns: ["linked to", "right or wrong", "predicted depth"],
    cells(word) {
      const linked = linkedTo(predicted, word).map((i) => numberedWord(tree, i));
      const right = isRight(word);
      const outcome = right === undefined ? "not counted" : verdictText(right);
      return [linked.join(", "), outcome, edges(depths[word] ?? 0)];
    },
  };
}

function linksOf(sent: Structure, tree: Tree): Predicted[] {
  const links = asInt32(sent.links);
  const predicted = Array.from({ length: links.length / 3 }, (_, i): Predicted => {
    const [a = 0, b = 0, right = 0] = links.subarray(3 * i, 3 * i + 3);
    const [governor, dependent] = tree.governors[a] === b ? [b, a] : [a, b];
    return { governor, dependent, weight: DRAWN, right: right === 1, isLink: true };
  });
  const isRootRight = sent.root === tree.root;
  return [...predicted, { governor: -1, dependent: sent.root, weight: DRAWN, right: isRootRight }];
}

function distancesOf(sent: Structure, m: number): Distances {
  const gold = asInt32(sent.gold);
  const predicted = asFloat32(sent.distances);
  return {
    gold: (a, b) => gold[a * m + b] ?? 0,
    predicted: (a, b) => predicted[a * m + b] ?? 0,
    most: Math.max(1, ...gold, ...predicted),
  };
}

/** Return the words that a word is linked to, with -1 for the predicted root. */
const linkedTo = (predicted: Predicted[], word: number): number[] =>
  predicted.flatMap(({ governor, dependent }) =>
    dependent === word ? [governor] : governor === word ? [dependent] : [],
  );

/** Return the distances between two words as text. */
const pairText = ({ words }: Tree, { gold, predicted }: Distances, a: number, b: number) =>
  `${words[a]} – ${words[b]}: ${counted(gold(a, b), "edge")} apart, predicted ` +
  `${edges(predicted(a, b))}`;

/** Return the nearest words of a word according to the probe. */
function nearestText({ words }: Tree, { gold, predicted }: Distances, word: number): string {
  const others = [...words.keys()]
    .filter((i) => i !== word)
    .sort((a, b) => predicted(word, a) - predicted(word, b));
  const named = others
    .slice(0, NAMED)
    .map((i) => `${words[i]} ${edges(predicted(word, i))} (${gold(word, i)})`);
  const rest = others.length - named.length;
  return (
    `predicted (annotated) distances: ` +
    `${inLine(named)}${rest > 0 ? ` · ${counted(rest, "word")} farther` : ""}`
  );
}
