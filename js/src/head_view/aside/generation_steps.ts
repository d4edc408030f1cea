import { labelOf, quoted } from "../../shared/labels.js";
import { shareText } from "../../shared/percent_text.js";
import type { Axes } from "../../shared/types.js";
import type { Steps, ViewState } from "../state.js";

/** Traits from which the generation steps are drawn. */
export type Stepped = Pick<ViewState, "tokens" | "_axes" | "_steps">;
/** Candidate for the next token, with its probability. */
export interface Candidate {
  label: string;
  probability: number;
}

/**
 * Return the generation steps on these axes, or null if queries are not tokens of the generating
 * model.
 */
export function stepsOn({ _axes, _steps }: Stepped): Steps | null {
  const hasSteps = _axes?.unit === "tokens" && _axes.stack !== "encoder";
  return hasSteps ? (_steps ?? null) : null;
}

/**
 * Return the number of the step whose query was locked last, counted from 1; 0 if there is none.
 */
export function shownStep(state: Stepped): number {
  const steps = stepsOn(state);
  const locked = state.tokens.filter(([side]) => side === "query").at(-1)?.[1];
  if (!steps || locked === undefined) return 0;
  const step = locked - steps.first + 1;
  return step >= 1 && step <= steps.count ? step : 0;
}

/** Return the candidates of a step: the generated token first, then its rivals. */
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

/** Return a sentence about the shown step, or "" if there is none. */
export function stepNote(state: Stepped): string {
  const steps = stepsOn(state);
  const step = shownStep(state);
  if (!steps || step === 0) return "";
  const [chosen, ...rivals] = printed(answersOf(steps, state._axes, step));
  const token = chosen ?? quoted(labelOf(state._axes.query, steps.first + step));
  const against = rivals.length ? `, rivals ${rivals.join(", ")}` : "";
  return `generated token ${step} of ${steps.count}: ${token}${against}`;
}
