import { html, nothing } from "lit-html";
import { guard } from "lit-html/directives/guard.js";
import { ALL_HIDDEN, captionText } from "../shared/caption.js";
import { cellGestures } from "../shared/cell_input.js";
import { type Cell, sameCell } from "../shared/cells.js";
import { withControls } from "../shared/figure_controls.js";
import { commonKey, keyList } from "../shared/key_list.js";
import { labelOf } from "../shared/labels.js";
import { announcer } from "../shared/live_region.js";
import { type Look, mount } from "../shared/mount.js";
import { fresh } from "../shared/pen.js";
import { releasing } from "../shared/release.js";
import { remembered } from "../shared/remembered.js";
import { captioned } from "../shared/save_menu.js";
import { announcement } from "../shared/selection.js";
import { snapshot } from "../shared/snapshot.js";
import type { RenderContext } from "../shared/types.js";
import { lensChoices } from "./lens_choices.js";
import { belowView, lensControls } from "./lens_controls.js";
import { KEYS, lensLetters } from "./lens_keyboard.js";
import { tokenLabels } from "./lens_labels.js";
import { seekingWeight } from "./lens_scroll.js";
import {
  captionOf,
  describe,
  FIRST_HINT,
  HINT,
  headingOf,
  isNone,
  leadCell,
  PAIR_HINT,
  titleOf,
} from "./lens_text.js";
import { paintLens } from "./paint.js";
import { decode, isCurrent, type Scene, sceneOf, TALLEST } from "./scene.js";
import { type Lens, type LensState, WATCHED } from "./state.js";

function render(context: RenderContext<LensState>): void {
  const { model, signal } = context;
  const mounted = withControls(
    mount(context, "lens", WATCHED, { update, view, paint, keys: key }),
    context.signal,
  );
  const { root, save: saveButton, schedule } = mounted;
  const keys = keyList(KEYS, mounted, signal);
  const live = announcer(model.get("selected"));

  let state: LensState | undefined;
  let scene: Scene | undefined;
  let caption = "";
  const seek = seekingWeight();
  const lens = remembered((lens: Lens | null) => lens && decode(lens));
  const choices = lensChoices(model, () => scene);

  const input = cellGestures(signal, {
    choose: choices.select,
    undo: choices.goBack,
    layout: () => drawn()?.layout,
    fixedLabels: true,
    moved: schedule,
    selected: () => scene?.selected ?? [],
  });

  const labels = tokenLabels(() => scene, input.box, choices.lockOther, schedule);
  const letters = lensLetters(
    model,
    choices,
    () => scene,
    () => input.cursor.focused[0],
  );
  const stepBy = (layers: number) => choices.step(model.get("layer") + layers);

  function key(event: KeyboardEvent): boolean {
    const { target } = event;
    if (event.key === "Escape") return choices.goBack();
    if (target instanceof HTMLSelectElement || target instanceof HTMLInputElement) return false;
    return commonKey(event, keys.toggle, stepBy) || input.key(event) || letters(event);
  }

  function update(look: Look): void {
    state = snapshot(model, WATCHED);
    const answer = lens(state._lens);
    scene = answer ? sceneOf(state, answer, look) : undefined;
    const shown = drawn();
    caption = shown ? captionText(captionOf(shown)) : "";
    root.classList.toggle("attnw-lens-stale", isStale());
    live.say(state.selected, announcement(state.selected));
  }

  const isStale = () => scene !== undefined && !isCurrent(scene.lens, scene.state);

  /** The scene where it has cells. */
  const drawn = () => (scene?.values.length ? scene : undefined);

  function view(): unknown {
    const current = state;
    if (!current) return nothing;
    const shown = drawn();
    // Every token is offered: a frame that follows the pointer does without the controls.
    return html`<div class="attnw-controls">
        ${guard([current], () => mounted.bar(mounted.own(controls(current))))}${keys.button()}
      </div>
      <p class="attnw-figure-title attnw-lens-title" ?hidden=${!shown}
        >${shown && headingOf(shown)}</p>
      <p class="attnw-message" ?hidden=${shown !== undefined}>${ALL_HIDDEN}</p>
      <div class="attnw-progress" ?hidden=${!isStale()}></div>
      ${boxView(shown)}
      <p class="attnw-lens-readout" ?hidden=${!shown}>${shown && readoutOf(shown)}</p>
      <p class="attnw-muted attnw-lens-hint" ?hidden=${!shown}>${shown && hintOf(shown)}</p>
      ${guard([current, mounted.isMenuOpen()], () => belowView(mounted, model, current, scene))}
      ${keys.list()}
      ${captioned(
        saveButton,
        html`<p class="attnw-below attnw-lens-caption" data-caption ?hidden=${!shown}
          >${caption}</p>`,
      )}
      ${live.view()}`;
  }

  const controls = (state: LensState) => lensControls(model, { state, scene }, choices);

  const boxView = (shown: Scene | undefined) =>
    input.view({
      classes: "attnw-cells attnw-lens-box",
      label: shown && `${titleOf(shown)}; question mark lists the keys`,
      canvas: "attnw-lens-canvas",
      on: { pointermove: labels.move, pointerleave: labels.leave, click: labels.click },
      nameOf: (cell) => (shown ? describe(shown, cell) : ""),
      isSelected: (cell) => shown !== undefined && isOfSelected(shown, cell),
      isBusy: isStale(),
      tallest: TALLEST + 40,
      scrolled: schedule,
    });

  function readoutOf(shown: Scene): string {
    const pointed = labels.pointed();
    if (pointed !== undefined) return `lock ${labelOf(shown.other, pointed)} too`;
    return describe(shown, input.pointed() ?? leadCell(shown));
  }

  function paint(): void {
    const shown = drawn();
    const box = input.box();
    const canvas = input.canvas();
    if (!shown || !box || !canvas) return;
    const { hovered, focused, byKeyboard } = input.cursor;
    const pen = fresh(canvas, shown.width, shown.height);
    // The box can be scrolled as far as the canvas is high by now.
    if (!hovered) seek(shown, box);
    const pointed = labels.pointed();
    const label = pointed === undefined ? -1 : shown.tokens.indexOf(pointed);
    if (pen)
      paintLens(pen, shown, {
        hovered: label >= 0 ? [label, -1] : hovered,
        focused: byKeyboard ? focused : undefined,
        scrolled: [box.scrollLeft, box.scrollTop],
      });
  }
}

/** Whether a cell is of a selected head. In a row of the lens, a column is a head. */
const isOfSelected = ({ selected, side }: Scene, cell: Cell) =>
  selected.some((at) => (side ? at[1] === cell[1] : sameCell(at, cell)));

/** What can be done with the lens. */
const hintOf = (scene: Scene) => (isNone(scene) ? FIRST_HINT : scene.side ? HINT : PAIR_HINT);

export default () => ({ initialize: releasing<LensState>("_lens"), render });
