import type { DrawnSentence } from "../src/dependency_arcs/state.js";
import { wireOf } from "./wire_of.js";

/** Return "Cats eat fish" as the kernel sends it, with a head that is right on the first word. */
export function drawnCats(change: Partial<DrawnSentence> = {}): DrawnSentence {
  const map = Float32Array.from([0, 0.5, 0.125, 0.125, 0, 0.75, 0.25, 0.125, 0]);
  return {
    sentence: 0,
    name: "cats-1",
    words: ["Cats", "<b>eat</b>", "fish"],
    spaces: [],
    relations: ["nsubj", "root", "obj"],
    head: [1, 2, "self"],
    problem: "",
    governors: wireOf(Int32Array.from([2, 0, 2]), [3]),
    predicted: {
      governors: wireOf(Int32Array.from([2, 3, 1, 3, 1, 2]), [2, 3]),
      map: wireOf(map, [3, 3]),
    },
    ...change,
  };
}
