import { html, nothing } from "lit-html";
import { clamp } from "../shared/clamp.js";
import { rangeInput } from "../shared/controls.js";
import { save } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import type { GridState } from "./state.js";
import { shownStep } from "./training_step.js";

/** Show the checkpoint `by` steps after the shown one. */
export function stepThrough(model: Model<GridState>, by: number): boolean {
  const steps = model.get("_steps") ?? [];
  if (!steps.length) return false;
  const from = shownStep({ step: model.get("step"), _steps: steps });
  const to = clamp(from + by, 0, steps.length - 1);
  save(model, { step: steps[to] ?? null });
  return true;
}

/** Return the slider over the checkpoints of a training. */
export function stepControls(model: Model<GridState>) {
  const steps = model.get("_steps") ?? [];
  if (steps.length < 2) return nothing;
  const value = shownStep({ step: model.get("step"), _steps: steps });
  const label = steps[value] ?? "";
  return html`<div class="attnw-controls attnw-grid-steps" role="group" aria-label="training">
    <label>checkpoint ${rangeInput({
      max: steps.length - 1,
      value,
      valueText: label,
      slide: (to) => save(model, { step: steps[to] ?? null }),
    })}</label><output>${label}</output>
  </div>`;
}
