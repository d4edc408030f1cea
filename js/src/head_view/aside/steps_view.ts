import { html } from "lit-html";
import { rangeInput } from "../../shared/controls.js";
import { shareText } from "../../shared/percent_text.js";
import { save } from "../../shared/snapshot.js";
import type { Model } from "../../shared/types.js";
import type { ViewState } from "../state.js";
import {
  answersOf,
  type Candidate,
  type Stepped,
  shownStep,
  stepNote,
  stepsOn,
} from "./generation_steps.js";

const HINT = "Move the slider to follow the text from token to token.";

/**
 * Return a slider over the generated tokens. Each step locks the query that produced the token, in
 * this figure and in linked figures; locked keys stay locked. The probabilities of the generated
 * token and its rivals are listed below the slider.
 */
export function stepsView(model: Model<ViewState>, state: Stepped) {
  const steps = stepsOn(state);
  const step = shownStep(state);
  const { count = 0, first = 0, problem = "" } = steps ?? {};
  const answers = steps ? answersOf(steps, state._axes, step) : [];
  const go = (to: number) => {
    const keys = model.get("tokens").filter(([side]) => side === "key");
    save(model, { tokens: to > 0 ? [...keys, ["query", first + to - 1]] : keys });
  };
  const said = problem || (step === 0 ? HINT : "");
  return html`<div class="attnw-steps" ?hidden=${!steps}>
    <label class="attnw-step">generated token
      ${rangeInput({
        max: count,
        value: step,
        slide: go,
        valueText: stepNote(state) || `none of ${count}`,
      })}<output>${step || "–"} of ${count}</output></label>
    <p class="attnw-step-said" ?hidden=${!said}>${said}</p>
    <ol class="attnw-answers" aria-label="the chosen token and its rivals"
      ?hidden=${!answers.length}>${answerItems(answers)}</ol>
  </div>`;
}

/** Return each candidate with its probability, as a number and as a bar. */
function answerItems(answers: Candidate[]) {
  return answers.map(
    ({ label, probability }) => html`<li title=${label}>
      <span class="attnw-answer">${label}</span> <span>${shareText(probability)}</span>
      <span class="attnw-answer-bar" .style=${`--attnw-share: ${100 * probability}%`}></span>
    </li>`,
  );
}
