import { html, type TemplateResult } from "lit-html";
import { strip } from "../shared/colour_bar.js";
import { barView } from "../shared/colour_bar_view.js";
import { hiddenTicks, rangeInput, select, signButton, tickBox } from "../shared/controls.js";
import { labelField } from "../shared/label_field.js";
import { specialName } from "../shared/labels.js";
import type { Mounted } from "../shared/mount.js";
import { save } from "../shared/snapshot.js";
import { type RenderContext, SCALES } from "../shared/types.js";
import { legendOf, ofTwoText } from "./grid_text.js";
import type { Scene } from "./scene.js";
import { type GridState, OF_TWO, type OfTwo } from "./state.js";
import { headSwitch, type Switching } from "./switch_controls.js";

const PLAY_MS = 700;

/** Steps through the layers on its own, until it is paused or the page lets go of the figure. */
function player(
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
  return (layers: number) => {
    const next = () => {
      const before = model.get("layer");
      step((before + 1) % layers);
      // The layers after the last one with attention are passed by.
      if (model.get("layer") === before) step(0);
    };
    const isPlaying = timer !== undefined;
    const turn = () => {
      if (isPlaying) stop();
      else timer = setInterval(next, PLAY_MS);
      schedule();
    };
    const name = isPlaying ? "pause" : "play through the layers";
    return signButton(isPlaying ? "❚❚" : "▶", name, turn, layers < 2);
  };
}

/** The row of controls under the grid. */
export function gridControls(
  context: RenderContext<GridState>,
  { schedule }: Pick<Mounted, "schedule">,
  step: (layer: number) => void,
  switching: Switching,
) {
  const { model } = context;
  const playButton = player(context, step, schedule);
  let isOpen = false;
  const fold = () => {
    isOpen = !isOpen;
    schedule();
  };
  const trait = (name: "stack" | "quantity" | "unit" | "scale", values: readonly string[]) =>
    select<string>({
      name,
      values,
      value: model.get(name),
      pick: (value) => save(model, { [name]: value }),
    });

  return {
    /** Whether all controls of a narrow grid are shown. */
    isOpen: () => isOpen,
    view({ state, maps, stack, theme, look }: Scene, keysButton: TemplateResult) {
      const layers = Math.max(1, stack?.n_layers ?? 1);
      const { texts, words } = legendOf(state, maps);
      return html`<div class="attnw-controls attnw-grid-controls">
        <span class="attnw-grid-stepper" data-label="layer">
          <label>layer ${rangeInput({ max: layers - 1, value: state.layer, slide: step })}</label>
          <output>${Math.max(0, Math.min(state.layer, layers - 1))}</output>
          ${playButton(layers)}
        </span>
        ${headSwitch(state, switching)}
        ${labelField(model)}
        <button type="button" class="attnw-grid-more attnw-button" aria-expanded=${isOpen}
          @click=${fold}>${`controls ${isOpen ? "▾" : "▸"}`}</button>
        ${select<OfTwo>({
          name: "maps",
          values: state._compared?.length ? OF_TWO : [],
          value: state.of_two,
          pick: (of_two) => save(model, { of_two }),
          print: (of) => ofTwoText(of, state._compared),
        })}
        ${trait(
          "stack",
          state._stacks.map(({ name }) => name),
        )}
        ${trait("quantity", state._quantities)}
        ${trait("unit", ["tokens", "words"])}
        ${hiddenTicks(model, (kind) => specialName(state._axes, kind))}
        ${trait("scale", SCALES)}
        ${tickBox({
          name: "weight × keys",
          checked: state.times_keys,
          tick: (times_keys) => save(model, { times_keys }),
          hidden: (maps?.signed ?? false) || state.quantity !== "weights",
        })}
        <span class="attnw-grid-legend">
          ${barView(theme, texts, strip(look.table))}<span>${words}</span>
        </span>
        ${keysButton}
      </div>`;
    },
  };
}
