import { html, nothing } from "lit-html";
import { guard } from "lit-html/directives/guard.js";
import { withControls } from "../shared/figure_controls.js";
import { hideOffer } from "../shared/hide_offer.js";
import { initializing } from "../shared/initialize.js";
import { keyList } from "../shared/key_list.js";
import { announcer } from "../shared/live_region.js";
import { type Look, mount } from "../shared/mount.js";
import { onPeek } from "../shared/peek.js";
import { fresh } from "../shared/pen.js";
import { shownHead, stepTo } from "../shared/selection.js";
import { snapshot } from "../shared/snapshot.js";
import { type Axes, type Head, headName, type Model, type RenderContext } from "../shared/types.js";
import { findForm } from "./aside/find_form.js";
import { MINIMAP, paintMinimap } from "./aside/minimap.js";
import { curveSize, paintCurve } from "./aside/row_curve.js";
import { stepsView } from "./aside/steps_view.js";
import { printerOf } from "./aside/token_name.js";
import { tooltip } from "./aside/tooltip.js";
import { peekShown } from "./peek_shown.js";
import { placesLine } from "./places/places_text.js";
import { play, playedPart } from "./places/play_sound.js";
import type { Scene } from "./scene.js";
import { chipRow, drawThese, toggledHeads } from "./several/chips.js";
import { ShownView } from "./shown_view.js";
import type { VisibleMap } from "./source/visible_map.js";
import { type ViewState, WATCHED } from "./state.js";
import { viewBody, viewFigures } from "./view_body.js";
import { modesOf, viewControls } from "./view_controls.js";
import { KEYS } from "./view_cursor.js";
import { headOf, setMode } from "./view_head.js";
import { viewKeyboard } from "./view_keyboard.js";
import { ViewLocks } from "./view_locks.js";
import { viewPointer } from "./view_pointer.js";
import type { Shown } from "./view_shown.js";
import { figureName, HELP } from "./view_text.js";
import { ViewWords } from "./view_words.js";

/** Return the accessible name of the figure. */
const nameOf = (of: Shown, map: VisibleMap, state: ViewState) =>
  figureName(
    of.several?.heads ?? [of.head],
    of.quantity,
    map,
    of.axes,
    printerOf(of.exact, of.quantity, of.axes.key),
    state,
  );

/**
 * Return the accessible name with the painted row of a picture, which changes with every locked
 * token.
 */
const spokenName = (scene: Scene, name: string) =>
  scene.places ? `${name.replace(/; strongest: .*$/s, "")}. ${placesLine(scene)}. ${HELP}` : name;

/** Return the axes for the controls; undefined before the kernel has answered. */
const controlledAxes = ({ shown }: ShownView, { _axes }: ViewState): Axes | undefined =>
  shown?.axes ?? (_axes?.query ? _axes : undefined);

/** Step the shown head through the layers of its stack. */
function stepLayers(model: Model<ViewState>, view: ShownView, by: number): void {
  const head = shownHead(model);
  const stack = head && view.stackOf(head);
  if (stack) stepTo(model, head[0] + by, stack);
}

/** Draw the minimap, and the weights of a locked query if some of them are out of sight. */
function paintAside(
  { scene, shown }: ShownView,
  { body, row }: ViewWords,
  canvases: ReturnType<typeof viewBody>,
): void {
  if (!scene || !shown) return;
  const all = canvases.minimap();
  const small = body.minimap && all ? fresh(all, MINIMAP, MINIMAP) : null;
  if (small) paintMinimap(small, scene);
  const curve = canvases.curve();
  const { width, height } = curveSize(scene);
  const bars = row && curve && fresh(curve, width, height);
  if (row && bars) paintCurve(bars, scene, row);
}

function render(context: RenderContext<ViewState>): void {
  const { model, signal } = context;
  const mounted = withControls(
    mount(context, "view", WATCHED, { update, view: elements, paint, keys: (key) => onKey(key) }),
    signal,
  );
  const { inner, schedule, invalidate } = mounted;
  const choose = (head: Head, alone: boolean) =>
    drawThese(model, alone ? [head] : toggledHeads(snapshot(model, WATCHED), head));
  const figures = viewFigures(inner.ownerDocument, signal, (head) => choose(head, true));
  const tip = tooltip(inner);
  const mapChanged = (map: VisibleMap, of: Shown) => {
    tip.point("", 0, 0);
    name = nameOf(of, map, snapshot(model, WATCHED));
  };
  const isDragging = () => pointer.isDragging();
  const view = new ShownView(model, figures, { invalidate, mapChanged, isDragging }, signal);
  const words = new ViewWords(view);
  const locks = new ViewLocks(view, schedule);
  const pointer = viewPointer(view, locks, tip, schedule, signal);
  const body = viewBody(figures, mounted.save, {
    go: locks.go,
    play: playShown,
    goTo: locks.goTo,
    minimapped: pointer.minimapped,
    curveClicked: (event) => pointer.curveClicked(event, words.row?.query ?? 0),
  });
  /** Play the sound of the selected token; returns whether there is one. */
  function playShown(): boolean {
    const part = view.scene?.places && playedPart(view.scene);
    if (part) play(part).catch(() => {});
    return Boolean(part);
  }
  const find = findForm(model, schedule);
  const live = announcer("");
  const keys = keyList(KEYS, mounted, signal);
  const onKey = viewKeyboard(view, locks, {
    toggleKeys: keys.toggle,
    step: (by) => stepLayers(model, view, by),
    turn: () => {
      const modes = modesOf(model);
      setMode(view, modes[(modes.indexOf(model.get("mode")) + 1) % modes.length] ?? "lines");
    },
    find: find.focus,
    cancel: pointer.cancel,
    play: playShown,
    moved: () => {
      tip.point("", 0, 0);
      schedule();
    },
  });
  let name = "";
  let controlled: Axes | undefined;

  onPeek(
    signal,
    () => model.get("_circle"),
    (next) => {
      if (next && !peekShown(snapshot(model, WATCHED), view.selected, next)) return false;
      if (!view.peeked !== !next) words.body.held = next ? body.plateHeight() : 0;
      view.peeked = next;
      invalidate();
      return true;
    },
  );

  function update(look: Look): void {
    const state = snapshot(model, WATCHED);
    find.update();
    const followed = view.follow(state, look);
    words.follow(state, followed, look);
    if (!followed.head) return;
    controlled = controlledAxes(view, state) ?? controlled;
    view.showFigure();
    if (view.scene) view.figure.element.setAttribute("aria-label", spokenName(view.scene, name));
  }

  /** Draw the figure and update the texts around it. */
  function draw(): void {
    const { scene: before, shown } = view;
    if (!before || !shown) return;
    const scene = view.drawn(before);
    view.figure.draw(scene);
    words.drawn(scene, shown, view.figure.notes());
    if (view.byKeyboard) live.say(words.spoken, words.spoken);
  }

  const chipName = (head: Head) => headName(head, model.get("_stacks"));

  function elements({ width }: Look): unknown {
    // Draw the figure first, because the caption lists what it leaves out.
    draw();
    return html`${headOf(view, words, mounted, keys.button())}
      ${controlsView()}
      ${words.heading ? stepsView(model, snapshot(model, WATCHED)) : nothing}
      ${offerView()}
      <p class="attnw-message" ?hidden=${!words.message}>${words.message}</p>
      ${guard([words.chips, words.colorOf], () =>
        chipRow(words.chips, words.colorOf, chipName, choose),
      )}
      ${body.view(words.body, width)}
      ${live.view()}${tip.view()}${keys.list()}`;
  }

  function controlsView() {
    const controls = mounted.own(controlled ? viewControls(model, controlled) : []);
    return html`<div class="attnw-controls attnw-view-controls" ?hidden=${!words.heading}>
      ${mounted.bar(controls)}${find.view()}
    </div>`;
  }

  function paint(): void {
    paintAside(view, words, body);
    if (view.scene && view.shown && !view.peeked) locks.seek(view.scene);
  }

  /** Return the offer to hide or show special tokens with much attention. */
  const offerView = () =>
    view.selected && model.get("mode") !== "places"
      ? hideOffer(model, view.selected.axes, model.get("_source"))
      : nothing;
}

export default () => ({
  initialize: initializing<ViewState>("_maps", "_tile", "_row", "_media"),
  render,
});
