import type { GridState } from "./state.js";

type Steps = Pick<GridState, "step" | "_steps">;

/** The index of the shown checkpoint; without a choice it is the last. */
export const shownStep = ({ step, _steps: steps = [] }: Steps): number => {
  const chosen = step === null ? -1 : steps.indexOf(step);
  return chosen < 0 ? steps.length - 1 : chosen;
};

/** What the caption says about the checkpoint; "" for metrics of one model. */
export function stepNote(state: Steps): string {
  const { _steps: steps = [] } = state;
  if (!steps.length) return "";
  return `checkpoint ${steps[shownStep(state)]} (${steps[0]} to ${steps.at(-1)})`;
}
