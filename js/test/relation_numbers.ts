import type { RelationNumbers } from "../src/relation_table/state.js";
import { wireOf } from "./wire_of.js";

/**
 * Return the numbers of two layers of two heads on three relations. One relation is named as an
 * attacker would name it.
 */
export function numbers(): RelationNumbers {
  const correct = new Int32Array(2 * 2 * 2 * 3);
  const at = (layer: number, head: number, way: number, r: number) =>
    ((layer * 2 + head) * 2 + way) * 3 + r;
  correct[at(0, 0, 0, 0)] = 40;
  correct[at(1, 0, 1, 1)] = 18;
  correct[at(0, 1, 0, 1)] = 2;
  correct[at(0, 1, 0, 2)] = 3;
  const p = new Float32Array(correct.length).fill(1);
  p[at(1, 0, 1, 1)] = 0.01;
  return {
    stack: "self",
    relations: ["all", "det", "<b>obj</b>"],
    counts: wireOf(Int32Array.from([100, 20, 10]), [3]),
    baseline: wireOf(Int32Array.from([30, 10, 3]), [3]),
    offsets: wireOf(Int32Array.from([1, 1, -2]), [3]),
    best: wireOf(Int32Array.from([0, 0, 0, 1, 0, 1, 0, 1, 0]), [3, 3]),
    correct: wireOf(correct, [2, 2, 2, 3]),
    p_values: wireOf(p, [2, 2, 2, 3]),
  };
}

/** Return the same numbers with accuracies of the best heads on other texts, one of them unknown. */
export const withOtherTexts = (): RelationNumbers => ({
  ...numbers(),
  other_texts: {
    corpus: "EWT",
    description: "UD English EWT, 2,001 sentences",
    accuracy: wireOf(Float32Array.from([0.3, 0.75, Number.NaN]), [3]),
    baseline: wireOf(Float32Array.from([0.2, 0.5, Number.NaN]), [3]),
  },
});
