import { html, nothing } from "lit-html";
import { barView } from "../shared/colour_bar_view.js";
import { hiddenTicks, select, stepper } from "../shared/controls.js";
import { specialName } from "../shared/labels.js";
import { save } from "../shared/snapshot.js";
import { offeredTokens, tokenSelect } from "../shared/token_select.js";
import { type Model, SCALES } from "../shared/types.js";
import { legendOf } from "./lens_text.js";
import type { Scene } from "./scene.js";
import type { Asked } from "./shown_tokens.js";
import type { LensState } from "./state.js";

const ALL = "every token";
const OF = { layer: "of the layer", model: "of the model" };
const SORT = { head: "number", weight: "largest weight" };

/** The row above the lens, with the direction of attention. */
export function lensControls(
  model: Model<LensState>,
  { state, question }: { state: LensState; question: Asked },
  lock: (question: Asked) => void,
  step: (layer: number) => void,
) {
  const { query, key } = state._axes;
  const isSingle = question.query === null || question.key === null;
  const layers = state._stacks.find(({ name }) => name === state.stack)?.n_layers ?? 1;
  return html`
    ${tokenSelect({
      name: "from",
      none: ALL,
      offered: query ? offeredTokens(query, state.hidden) : [],
      index: question.query,
      lock: (index) => lock({ ...question, query: index }),
    })}
    ${tokenSelect({
      name: "to",
      none: ALL,
      offered: key ? offeredTokens(key, state.hidden) : [],
      index: question.key,
      lock: (index) => lock({ ...question, key: index }),
    })}
    ${select<LensState["of"]>({
      name: "heads",
      values: isSingle ? ["layer", "model"] : [],
      value: state.of,
      pick: (of) => save(model, { of }),
      print: (value) => OF[value],
    })}
    ${stepper({
      name: "layer",
      index: Math.min(state.layer, layers - 1),
      count: isSingle && state.of === "layer" ? layers : 1,
      go: step,
    })}
    ${select<LensState["sort"]>({
      name: "sort by",
      values: isSingle ? ["head", "weight"] : [],
      value: state.sort,
      pick: (sort) => save(model, { sort }),
      print: (value) => SORT[value],
    })}`;
}

/** The row below the lens, with the colour scale. */
export function lensScale(model: Model<LensState>, state: LensState, scene: Scene | undefined) {
  const legend = scene && legendOf(scene);
  return html`<div class="attnw-controls attnw-lens-below">
    ${select<string>({
      name: "stack",
      values: state._stacks.map(({ name }) => name),
      value: state.stack,
      pick: (stack) => save(model, { stack }),
    })}
    ${select<string>({
      name: "quantity",
      values: state._quantities,
      value: state.quantity,
      pick: (quantity) => save(model, { quantity }),
    })}
    ${select<LensState["unit"]>({
      name: "unit",
      values: ["tokens", "words"],
      value: state.unit,
      pick: (unit) => save(model, { unit }),
    })}
    ${hiddenTicks(model, (kind) => specialName(state._axes, kind))}
    ${select<LensState["scale"]>({
      name: "scale",
      values: SCALES,
      value: state.scale,
      pick: (scale) => save(model, { scale }),
    })}
    <span class="attnw-lens-legend" ?hidden=${!legend}>
      ${scene && legend ? barView(scene.theme, legend.texts) : nothing}
      <span>${legend?.words}</span>
    </span>
  </div>`;
}
