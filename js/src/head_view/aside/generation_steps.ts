import { labelOf, quoted } from "../../shared/labels.js";
import { shareText } from "../../shared/percent_text.js";
import type { Axes } from "../../shared/types.js";
import type { Steps, ViewState } from "../state.js";

/** The traits that the steps are drawn from. */
export type Stepped = Pick<ViewState, "tokens" | "_axes" | "_steps">;
/** A token that the model could write, with its probability. */
export interface Candidate {
  label: string;
  probability: number;
}

/** The steps on these axes; null where a query is not a token that the model wrote from. */
export function stepsOn({ _axes, _steps }: Stepped): Steps | null {
  const hasSteps = _axes?.unit === "tokens" && _axes.stack !== "encoder";
  return hasSteps ? (_steps ?? null) : null;
}

/** The number of the step whose query is locked last, from 1; 0 for none. */
export function shownStep(state: Stepped): number {
  const steps = stepsOn(state);
  const locked = state.tokens.filter(([side]) => side === "query").at(-1)?.[1];
  if (!steps || locked === undefined) return 0;
  const step = locked - steps.first + 1;
  return step >= 1 && step <= steps.count ? step : 0;
}

/** The tokens that the model could write in a step: the chosen token first, then its rivals. */
export function answersOf(
  { first, chosen, rivals }: Steps,
  { query }: Axes,
  step: number,
): Candidate[] {
  const probability = chosen[step - 1];
  if (probability === undefined) return [];
  const others = (rivals[step - 1] ?? []).map(([label, share]) => ({ label, probability: share }));
  return [{ label: labelOf(query, first + step), probability }, ...others];
}

function printed(answers: Candidate[]): string[] {
  return answers.map(({ label, probability }) => `${quoted(label)} ${shareText(probability)}`);
}

/** The shown step in words; "" without a step. */
export function stepNote(state: Stepped): string {
  const steps = stepsOn(state);
  const step = shownStep(state);
  if (!steps || step === 0) return "";
  const [chosen, ...rivals] = printed(answersOf(steps, state._axes, step));
  const token = chosen ?? quoted(labelOf(state._axes.query, steps.first + step));
  const against = rivals.length ? `, rivals ${rivals.join(", ")}` : "";
  return `generated token ${step} of ${steps.count}: ${token}${against}`;
}
