import { html } from "lit-html";
import { clamp } from "../shared/clamp.js";
import { barView } from "../shared/color_bar_view.js";
import { type Control, choice } from "../shared/controls.js";
import type { WithControls } from "../shared/figure_controls.js";
import { specialName } from "../shared/labels.js";
import { drawnControls, hideControl, labelControl } from "../shared/shared_controls.js";
import { save } from "../shared/snapshot.js";
import type { Head, Model, RenderContext } from "../shared/types.js";
import { legendOf, ofTwoText } from "./grid_text.js";
import type { Scene } from "./scene.js";
import { COMPARISON_PARTS, type GridState, type OfTwo } from "./state.js";
import { headSwitch } from "./switch_controls.js";

const PLAY_MS = 700;

/** Return a control that steps through the layers until it is paused or the figure is removed. */
export function layerPlayer(
  { model, signal }: RenderContext<GridState>,
  step: (layer: number) => void,
  schedule: () => void,
) {
  let timer: ReturnType<typeof setInterval> | undefined;
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
  };
  signal.addEventListener("abort", stop);
  return (layers: number): Control => {
    const next = () => {
      const before = model.get("layer");
      step((before + 1) % layers);
      // Skip the layers after the last one with attention.
      if (model.get("layer") === before) step(0);
    };
    const isPlaying = timer !== undefined;
    return {
      kind: "action",
      name: "play",
      place: "bar",
      shared: true,
      label: isPlaying ? "pause" : "play through the layers",
      sign: isPlaying ? "❚❚" : "▶",
      disabled: layers < 2,
      change: () => {
        if (isPlaying) stop();
        else timer = setInterval(next, PLAY_MS);
        schedule();
      },
    };
  };
}

/** Callbacks of the controls of the grid. */
export interface GridActions {
  /** Switch a head off, or on again. */
  toggle(head: Head): void;
  step(layer: number): void;
  play(layers: number): Control;
}

/** Return the controls of the grid, without those of a metric. */
export function gridControls(
  model: Model<GridState>,
  { state, maps, stack }: Scene,
  actions: GridActions,
): Control[] {
  const layers = Math.max(1, stack?.n_layers ?? 1);
  const layer = clamp(state.layer, 0, layers - 1);
  return [
    {
      kind: "range",
      name: "layer",
      place: "bar",
      shared: true,
      max: layers - 1,
      value: layer,
      text: String(layer),
      change: actions.step,
    },
    actions.play(layers),
    headSwitch(state, actions.toggle),
    choice<OfTwo>({
      name: "maps",
      trait: "comparison_part",
      place: "bar",
      values: state._compared?.length ? COMPARISON_PARTS : [],
      value: state.comparison_part,
      change: (comparison_part) => save(model, { comparison_part }),
      print: (of) => ofTwoText(of, state._compared),
    }),
    {
      kind: "choice",
      name: "stack",
      place: "bar",
      values: state._stacks.map(({ name }) => name),
      value: state.stack,
      change: (name) => save(model, { stack: name }),
    },
    choice<"places" | "maps">({
      name: "thumbnails",
      trait: "thumbnail",
      place: "bar",
      values: state._placed_on ? ["places", "maps"] : [],
      value: maps?.row ? "places" : "maps",
      change: (thumbnail) => save(model, { thumbnail }),
      print: (value) => (value === "maps" ? "maps" : state._placed_on || value),
    }),
    {
      ...hideControl(model, (kind) => specialName(state._axes, kind)),
      // Pictures have no place for special tokens.
      hidden: Boolean(maps?.row),
    },
    ...drawnControls(model),
    {
      kind: "tick",
      name: "weight × keys",
      trait: "times_keys",
      place: "menu",
      hint: "Multiply each weight by the number of keys that its query sees: 1 is even attention.",
      value: state.times_keys,
      change: (times_keys) => save(model, { times_keys }),
      hidden: (maps?.signed ?? false) || state.quantity !== "weights",
    },
    labelControl(model),
  ];
}

/** Return the row of controls under the grid, with the legend of its colors. */
export function controlRow(
  scene: Scene,
  controls: ReturnType<WithControls["bar"]>,
  keysButton: unknown,
) {
  const { texts, words, bar } = legendOf(scene);
  return html`<div class="attnw-controls attnw-grid-controls">
    ${controls}
    <span class="attnw-grid-legend">
      ${barView(scene.theme, texts, bar)}<span>${words}</span>
    </span>
    ${keysButton}
  </div>`;
}
