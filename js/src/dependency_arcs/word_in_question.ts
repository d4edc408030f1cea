import { ALL } from "../shared/relation_types.js";
import type { Outcome } from "../shared/verdict.js";
import type { Scene } from "./scene.js";

/**
 * Brings the first word in question into sight, once for each sentence and relation: a word of the
 * relation, or of the outcome that a jump looked for.
 */
export function wordInQuestion(reveal: (word: number) => void) {
  let sought: Outcome | undefined;
  let revealed = "";
  return {
    /** A jump looks for a word with this outcome. */
    seek(outcome: Outcome): void {
      sought = outcome;
    },
    follow({ drawn, state: { relation }, shown }: Scene): void {
      const now = `${drawn.sentence} ${relation}`;
      if (now === revealed) return;
      const fitting = shown.find(({ right }) => !sought || right === (sought === "right"));
      if (fitting && (sought || relation !== ALL)) reveal(fitting.dependent);
      revealed = now;
      sought = undefined;
    },
  };
}
