import { html, nothing } from "lit-html";
import { captionText } from "../shared/caption.js";
import { cellGestures } from "../shared/cell_input.js";
import { withControls } from "../shared/figure_controls.js";
import { initializing } from "../shared/initialize.js";
import { commonKey, keyList } from "../shared/key_list.js";
import { announcer } from "../shared/live_region.js";
import { type Look, mount } from "../shared/mount.js";
import { fresh } from "../shared/pen.js";
import { captioned } from "../shared/save_menu.js";
import { announcement, stepTo } from "../shared/selection.js";
import { save, snapshot } from "../shared/snapshot.js";
import type { RenderContext } from "../shared/types.js";
import { paintPredictions } from "./paint.js";
import { predictionChoices } from "./prediction_choices.js";
import { predictionControls } from "./prediction_controls.js";
import { captionOf, describe, HINT, mapTitle, questionOf } from "./prediction_text.js";
import { barAt, type Scene, sceneOf } from "./scene.js";
import { type PredictionState, WATCHED } from "./state.js";
import { tokenRow } from "./token_row.js";

const KEYS = [
  ["Tab", "to the tokens, then to the map of heads"],
  ["Arrow keys", "move between tokens, or between heads"],
  ["Enter or Space, click", "ask about the token, or select the head"],
  ["Shift + Enter, Shift + click", "add or remove the head"],
  ["x", "switch the head off, or on again"],
  ["click on an answer", "show the effects on this one"],
  ["[ and ]", "step to the layer before / after"],
  ["?", "show or hide this list"],
] as const;
function render(context: RenderContext<PredictionState>): void {
  const { model, signal } = context;
  const mounted = withControls(
    mount(context, "prediction", WATCHED, { update, view, paint, keys: key }),
    context.signal,
  );
  const { schedule } = mounted;
  /** Whether there is a kernel that can compute predictions. */
  const asks = typeof model.send === "function";
  const keys = keyList(KEYS, mounted, signal);
  const live = announcer(model.get("selected"));
  const choices = predictionChoices(model, () => scene);
  const tokens = tokenRow(choices.ask, mounted.drawNow);

  let state: PredictionState | undefined;
  let scene: Scene | null = null;
  const input = cellGestures(signal, {
    moved: schedule,
    choose: choices.select,
    layout: () => scene?.map,
    selected: () => scene?.selected ?? [],
  });

  /** Return the answer whose bar is under the pointer. */
  function answerUnder(event: MouseEvent) {
    if (!asks || !scene || input.under(event)) return undefined;
    const { left, top } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return barAt(scene, event.clientX - left, event.clientY - top);
  }

  function showPointer(event: MouseEvent): void {
    const isActive = Boolean(input.under(event) || answerUnder(event));
    (event.currentTarget as HTMLElement).style.cursor = isActive ? "pointer" : "default";
  }

  function follow(event: MouseEvent): void {
    const answer = answerUnder(event);
    if (answer) save(model, { answer: answer.token });
  }

  function key(event: KeyboardEvent): boolean {
    if (event.target instanceof HTMLSelectElement) return false;
    const step = (by: number) => stepTo(model, model.get("layer") + by, scene?.stack);
    if (commonKey(event, keys.toggle, step) || input.key(event)) return true;
    if (event.key !== "x" || event.metaKey || event.ctrlKey || event.altKey || !asks) return false;
    const { hovered, focused } = input.cursor;
    const at = hovered ?? (event.target === input.box() ? focused : scene?.selected.at(-1));
    const said = at && choices.switchHead(at);
    if (said) live.announce(said);
    return said !== undefined;
  }

  function update(look: Look): void {
    state = snapshot(model, WATCHED);
    scene = sceneOf(state, look);
    live.say(state.selected, announcement(state.selected));
  }

  function view(): unknown {
    if (!state) return nothing;
    const controls = mounted.own(predictionControls(model, state, asks));
    return html`<div class="attnw-controls">${mounted.bar(controls)}${keys.button()}</div>
      ${tokens(state, asks)}
      <p class="attnw-figure-title attnw-prediction-title" ?hidden=${!scene}
        >${questionOf(state)}</p>
      <p class="attnw-message" ?hidden=${scene !== null}>${state._message}</p>
      <p class="attnw-prediction-problem" ?hidden=${!scene || !state._problem}
        >No effects of heads: ${state._problem}</p>
      ${boxView(scene)}
      <ul class="attnw-unseen" aria-label="answers">${scene?.bars.map(
        ({ answer, texts }) => html`<li>${`${answer}: ${texts.join(", ")}`}</li>`,
      )}</ul>
      <p class="attnw-prediction-readout" ?hidden=${!scene}>${scene && readoutOf(scene)}</p>
      ${keys.list()}
      ${captioned(
        mounted.save,
        html`<p class="attnw-below attnw-prediction-caption" data-caption
          >${captionText(captionOf(state, scene))}</p>`,
      )}
      ${live.view()}`;
  }

  const boxView = (shown: Scene | null) =>
    input.view({
      classes: "attnw-cells attnw-prediction-box",
      label: shown ? `${mapTitle(shown)}; question mark lists the keys` : undefined,
      canvas: "attnw-prediction-canvas",
      on: { pointermove: showPointer, click: follow },
      nameOf: (cell) => (shown ? describe(shown, cell) : ""),
      isBusy: Boolean(shown && (!shown.effects || shown.effects.estimate)),
    });

  function readoutOf(shown: Scene): string {
    const at = input.pointed() ?? shown.selected.at(-1);
    return at ? describe(shown, at) : HINT;
  }

  function paint(): void {
    const canvas = input.canvas();
    if (!scene || !canvas) return;
    const { hovered, byKeyboard, focused } = input.cursor;
    const pen = fresh(canvas, scene.width, scene.height);
    if (pen) paintPredictions(pen, scene, { hovered, focused: byKeyboard ? focused : undefined });
  }
}

export default () => ({
  initialize: initializing<PredictionState>("_predictions", "_effects"),
  render,
});
