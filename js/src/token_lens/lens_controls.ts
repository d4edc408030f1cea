import { html, nothing } from "lit-html";
import { barView } from "../shared/colour_bar_view.js";
import { hiddenTicks, select, stepper } from "../shared/controls.js";
import { labelOf, specialName } from "../shared/labels.js";
import { save } from "../shared/snapshot.js";
import { type Axis, type Model, SCALES } from "../shared/types.js";
import { legendOf } from "./lens_text.js";
import type { Scene } from "./scene.js";
import { type Asked, isHidden } from "./shown_tokens.js";
import type { LensState } from "./state.js";

const ALL = "every token";
const OF = { layer: "of the layer", model: "of the model" };
const SORT = { head: "number", weight: "largest weight" };

/**
 * A token as it is offered: where a text has it twice, by its place too. Its place comes first, to
 * be read again.
 */
function offered(axis: Axis, hidden: LensState["hidden"]): string[] {
  const texts = axis.text.map((_, i) => labelOf(axis, i));
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return texts.flatMap((text, i) =>
    isHidden(axis, i, hidden)
      ? []
      : [`${i} ${text}${(counts.get(text) ?? 0) > 1 ? ` (${i})` : ""}`],
  );
}

/** A select of the tokens of one side, and of all of them. */
function tokenSelect(
  name: string,
  values: string[],
  index: number | null,
  lock: (index: number | null) => void,
) {
  return select<string>({
    name,
    values: [ALL, ...values],
    value: values.find((value) => Number.parseInt(value, 10) === index) ?? ALL,
    pick: (value) => lock(value === ALL ? null : Number.parseInt(value, 10)),
    print: (value) => (value === ALL ? ALL : value.slice(value.indexOf(" ") + 1)),
  });
}

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
    ${tokenSelect("from", query ? offered(query, state.hidden) : [], question.query, (index) =>
      lock({ ...question, query: index }),
    )}
    ${tokenSelect("to", key ? offered(key, state.hidden) : [], question.key, (index) =>
      lock({ ...question, key: index }),
    )}
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
