import type { GridState } from "./state.js";

type Steps = Pick<GridState, "step" | "_steps">;

/** Return the index of the shown checkpoint; default: the last. */
export const shownStep = ({ step, _steps: steps = [] }: Steps): number => {
  const chosen = step === null ? -1 : steps.indexOf(step);
  return chosen < 0 ? steps.length - 1 : chosen;
};

/** Return the caption note about the checkpoint; "" for metrics of one model. */
export function stepNote(state: Steps): string {
  const { _steps: steps = [] } = state;
  if (!steps.length) return "";
  return `checkpoint ${steps[shownStep(state)]} (${steps[0]} to ${steps.at(-1)})`;
}
