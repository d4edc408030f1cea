import { element } from "../model/dom.js";
import type { Theme } from "../model/theme.js";
import type { GridState, Model, Scale } from "../model/types.js";
import { drawColourBar } from "./colour_bar.js";
import type { Picture } from "./grid_pixels.js";
import { SPECIALS, scaleText, specialName } from "./grid_text.js";
import { printValue } from "./quantity.js";

const PLAY_MS = 700;
const SCALES: Scale[] = ["linear", "sqrt", "log"];

/** A labelled select; `fill` gives it its options and value. */
function choice(
  parent: HTMLElement,
  name: string,
  signal: AbortSignal,
  onPick: (value: string) => void,
) {
  const label = element(parent, "label", {}, `${name} `);
  const select = element(label, "select");
  select.addEventListener("change", () => onPick(select.value), { signal });
  return (options: string[], value: string) => {
    label.hidden = options.length < 2;
    if (options.join("\n") !== [...select.options].map((o) => o.value).join("\n")) {
      select.replaceChildren();
      for (const option of options) element(select, "option", { value: option }, option);
    }
    select.value = value;
  };
}

function tick(
  parent: HTMLElement,
  name: string,
  signal: AbortSignal,
  onTick: (checked: boolean) => void,
) {
  const label = element(parent, "label", { class: "attnw-grid-tick" });
  const input = element(label, "input", { type: "checkbox" });
  const text = element(label, "span", {}, name);
  input.addEventListener("change", () => onTick(input.checked), { signal });
  return { label, input, text };
}

export interface ControlActions {
  step(layer: number): void;
  toggleKeys(): void;
}

/** The row under the grid; returns how to bring it up to date with the model. */
export function gridControls(
  parent: HTMLElement,
  model: Model<GridState>,
  signal: AbortSignal,
  actions: ControlActions,
) {
  const row = element(parent, "div", { class: "attnw-grid-controls" });
  const set = <K extends keyof GridState>(key: K, value: GridState[K]) => {
    model.set(key, value);
    model.save_changes();
  };

  const stepper = element(row, "span", { class: "attnw-grid-stepper" });
  const label = element(stepper, "label", {}, "layer ");
  const slider = element(label, "input", { type: "range", min: 0, step: 1 });
  const shown = element(stepper, "output");
  const play = element(stepper, "button", { type: "button", class: "attnw-grid-button" });
  const layers = () => Number(slider.max) + 1;
  slider.addEventListener("input", () => actions.step(Number(slider.value)), { signal });
  let timer: ReturnType<typeof setInterval> | undefined;
  const setPlaying = (playing: boolean) => {
    clearInterval(timer);
    timer = playing
      ? setInterval(() => actions.step((model.get("layer") + 1) % layers()), PLAY_MS)
      : undefined;
    play.textContent = playing ? "❚❚" : "▶";
    play.setAttribute("aria-label", playing ? "pause" : "play through the layers");
    play.title = playing ? "pause" : "play through the layers";
  };
  setPlaying(false);
  play.addEventListener("click", () => setPlaying(timer === undefined), { signal });
  signal.addEventListener("abort", () => clearInterval(timer));

  const stack = choice(row, "stack", signal, (name) => set("stack", name));
  const quantity = choice(row, "quantity", signal, (value) => set("quantity", value));
  const unit = choice(row, "unit", signal, (value) => set("unit", value as GridState["unit"]));

  const hide = element(row, "span", { role: "group", "aria-label": "hide" }, "hide ");
  const toggles = SPECIALS.map((kind) => ({
    kind,
    ...tick(hide, kind, signal, (on) => {
      const hidden = model.get("hidden");
      set(
        "hidden",
        SPECIALS.filter((k) => (k === kind ? on : hidden.includes(k))),
      );
    }),
  }));
  for (const { kind, input } of toggles) input.dataset.hide = kind;

  const scale = choice(row, "scale", signal, (value) => set("scale", value as Scale));
  const shared = tick(row, "shared by all heads", signal, (on) => set("shared_scale", on));

  const legend = element(row, "span", { class: "attnw-grid-legend" });
  const bar = element(legend, "span", { class: "attnw-grid-bar" });
  const strip = element(bar, "canvas", { "aria-hidden": "true" });
  const ends = [element(bar, "span"), element(bar, "span"), element(bar, "span")];
  const inUse = element(legend, "span");

  const keys = element(row, "button", {
    ...{ type: "button", class: "attnw-grid-button", title: "keys", "aria-label": "show the keys" },
    "aria-expanded": "false",
  });
  keys.textContent = "?";
  keys.addEventListener("click", () => actions.toggleKeys(), { signal });

  return {
    keys,
    update(theme: Theme, picture: Picture | null): void {
      const stacks = model.get("_stacks");
      const current = stacks.find(({ name }) => name === model.get("stack"));
      const axes = model.get("_axes");
      slider.max = String(Math.max(0, (current?.n_layers ?? 1) - 1));
      slider.value = String(model.get("layer"));
      shown.textContent = slider.value;
      play.disabled = layers() < 2;
      stack(
        stacks.map(({ name }) => name),
        model.get("stack"),
      );
      quantity(model.get("_quantities"), model.get("quantity"));
      unit(["tokens", "words"], model.get("unit"));
      scale(SCALES, model.get("scale"));
      shared.input.checked = model.get("shared_scale");
      for (const { kind, label: box, input, text } of toggles) {
        const name = specialName(axes, kind);
        input.checked = model.get("hidden").includes(kind);
        text.textContent = name ?? kind;
        box.hidden = name === undefined && !input.checked;
      }
      hide.hidden = toggles.every(({ label: box }) => box.hidden);
      const maximum = picture?.maximum ?? 1;
      const isShared = model.get("shared_scale");
      const print = isShared ? printValue(model.get("quantity")) : undefined;
      const top = isShared ? maximum : 100;
      const texts = drawColourBar(strip, theme, model.get("scale"), top, print);
      // Without a common maximum the scale is in parts of each head's own.
      const perHead = ["0", `${texts[1]} %`, "head max"];
      if (texts[0] !== "0") perHead[0] = `${texts[0]} %`;
      for (const [i, node] of ends.entries())
        node.textContent = (isShared ? texts : perHead)[i] ?? "";
      inUse.textContent = scaleText(model.get("scale"), isShared, picture);
    },
  };
}
