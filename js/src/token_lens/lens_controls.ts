import { colourBar } from "../shared/colour_bar.js";
import { choice, controlRow, hideTicks } from "../shared/controls.js";
import { element } from "../shared/dom.js";
import { labelOf, specialName } from "../shared/labels.js";
import { save } from "../shared/snapshot.js";
import { type Axis, type RenderContext, SCALES, type Side } from "../shared/types.js";
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

/** The row above the lens with the direction of attention, and the row below it. */
export function lensControls(
  parent: HTMLElement,
  { model, signal }: RenderContext<LensState>,
  lock: (question: Asked) => void,
  step: (layer: number) => void,
) {
  const { row, stepper, help } = controlRow(parent, signal);
  let now: Asked = { query: null, key: null };
  const token = (name: string, side: Side) =>
    choice<string>(
      row,
      name,
      signal,
      (value) => lock({ ...now, [side]: value === ALL ? null : Number.parseInt(value, 10) }),
      (value) => (value === ALL ? ALL : value.slice(value.indexOf(" ") + 1)),
    );
  const from = token("from", "query");
  const to = token("to", "key");
  const of = choice<LensState["of"]>(
    row,
    "heads",
    signal,
    (value) => save(model, { of: value }),
    (value) => OF[value],
  );
  const layer = stepper("layer", step);
  const sort = choice<LensState["sort"]>(
    row,
    "sort by",
    signal,
    (value) => save(model, { sort: value }),
    (value) => SORT[value],
  );
  const keys = help();

  const below = element(parent, "div", { class: "attnw-controls attnw-lens-below" });
  const trait = (name: "stack" | "quantity" | "unit" | "scale") =>
    choice<string>(below, name, signal, (value) => save(model, { [name]: value }));
  const stack = trait("stack");
  const quantity = trait("quantity");
  const unit = trait("unit");
  const hide = hideTicks(below, model, signal);
  const scale = trait("scale");
  const legend = element(below, "span", { class: "attnw-lens-legend" });
  const bar = colourBar(legend);
  const inUse = element(legend, "span");

  return {
    keys,
    /** Put the second row under what is there by now. */
    under: (at: HTMLElement) => at.append(below),
    update(state: LensState, question: Asked, scene: Scene | undefined): void {
      now = question;
      const { query, key } = state._axes;
      const show = (put: typeof from, axis: Axis | undefined, index: number | null) => {
        const values = axis ? offered(axis, state.hidden) : [];
        put([ALL, ...values], values.find((value) => Number.parseInt(value, 10) === index) ?? ALL);
      };
      show(from, query, question.query);
      show(to, key, question.key);
      const single = question.query === null || question.key === null;
      of(single ? ["layer", "model"] : [], state.of);
      sort(single ? ["head", "weight"] : [], state.sort);
      const shown = state._stacks.find(({ name }) => name === state.stack);
      layer(
        Math.min(state.layer, (shown?.n_layers ?? 1) - 1),
        single && state.of === "layer" ? (shown?.n_layers ?? 1) : 1,
      );
      stack(
        state._stacks.map(({ name }) => name),
        state.stack,
      );
      quantity(state._quantities, state.quantity);
      unit(["tokens", "words"], state.unit);
      scale(SCALES, state.scale);
      hide((kind) => specialName(state._axes, kind));
      legend.hidden = !scene;
      if (!scene) return;
      const { texts, words } = legendOf(scene);
      bar(scene.theme, texts);
      inUse.textContent = words;
    },
  };
}
