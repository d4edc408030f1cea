import { colourBar } from "../shared/colour_bar.js";
import { choice, controlRow, hideTicks, tick } from "../shared/controls.js";
import { element, listening } from "../shared/dom.js";
import { specialName } from "../shared/labels.js";
import { save } from "../shared/snapshot.js";
import { type RenderContext, SCALES } from "../shared/types.js";
import { legendOf, ofTwoText } from "./grid_text.js";
import type { Scene } from "./scene.js";
import { type GridState, OF_TWO, type OfTwo } from "./state.js";
import { type Switching, switchControls } from "./switch_controls.js";

const PLAY_MS = 700;

/** The rows under the grid; returns how to bring them up to date with the model. */
export function gridControls(
  parent: HTMLElement,
  { model, signal }: RenderContext<GridState>,
  step: (layer: number) => void,
  switching: Switching,
) {
  const { row, help } = controlRow(parent, signal);
  row.classList.add("attnw-grid-controls");
  const on = listening(signal);
  const trait = (name: "stack" | "quantity" | "unit" | "scale") =>
    choice<string>(row, name, signal, (value) => save(model, { [name]: value }));

  const stepper = element(row, "span", { class: "attnw-grid-stepper", "data-label": "layer" });
  const label = element(stepper, "label", {}, "layer ");
  const slider = element(label, "input", { type: "range", min: 0, step: 1 });
  const shown = element(stepper, "output");
  const play = element(stepper, "button", { type: "button", class: "attnw-button" });
  const layers = () => Number(slider.max) + 1;
  on(slider, "input", () => step(Number(slider.value)));
  let timer: ReturnType<typeof setInterval> | undefined;
  const setPlaying = (playing: boolean) => {
    clearInterval(timer);
    const next = () => {
      const before = model.get("layer");
      step((before + 1) % layers());
      // The layers after the last one with attention are passed by.
      if (model.get("layer") === before) step(0);
    };
    timer = playing ? setInterval(next, PLAY_MS) : undefined;
    play.textContent = playing ? "❚❚" : "▶";
    play.title = playing ? "pause" : "play through the layers";
    play.setAttribute("aria-label", play.title);
  };
  setPlaying(false);
  on(play, "click", () => setPlaying(timer === undefined));
  signal.addEventListener("abort", () => clearInterval(timer));

  const switches = switchControls(row, parent, model, signal, switching);
  const more = element(row, "button", { type: "button", class: "attnw-grid-more attnw-button" });
  const setOpen = (open: boolean) => {
    parent.classList.toggle("attnw-grid-open", open);
    more.setAttribute("aria-expanded", String(open));
    more.textContent = `controls ${open ? "▾" : "▸"}`;
  };
  setOpen(false);
  on(more, "click", () => setOpen(more.getAttribute("aria-expanded") !== "true"));

  const pick = (of_two: OfTwo) => save(model, { of_two });
  const ofTwo = choice<OfTwo>(row, "maps", signal, pick, (choiceName) =>
    ofTwoText(choiceName, model.get("_compared")),
  );
  const stack = trait("stack");
  const quantity = trait("quantity");
  const unit = trait("unit");
  const hide = hideTicks(row, model, signal);
  const scale = trait("scale");
  const shared = tick(row, "shared by all heads", signal, (shared_scale) =>
    save(model, { shared_scale }),
  );
  const legend = element(row, "span", { class: "attnw-grid-legend" });
  const bar = colourBar(legend);
  const inUse = element(legend, "span");

  return {
    keys: help(),
    update(scene: Scene): void {
      const { state, maps, stack: current, theme, look } = scene;
      switches(scene);
      slider.max = String(Math.max(0, (current?.n_layers ?? 1) - 1));
      slider.value = String(state.layer);
      shown.textContent = slider.value;
      play.disabled = layers() < 2;
      const stacks = state._stacks.map(({ name }) => name);
      stack(stacks, state.stack);
      ofTwo(state._compared?.length ? OF_TWO : [], state.of_two);
      quantity(state._quantities, state.quantity);
      unit(["tokens", "words"], state.unit);
      scale(SCALES, state.scale);
      shared.input.checked = state.shared_scale;
      shared.label.hidden = maps?.signed ?? false;
      hide((kind) => specialName(state._axes, kind));
      const { texts, words } = legendOf(state, maps);
      bar(theme, texts, look.table);
      inUse.textContent = words;
    },
  };
}
