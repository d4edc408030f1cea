import { element } from "../model/dom.js";
import type { ExplorerState, Input } from "../model/explorer_types.js";
import { shownHead, stepTo } from "../model/selection.js";
import type { Model } from "../model/types.js";
import { slider } from "./slider.js";

const RUN_KEYS = "Ctrl+Enter or ⌘+Enter";

/** The input that the page has asked for. */
export const asked = (model: Model<ExplorerState>): Input => ({
  text: model.get("text"),
  pair: model.get("pair") || null,
});

/** Whether the figures show another input than the one asked for. */
export function isBehind(model: Model<ExplorerState>): boolean {
  const { text, pair } = model.get("_shown");
  const now = asked(model);
  return text !== undefined && (text !== now.text || (pair ?? null) !== now.pair);
}

/** The text box, with a second one for a pair, and the layer stepper; returns how to bring them up to date. */
export function explorerForm(
  parent: HTMLElement,
  model: Model<ExplorerState>,
  signal: AbortSignal,
) {
  const form = element(parent, "form", { class: "attnw-ex-form" });
  const on = (node: HTMLElement, type: string, listener: (event: Event) => void) =>
    node.addEventListener(type, listener, { signal });

  const box = (name: string) => {
    const label = element(form, "label", { class: "attnw-ex-input" });
    element(label, "span", {}, name);
    const area = element(label, "textarea", { rows: 1, spellcheck: "false" });
    on(area, "input", () => {
      fit(area);
      mark();
    });
    on(area, "keydown", (event) => {
      const { key, ctrlKey, metaKey } = event as KeyboardEvent;
      // The host has shortcuts of its own for what is typed here.
      event.stopPropagation();
      if (key !== "Enter" || !(ctrlKey || metaKey)) return;
      event.preventDefault();
      run();
    });
    return { label, area };
  };
  const first = box("text");
  const second = box("second sentence");
  const row = element(form, "div", { class: "attnw-ex-row" });
  const button = element(row, "button", { type: "submit", class: "attnw-ex-run" }, "Run");
  button.title = RUN_KEYS;
  const more = element(row, "button", { type: "button", class: "attnw-ex-quiet" });
  const stepper = element(row, "span", { class: "attnw-ex-stepper" });
  const label = element(stepper, "label", {}, "layer ");
  const layer = slider(label, { max: 0, step: 1 });
  const number = element(stepper, "output");
  const about = element(row, "span", { class: "attnw-ex-about" });

  let known = "";
  let hasSecond = Boolean(model.get("pair"));

  const draft = (): Input => ({
    text: first.area.value,
    pair: (hasSecond && second.area.value) || null,
  });

  /** As high as its text, up to a few lines. */
  function fit(area: HTMLTextAreaElement): void {
    area.style.height = "auto";
    if (area.scrollHeight) area.style.height = `${Math.min(area.scrollHeight + 2, 120)}px`;
  }

  function mark(): void {
    button.classList.toggle(
      "attnw-ex-changed",
      JSON.stringify(draft()) !== JSON.stringify(asked(model)),
    );
  }

  function run(): void {
    const { text, pair } = draft();
    model.set("text", text);
    model.set("pair", pair);
    model.save_changes();
    mark();
  }

  function showSecond(): void {
    second.label.hidden = !hasSecond;
    more.textContent = hasSecond ? "− second sentence" : "+ second sentence";
    more.setAttribute("aria-expanded", String(hasSecond));
    if (hasSecond) fit(second.area);
    mark();
  }

  on(form, "submit", (event) => {
    event.preventDefault();
    run();
  });
  on(more, "click", () => {
    hasSecond = !hasSecond;
    showSecond();
    (hasSecond ? second : first).area.focus();
  });
  on(layer, "input", () => stepTo(model, Number(layer.value), layers()));

  function layers(): number {
    const stack = shownHead(model)?.[2];
    const stacks = model.get("_stacks");
    return (stacks.find(({ name }) => name === stack) ?? stacks[0])?.n_layers ?? 1;
  }

  return {
    fit() {
      fit(first.area);
      fit(second.area);
    },
    step: (by: number) => stepTo(model, model.get("layer") + by, layers()),
    update(): void {
      const now = asked(model);
      // What is being typed stays until the input changes elsewhere.
      if (JSON.stringify(now) !== known) {
        known = JSON.stringify(now);
        first.area.value = now.text;
        second.area.value = now.pair ?? "";
        hasSecond = now.pair !== null || (hasSecond && second.area.matches(":focus"));
        fit(first.area);
        showSecond();
      }
      mark();
      layer.max = String(Math.max(0, layers() - 1));
      layer.value = String(model.get("layer"));
      number.textContent = `${model.get("layer")}`;
      about.textContent = model.get("_source").model;
    },
  };
}
