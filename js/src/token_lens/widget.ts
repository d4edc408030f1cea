import { ALL_HIDDEN, captionText } from "../shared/caption.js";
import { gridCursor } from "../shared/cell_cursor.js";
import { cellInput } from "../shared/cell_input.js";
import { type Cell, corner, inside, pitches, sameCell } from "../shared/cells.js";
import { element, listening } from "../shared/dom.js";
import { adds, commonKey, keyHelp } from "../shared/key_list.js";
import { labelOf } from "../shared/labels.js";
import { liveRegion } from "../shared/live_region.js";
import { type Look, mount } from "../shared/mount.js";
import { fresh } from "../shared/pen.js";
import { releasing } from "../shared/release.js";
import { remembered } from "../shared/remembered.js";
import { announcement, chosenHeads, stepTo, undoable } from "../shared/selection.js";
import { save, snapshot } from "../shared/snapshot.js";
import type { RenderContext } from "../shared/types.js";
import { lensControls } from "./lens_controls.js";
import {
  captionOf,
  describe,
  FIRST_HINT,
  HINT,
  isNone,
  leadCell,
  PAIR_HINT,
  titleOf,
} from "./lens_text.js";
import { paintLens } from "./paint.js";
import { decode, headAt, isCurrent, rowAt, type Scene, sceneOf, TALLEST } from "./scene.js";
import { type Asked, lockedOf } from "./shown_tokens.js";
import { type Lens, type LensState, WATCHED } from "./state.js";

const KEYS = [
  ["Arrow keys", "move between cells; Home and End, Page Up and Page Down to go further"],
  ["Enter or Space, click", "select the head of the cell"],
  ["Shift + Enter, Shift + click", "add or remove the head"],
  ["t, click on a token", "lock the token of the row too"],
  ["f, Shift + click on a token", "go on from this token alone"],
  ["x", "turn round: from becomes to"],
  ["s", "sort the heads"],
  ["a", "the heads of the layer, or of the model"],
  ["[ and ]", "step to the layer before / after"],
  ["Escape", "back to what was locked and selected before"],
  ["?", "show or hide this list"],
] as const;

type Choice = Pick<LensState, "selected" | "tokens">;

function render(context: RenderContext<LensState>): void {
  const { model, signal } = context;
  const { root, inner, schedule } = mount(context, "lens", WATCHED, { update, paint, keys: key });
  const controls = lensControls(inner, context, lock, step);
  const title = element(inner, "p", { class: "attnw-lens-title" });
  const message = element(inner, "p", { class: "attnw-message", hidden: true });
  const progress = element(inner, "div", { class: "attnw-progress", hidden: true });
  const box = element(inner, "div", {
    class: "attnw-lens-box attnw-drawn",
    role: "grid",
    tabindex: 0,
    "aria-multiselectable": "true",
  });
  box.style.maxHeight = `${TALLEST + 40}px`;
  const canvas = element(box, "canvas", { class: "attnw-lens-canvas", "aria-hidden": "true" });
  const setCursor = gridCursor(box);
  const readout = element(inner, "p", { class: "attnw-lens-readout" });
  const hint = element(inner, "p", { class: "attnw-muted attnw-lens-hint" });
  controls.under(inner);
  const toggleKeys = keyHelp(inner, KEYS, controls.keys, signal);
  const line = element(inner, "p", { class: "attnw-lens-caption", "data-caption": "" });
  const live = liveRegion(inner, model.get("selected"));

  let scene: Scene | undefined;
  /** The row whose token is pointed at. */
  let pointed: number | undefined;
  const lens = remembered((lens: Lens | null) => lens && decode(lens));
  const { choose, undo } = undoable<Choice>(
    () => snapshot(model as never, ["selected", "tokens"]),
    (choice) => {
      const last = choice.selected.at(-1);
      save(model, { ...choice, ...(last && { layer: last[0] }) });
    },
  );
  const set = (change: Partial<Choice>) =>
    choose({ selected: model.get("selected"), tokens: model.get("tokens"), ...change });

  const input = cellInput(box, canvas, signal, {
    choose: select,
    undo: goBack,
    layout: () => scene?.layout,
    fixedLabels: true,
    moved: () => {
      if (input.place.byKeyboard) reveal(input.place.focused);
      schedule();
    },
    selected: () => scene?.selected ?? [],
  });
  const on = listening(signal);
  on(box, "scroll", schedule);
  on(canvas, "pointermove", (event) => point(tokenUnder(event)));
  on(canvas, "pointerleave", () => point(undefined));
  on(canvas, "click", (event) => {
    const token = tokenUnder(event);
    if (token !== undefined) lockOther(token, adds(event));
  });

  function point(token: number | undefined): void {
    if (token === pointed) return;
    pointed = token;
    schedule();
  }

  /** The token whose label is under the pointer. */
  function tokenUnder(event: MouseEvent): number | undefined {
    if (!scene?.side) return undefined;
    const { left } = box.getBoundingClientRect();
    const onLabel = event.clientX - left < scene.layout.x0;
    return onLabel ? rowAt(scene, event.clientY - canvas.getBoundingClientRect().top) : undefined;
  }

  /** Bring a row of a tall lens into sight, under the labels of the heads. */
  function reveal(cell: Cell): void {
    if (!scene) return;
    const [, y] = corner(scene.layout, cell);
    const below = y + pitches(scene.layout)[1] + 4 - box.clientHeight;
    box.scrollTop = Math.max(Math.min(box.scrollTop, y - scene.layout.y0), below);
  }

  const now = (): Asked =>
    scene ? { query: scene.lens.query, key: scene.lens.key } : { query: null, key: null };

  function lock({ query, key: to }: Asked): void {
    const tokens: LensState["tokens"] = [];
    if (query !== null) tokens.push(["query", query]);
    if (to !== null) tokens.push(["key", to]);
    set({ tokens });
  }

  /** Lock a row's token beside the one that is locked, or in its place. */
  function lockOther(token: number, alone: boolean): void {
    if (!scene?.side || !isCurrent(scene.lens, scene.state)) return;
    const other = scene.side === "query" ? "key" : "query";
    if (!alone) lock({ ...now(), [other]: token });
    else if (scene.lens.stack === "cross") lock({ query: null, key: null, [other]: token });
    else lock({ query: null, key: null, [scene.side]: token });
  }

  function goBack(): boolean {
    if (undo()) return true;
    const tokens = model.get("tokens");
    if (tokens.length) save(model, { tokens: tokens.slice(0, -1) });
    return tokens.length > 0;
  }

  function select(cell: Cell, add: boolean): void {
    // While the picture still shows another stack, the pointer selects no head.
    const head = scene?.lens.stack === model.get("stack") ? headAt(scene, cell) : undefined;
    if (head) set({ selected: chosenHeads(model.get("selected"), head, add) });
  }

  function step(layer: number): void {
    const shown = model.get("_stacks").find(({ name }) => name === model.get("stack"));
    stepTo(model, layer, shown);
  }

  function key(event: KeyboardEvent): boolean {
    if (event.key === "Escape") return goBack();
    if (event.target instanceof HTMLSelectElement || event.target instanceof HTMLInputElement)
      return false;
    if (commonKey(event, toggleKeys, (by) => step(model.get("layer") + by)) || input.key(event))
      return true;
    if (event.metaKey || event.ctrlKey || event.altKey || !scene) return false;
    const token = scene.tokens[input.place.focused[0]];
    const { query, key: to } = now();
    if (event.key === "x" && scene.lens.stack !== "cross") lock({ query: to, key: query });
    else if (event.key === "s")
      save(model, { sort: model.get("sort") === "head" ? "weight" : "head" });
    else if (event.key === "a")
      save(model, { of: model.get("of") === "layer" ? "model" : "layer" });
    else if ((event.key === "t" || event.key === "f") && token !== undefined)
      lockOther(token, event.key === "f");
    else return false;
    return true;
  }

  function update(look: Look): void {
    const state = snapshot(model, WATCHED);
    const answer = lens(state._lens);
    scene = answer ? sceneOf(state, answer, look) : undefined;
    const stale = scene ? !isCurrent(scene.lens, state) : false;
    const empty = !scene?.values.length;
    for (const node of [title, box, readout, hint, line]) node.hidden = empty;
    message.hidden = !empty;
    message.textContent = ALL_HIDDEN;
    progress.hidden = !stale;
    root.classList.toggle("attnw-lens-stale", stale);
    box.setAttribute("aria-busy", String(stale));
    controls.update(
      state,
      state._axes.query && scene && !isNone(scene) ? lockedOf(state, state._axes) : now(),
      scene,
    );
    live.say(state.selected, announcement(state.selected));
    if (!scene || empty) return;
    canvas.dataset.layout = JSON.stringify(scene.layout);
    title.textContent = titleOf(scene);
    hint.textContent = isNone(scene) ? FIRST_HINT : scene.side ? HINT : PAIR_HINT;
    box.setAttribute("aria-label", `${titleOf(scene)}; question mark lists the keys`);
    line.textContent = captionText(captionOf(scene));
  }

  function paint(): void {
    if (!scene?.values.length) return;
    const { rows, cols } = scene.layout;
    const { place } = input;
    const focused = inside(place.focused, rows, cols);
    place.focused = focused;
    const shown = place.byKeyboard ? focused : undefined;
    const pen = fresh(canvas, scene.width, scene.height);
    const scrolled: [number, number] = [box.scrollLeft, box.scrollTop];
    const label = pointed === undefined ? -1 : scene.tokens.indexOf(pointed);
    const over = label >= 0 ? ([label, -1] as const) : place.hovered;
    if (pen) paintLens(pen, scene, { hovered: over, focused: shown, scrolled });
    const at = place.hovered ?? shown;
    const whole = pointed === undefined ? "" : `lock ${labelOf(scene.other, pointed)} too`;
    readout.textContent = whole || describe(scene, at ?? leadCell(scene));
    const isSelected = scene.selected.some((cell) =>
      scene?.side ? cell[1] === focused[1] : sameCell(cell, focused),
    );
    setCursor(focused, rows, cols, describe(scene, focused), isSelected);
  }
}

export default () => ({ initialize: releasing<LensState>("_lens"), render });
