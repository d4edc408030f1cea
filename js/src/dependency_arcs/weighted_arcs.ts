import { THICKEST, THINNEST } from "../shared/arc.js";
import { inLine } from "../shared/in_line.js";
import { counted, digits } from "../shared/numbers.js";
import { shareText } from "../shared/percent_text.js";
import type { Outcome } from "../shared/verdict.js";
import type { Answers } from "./answerer.js";
import { numberedWord, type Predicted, type Tree, wordText } from "./tree.js";

/** Number of weights in a readout. */
const NAMED = 8;

export const verdictText = (right: boolean) => (right ? "right" : "wrong");

/** Description of the look of arcs with a weight. */
export const LEGEND: readonly (readonly [Outcome, string])[] = [
  ["right", "solid: the annotated governor"],
  ["wrong", "dashed: another word"],
];

/** Caption note on this look. */
export const LOOK_NOTE =
  "solid where the predicted governor is the annotated one, dashed elsewhere";

/** Return the parts of answers whose arcs have a weight with the given name. */
export function weightedParts(
  tree: Tree,
  predicted: Predicted[],
  weight: string,
): Pick<Answers, "predicted" | "scale" | "outcomes" | "columns" | "cells"> {
  const arcs = new Map(predicted.map((arc) => [arc.dependent, arc]));
  return {
    predicted,
    scale: `width: ${weight}, ${THICKEST} pixels for 1, at least ${THINNEST}`,
    outcomes: (_, ofRelation) => ofRelation.map(({ right }) => right),
    columns: ["predicted", weight, "right or wrong"],
    cells: (word) => {
      const arc = arcs.get(word);
      if (!arc) return ["", "", ""];
      return [numberedWord(tree, arc.governor), digits(arc.weight), verdictText(arc.right)];
    },
  };
}

/** Return the predicted governor of a word for the readout. */
export function predictedText(tree: Tree, predicted: Predicted[], word: number): string {
  const arc = predicted.find(({ dependent }) => dependent === word);
  if (!arc) return "";
  const governor = wordText(tree, arc.governor);
  return `predicted ${governor} with ${shareText(arc.weight)}, ${verdictText(arc.right)}`;
}

/** Return the words with the largest weights for a word, and the sum of the others. */
export function strongest(tree: Tree, word: number, weight: (other: number) => number): string {
  const others = tree.words
    .map((text, i) => ({ text: i === word ? "itself" : text, weight: weight(i) }))
    .sort((a, b) => b.weight - a.weight);
  const more = others.slice(NAMED);
  const rest = more.reduce((sum, { weight }) => sum + weight, 0);
  const named = others.slice(0, NAMED).map(({ text, weight }) => `${text} ${shareText(weight)}`);
  if (more.length) named.push(`${counted(more.length, "other")} ${shareText(rest)}`);
  return inLine(named);
}
