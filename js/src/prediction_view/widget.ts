import { captionText } from "../shared/caption.js";
import { gridCursor } from "../shared/cell_cursor.js";
import { cellInput } from "../shared/cell_input.js";
import { type Cell, inside, sameCell } from "../shared/cells.js";
import { choice, controlRow } from "../shared/controls.js";
import { element, listening } from "../shared/dom.js";
import { commonKey, keyHelp } from "../shared/key_list.js";
import { liveRegion } from "../shared/live_region.js";
import { type Look, mount } from "../shared/mount.js";
import { fresh } from "../shared/pen.js";
import { releasing } from "../shared/release.js";
import { announcement, chosenHeads, selectHeads, stepTo } from "../shared/selection.js";
import { save, snapshot } from "../shared/snapshot.js";
import { type RenderContext, sameHead } from "../shared/types.js";
import { paintPredictions } from "./paint.js";
import { captionOf, chosenToken, describe, HINT, mapTitle, questionOf } from "./prediction_text.js";
import { barAt, headAt, type Scene, sceneOf } from "./scene.js";
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
const LIKELIEST = "";

function render(context: RenderContext<PredictionState>): void {
  const { model, signal } = context;
  const { inner, schedule } = mount(context, "prediction", WATCHED, { update, paint, keys });
  /** Whether there is a kernel that can compute predictions. */
  const asks = typeof model.send === "function";
  const { row, help } = controlRow(inner, signal);
  const follow = choice<string>(
    row,
    "effects on",
    signal,
    (token) => save(model, { answer: token || null }),
    nameOf,
  );
  const stacks = choice<string>(row, "stack", signal, (stack) => save(model, { stack }));
  const tokens = tokenRow(inner, signal, ask);
  const title = element(inner, "p", { class: "attnw-prediction-title" });
  const message = element(inner, "p", { class: "attnw-message", hidden: true });
  const box = element(inner, "div", {
    class: "attnw-prediction-box attnw-drawn",
    role: "grid",
    tabindex: 0,
    "aria-multiselectable": "true",
  });
  const canvas = element(box, "canvas", {
    class: "attnw-prediction-canvas",
    "aria-hidden": "true",
  });
  const setCursor = gridCursor(box);
  const answers = element(inner, "ul", { class: "attnw-unseen", "aria-label": "answers" });
  const readout = element(inner, "p", { class: "attnw-prediction-readout" });
  const toggleKeys = keyHelp(inner, KEYS, help(), signal);
  const line = element(inner, "p", { class: "attnw-prediction-caption", "data-caption": "" });
  const live = liveRegion(inner, model.get("selected"));

  let scene: Scene | null = null;
  const input = cellInput(box, canvas, signal, {
    moved: schedule,
    choose: select,
    layout: () => scene?.map,
    selected: () => scene?.selected ?? [],
  });
  const under = (event: MouseEvent) => {
    const { left, top } = canvas.getBoundingClientRect();
    return scene ? barAt(scene, event.clientX - left, event.clientY - top) : undefined;
  };
  const on = listening(signal);
  on(canvas, "pointermove", (event) => {
    canvas.style.cursor = input.under(event) || (asks && under(event)) ? "pointer" : "default";
  });
  on(canvas, "click", (event) => {
    const bar = asks && !input.under(event) && under(event);
    if (bar) save(model, { answer: bar.token });
  });

  function nameOf(token: string): string {
    const { rows = [], name = "" } = model.get("_predictions") ?? {};
    if (token === LIKELIEST)
      return model.get("answer") === null ? `the likeliest: ${name}` : "the likeliest";
    return rows.find((row) => row.token === token)?.answer ?? token;
  }

  /** Ask about a token; again, and the question is what it was by itself. */
  function ask(index: number): void {
    const position = index + (model.get("_predictions")?.task === "next" ? 1 : 0);
    save(model, { position: model.get("position") === position ? null : position });
  }

  function select(cell: Cell, add: boolean): void {
    const head = scene && headAt(scene, cell);
    if (head) selectHeads(model, chosenHeads(model.get("selected"), head, add));
  }

  function switchHead(cell: Cell): boolean {
    const head = asks && scene ? headAt(scene, cell) : undefined;
    if (!head) return false;
    const before = model.get("disabled");
    const others = before.filter((cell) => !sameHead(cell, head));
    const off = others.length === before.length;
    save(model, { disabled: off ? [...before, head] : others });
    live.announce(`layer ${head[0]} head ${head[1]} switched ${off ? "off" : "on"}`);
    return true;
  }

  function keys(event: KeyboardEvent): boolean {
    if (event.target instanceof HTMLSelectElement) return false;
    const step = (by: number) => stepTo(model, model.get("layer") + by, scene?.stack);
    if (commonKey(event, toggleKeys, step) || input.key(event)) return true;
    if (event.key !== "x" || event.metaKey || event.ctrlKey || event.altKey) return false;
    const last = scene?.selected.at(-1);
    const at =
      event.target === box
        ? (input.place.hovered ?? input.place.focused)
        : (input.place.hovered ?? last);
    return at ? switchHead(at) : false;
  }

  function update(look: Look): void {
    const state = snapshot(model, WATCHED);
    scene = sceneOf(state, look);
    const { _predictions: answered } = state;
    for (const node of [title, box, readout]) node.hidden = !scene;
    message.hidden = Boolean(scene);
    message.textContent = state._message;
    const isText = answered?.task !== "class" && Boolean(state._axes.query);
    const what =
      answered?.task === "next" ? "what follows which token" : "which token is predicted";
    tokens(isText ? state._axes.query : undefined, chosenToken(state), what, asks);
    title.textContent = questionOf(state);
    line.textContent = captionText(captionOf(state, scene));
    stacks(asks ? state._stacks.map(({ name }) => name) : [], state.stack);
    const rows = answered?.rows ?? [];
    // Names depend on the answer: offered anew with each.
    follow([], "");
    follow(asks ? [LIKELIEST, ...rows.map(({ token }) => token)] : [], state.answer ?? LIKELIEST);
    answers.replaceChildren();
    for (const { answer, texts } of scene?.bars ?? [])
      element(answers, "li", {}, `${answer}: ${texts.join(", ")}`);
    live.say(state.selected, announcement(state.selected));
    if (!scene) return;
    canvas.dataset.layout = JSON.stringify(scene.map);
    box.setAttribute("aria-label", `${mapTitle(scene)}; question mark lists the keys`);
    box.setAttribute("aria-busy", String(!scene.effects || scene.effects.estimate));
  }

  function paint(): void {
    if (!scene) return;
    const { rows, cols } = scene.map;
    const { place } = input;
    place.focused = inside(place.focused, rows, cols);
    const focused = place.byKeyboard ? place.focused : undefined;
    const pen = fresh(canvas, scene.width, scene.height);
    if (pen) paintPredictions(pen, scene, { hovered: place.hovered, focused });
    const at = place.hovered ?? focused ?? scene.selected.at(-1);
    readout.textContent = at ? describe(scene, at) : HINT;
    const isSelected = scene.selected.some((cell) => sameCell(cell, place.focused));
    setCursor(place.focused, rows, cols, describe(scene, place.focused), isSelected);
  }
}

export default () => ({
  initialize: releasing<PredictionState>("_predictions", "_effects"),
  render,
});
