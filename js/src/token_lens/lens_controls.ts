import { html, nothing } from "lit-html";
import { barView } from "../shared/colour_bar_view.js";
import { type Control, choice } from "../shared/controls.js";
import type { WithControls } from "../shared/figure_controls.js";
import { specialName } from "../shared/labels.js";
import { drawnControls, hideControl } from "../shared/shared_controls.js";
import { save } from "../shared/snapshot.js";
import { offeredTokens, tokenChoice } from "../shared/token_select.js";
import type { Model } from "../shared/types.js";
import type { lensChoices } from "./lens_choices.js";
import { isNone, legendOf } from "./lens_text.js";
import type { Scene } from "./scene.js";
import { lockedOf } from "./shown_tokens.js";
import type { LensState } from "./state.js";

const ALL = "every token";
const OF = { layer: "of the layer", model: "of the model" };
const SORT = { head: "number", weight: "largest weight" };

/** The controls above the lens, with the direction of attention. */
export function lensControls(
  model: Model<LensState>,
  { state, scene }: { state: LensState; scene: Scene | undefined },
  { now, lock, step }: ReturnType<typeof lensChoices>,
): Control[] {
  const { query, key } = state._axes;
  const isLocked = query && scene && !isNone(scene);
  const question = isLocked ? lockedOf(state, state._axes) : now();
  const isSingle = question.query === null || question.key === null;
  const layers = state._stacks.find(({ name }) => name === state.stack)?.n_layers ?? 1;
  return [
    tokenChoice({
      name: "from",
      none: ALL,
      offered: query ? offeredTokens(query, state.hidden) : [],
      index: question.query,
      lock: (index) => lock({ ...question, query: index }),
    }),
    tokenChoice({
      name: "to",
      none: ALL,
      offered: key ? offeredTokens(key, state.hidden) : [],
      index: question.key,
      lock: (index) => lock({ ...question, key: index }),
    }),
    choice<LensState["of"]>({
      name: "heads",
      place: "bar",
      values: isSingle ? ["layer", "model"] : [],
      value: state.of,
      change: (of) => save(model, { of }),
      print: (value) => OF[value],
    }),
    {
      kind: "stepper",
      name: "layer",
      place: "bar",
      shared: true,
      count: isSingle && state.of === "layer" ? layers : 1,
      value: Math.min(state.layer, layers - 1),
      change: step,
    },
    choice<LensState["sort"]>({
      name: "sort by",
      place: "bar",
      values: isSingle ? ["head", "weight"] : [],
      value: state.sort,
      change: (sort) => save(model, { sort }),
      print: (value) => SORT[value],
    }),
  ];
}

/** The controls and the legend below the lens. */
export const belowView = (
  { own, bar }: Pick<WithControls, "own" | "bar">,
  model: Model<LensState>,
  state: LensState,
  scene: Scene | undefined,
) =>
  html`<div class="attnw-controls attnw-lens-below"
    >${bar(own(belowControls(model, state), "below"))}${legendView(scene)}</div>`;

const belowControls = (model: Model<LensState>, state: LensState): Control[] => [
  {
    kind: "choice",
    name: "stack",
    place: "bar",
    values: state._stacks.map(({ name }) => name),
    value: state.stack,
    change: (stack) => save(model, { stack }),
  },
  hideControl(model, (kind) => specialName(state._axes, kind)),
  ...drawnControls(model),
];

/** The colours of the lens and their values. */
function legendView(scene: Scene | undefined) {
  const legend = scene && legendOf(scene);
  return html`<span class="attnw-lens-legend" ?hidden=${!legend}>
    ${scene && legend ? barView(scene.theme, legend.texts) : nothing}
    <span>${legend?.words}</span>
  </span>`;
}
