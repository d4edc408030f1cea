import { counted } from "../shared/numbers.js";
import type { Structure } from "../shared/relation_types.js";
import { asFloat32, asInt32 } from "../shared/wire.js";
import type { Distances, Predicted, Reading, Tree } from "./tree_types.js";

/** Links have no weight: all are drawn as an arc of this one. */
const DRAWN = 0.2;
/** Nearest words that a readout names. */
const NAMED = 8;

/** The links of the predicted tree, and an arc to the word that is taken for its root. */
export function readingOfStructure(sent: Structure, tree: Tree): Reading {
  const m = tree.words.length;
  const gold = asInt32(sent.gold);
  const distances = asFloat32(sent.distances);
  const depths = asFloat32(sent.depths);
  const rightness = asInt32(sent.found);
  const links = asInt32(sent.links);
  const predicted = Array.from({ length: links.length / 3 }, (_, i): Predicted => {
    const [a = 0, b = 0, right = 0] = links.subarray(3 * i, 3 * i + 3);
    const [governor, dependent] = tree.governors[a] === b ? [b, a] : [a, b];
    return { governor, dependent, weight: DRAWN, right: right === 1, isLink: true };
  });
  const root = {
    governor: -1,
    dependent: sent.root,
    weight: DRAWN,
    right: sent.root === tree.root,
  };
  const structure: Distances = {
    layer: sent.layer,
    gold: (a, b) => gold[a * m + b] ?? 0,
    predicted: (a, b) => distances[a * m + b] ?? 0,
    depth: (word) => depths[word] ?? 0,
    found: (word) =>
      rightness[word] === undefined || rightness[word] < 0 ? undefined : rightness[word] === 1,
    most: Math.max(1, ...gold, ...distances),
  };
  return { predicted: [...predicted, root], weight: structure.predicted, structure };
}

/** A distance or a depth as texts have it. */
export const edges = (x: number) => x.toFixed(1);

/** The words that a word is linked to, with "root" for the predicted root. */
export const linkedTo = ({ predicted }: Reading, word: number): number[] =>
  predicted.flatMap(({ governor, dependent }) =>
    dependent === word ? [governor] : governor === word ? [dependent] : [],
  );

/** How far two words are apart. */
export const pairText = ({ words }: Tree, { gold, predicted }: Distances, a: number, b: number) =>
  `${words[a]} – ${words[b]}: ${counted(gold(a, b), "edge")} apart, predicted ` +
  `${edges(predicted(a, b))}`;

/** The words that a probe has nearest to a word. */
export function nearestText({ words }: Tree, { gold, predicted }: Distances, word: number): string {
  const others = [...words.keys()]
    .filter((i) => i !== word)
    .sort((a, b) => predicted(word, a) - predicted(word, b));
  const named = others
    .slice(0, NAMED)
    .map((i) => `${words[i]} ${edges(predicted(word, i))} (${gold(word, i)})`);
  const rest = others.length - named.length;
  return (
    `predicted (annotated) distances: ` +
    `${named.join(" · ")}${rest > 0 ? ` · ${counted(rest, "word")} farther` : ""}`
  );
}
