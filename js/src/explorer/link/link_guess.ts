import { type Guess, isChanged, LEAST_LINK_CHANGE } from "../sentence/guess.js";
import type { Reading } from "../sentence/reading.js";
import type { LockedLink } from "./link_state.js";

/** Return whether the words on the screen are those of the link, rather than words pointed at. */
export const isShown = (link: LockedLink | undefined, { from, to }: Reading): link is LockedLink =>
  link !== undefined && link.from === from && link.to === to;

/**
 * Return the guess with the answers that the model would give with the link cut in the shown head,
 * in place of its answers without this head. Other guesses are returned unchanged.
 */
export function withLinkCut(
  guess: Guess | undefined,
  link: LockedLink | undefined,
  reading: Reading | undefined,
): Guess | undefined {
  if (!guess || !reading || guess.isOff || !isShown(link, reading)) return guess;
  const answers = guess.answers.map((answer) => ({
    ...answer,
    after: link.cuts?.inHead(reading.head, answer.token),
  }));
  const areKnown = answers.every(({ after }) => after !== undefined);
  return {
    ...guess,
    answers,
    edits: "if the link is cut",
    least: LEAST_LINK_CHANGE,
    changes: areKnown ? answers.some((answer) => isChanged(answer, LEAST_LINK_CHANGE)) : undefined,
  };
}
