import { html, nothing } from "lit-html";
import { ref } from "lit-html/directives/ref.js";
import { captionText } from "../shared/caption.js";
import { elementIds, gridCell } from "../shared/cell_cursor.js";
import { cellGestures } from "../shared/cell_input.js";
import { type Cell, inside, sameCell } from "../shared/cells.js";
import { withControls } from "../shared/figure_controls.js";
import { labelOfHead } from "../shared/head_names.js";
import { hideOffer } from "../shared/hide_offer.js";
import { commonKey, keyList } from "../shared/key_list.js";
import { announcer } from "../shared/live_region.js";
import { type Look, mount } from "../shared/mount.js";
import { fresh, type Raster } from "../shared/pen.js";
import { releasing } from "../shared/release.js";
import { remembered } from "../shared/remembered.js";
import { captioned } from "../shared/save_menu.js";
import { announcement } from "../shared/selection.js";
import { snapshot } from "../shared/snapshot.js";
import type { Head, RenderContext } from "../shared/types.js";
import { gridChoices } from "./grid_choices.js";
import { controlRow, type GridActions, gridControls, layerPlayer } from "./grid_controls.js";
import { gridLetters, KEYS } from "./grid_keyboard.js";
import { gridPeek } from "./grid_peek.js";
import { decode, type SmallMaps } from "./grid_pixels.js";
import { gridPreview } from "./grid_preview.js";
import { gridSight } from "./grid_sight.js";
import { captionOf, describe, editText, metricText, strongest } from "./grid_text.js";
import { headIn } from "./head_order.js";
import { metricControls, metricRow } from "./metric_controls.js";
import { paintGrid } from "./paint.js";
import { areCurrent, composed, type Scene, sceneOf } from "./scene.js";
import { type GridState, WATCHED } from "./state.js";
import { stepControls } from "./step_controls.js";
import { offControls, offText } from "./switch_controls.js";

const SCROLL_BAR = 16;
function render(context: RenderContext<GridState>): void {
  const { model, signal } = context;
  const mounted = withControls(
    mount(context, "head-grid", WATCHED, {
      update,
      view,
      paint,
      keys: (event) => commonKey(event, keys.toggle, stepBy) || letters(event) || input.key(event),
    }),
    signal,
  );
  const { root, schedule } = mounted;
  const choices = gridChoices(model, headAt);
  const actions: GridActions = {
    toggle: (head) => choices.switchHead(head, false),
    clear: choices.allOn,
    step: choices.step,
    play: layerPlayer(context, choices.step, schedule),
  };
  const letters = gridLetters(
    model,
    () => headAt(pointed()),
    (head, withLayer) => choices.switchHead(head, withLayer),
  );
  const stepBy = (layers: number) => choices.step(model.get("layer") + layers);
  const keys = keyList(KEYS, mounted, signal);
  const idOf = elementIds();
  const live = announcer(choices.now());
  const preview = gridPreview();
  const sight = gridSight(schedule, signal);
  const peek = gridPeek(signal, () => model.get("_circle"));

  let scene: Scene | undefined;
  let caption = "";
  let maps: SmallMaps | null = null;
  let raster: Raster | undefined;
  let rasterOf: unknown[] = [];
  let before = "";
  let off = model.get("disabled");
  const mapsOf = remembered((now: GridState["_thumbnails"]) => now && decode(now));
  const input = cellGestures(signal, {
    choose: choices.choose,
    undo: choices.undo,
    moved: schedule,
    layout: () => scene?.layout,
    fixedLabels: true,
    selected: () => scene?.selected ?? [],
  });
  const doubleClicked = (event: MouseEvent) => {
    const cell = input.under(event);
    if (cell) choices.choose(cell, false);
  };

  /** The head of a drawn cell, while the drawing shows the stack of the grid. */
  function headAt(cell: Cell | undefined): Head | undefined {
    const at =
      cell && scene && maps?.stack === model.get("stack") ? headIn(scene.order, cell) : undefined;
    return at && [...at, model.get("stack")];
  }

  /** The cell under the pointer, or of the keyboard's cursor while that is in use. */
  function pointed(): Cell | undefined {
    const { hovered, focused, byKeyboard } = input.cursor;
    return hovered ?? (byKeyboard ? focused : undefined);
  }

  /** Compose the thumbnails again, but only where something they depend on has changed. */
  function compose(now: Scene): void {
    const { layout, order, look, theme } = now;
    const of = [
      maps,
      look.rows,
      JSON.stringify([layout, order.heads, look.scale, look.end, theme]),
    ];
    if (of.every((value, i) => value === rasterOf[i])) return;
    raster = composed(now);
    rasterOf = of;
  }

  function update(look: Look): void {
    const state = snapshot(model, WATCHED);
    choices.notice(Boolean(model.get("_refused")));
    maps = mapsOf(state._thumbnails);
    // Where other figures share the screen, the style sheet leaves it less height.
    const most = getComputedStyle(root).getPropertyValue("--attnw-grid-height");
    const highest = Number.parseFloat(most) - SCROLL_BAR;
    const least = Number.parseFloat(getComputedStyle(root).getPropertyValue("--attnw-grid-least"));
    scene = sceneOf(state, maps, look, highest || undefined, least || undefined);
    compose(scene);
    caption = captionText(captionOf(scene));
    // What was in sight may be so no longer.
    const place = JSON.stringify(scene.layout) + highest;
    if (place !== before) peek.laidOut();
    before = place;
    root.classList.toggle("attnw-grid-stale", !areCurrent(maps, state));
    const switched = JSON.stringify(off) !== JSON.stringify(state.disabled);
    live.say(choices.now(), switched ? offText(state.disabled) : announcement(state.selected));
    off = state.disabled;
  }

  function view(): unknown {
    if (!scene) return nothing;
    const { state } = scene;
    const controls = mounted.own(gridControls(model, scene, actions));
    const metrics = mounted.own(metricControls(model, scene, choices.selectSimilar), "metrics");
    return html`<div class="attnw-progress" ?hidden=${areCurrent(maps, state)}></div>
      ${boxView(scene)}
      <p class="attnw-grid-sight" ?hidden=${!sight.text()}>${sight.text()}</p>
      ${offerView(scene)}
      ${controlRow(scene, mounted.bar(controls), keys.button())}
      ${offControls(model, state, actions)}
      ${stepControls(model)}
      ${metricRow(model, scene, metrics)}
      ${keys.list()}
      ${captioned(
        mounted.save,
        html`<p class="attnw-below attnw-grid-caption" data-caption>${caption}</p>`,
      )}
      ${live.view()}${preview.view(scene, peek.previewed(maps, scene, pointed()))}`;
  }

  /** The offer to hide, or to show, special tokens on which much attention rests. */
  function offerView({ state }: Scene) {
    if (!maps || !areCurrent(maps, state) || !state._axes.query) return nothing;
    return hideOffer(model, state._axes, state._source);
  }

  /** The box of the canvas, with the cell that the keyboard is on. */
  function boxView(now: Scene) {
    const { layout, order, selected, metric, state } = now;
    const { rows, cols } = layout;
    const { cursor } = input;
    cursor.focused = inside(cursor.focused, rows, cols);
    const cell = cursor.focused;
    const id = idOf(cell.join("-"));
    const head = headIn(order, cell);
    const isSelected = selected.some((at) => sameCell(at, cell));
    const name = describe(
      head,
      maps && head ? strongest(maps, state._axes, head) : undefined,
      head ? metricText(metric, head, cols) : "",
      isSelected,
      head && editText(now, head),
      head && labelOfHead([...head, state.stack], state.labels),
    );
    return html`<div class="attnw-grid-box attnw-drawn" role="grid" tabindex="0"
      aria-multiselectable="true" aria-busy=${!areCurrent(maps, state)} aria-rowcount=${rows}
      aria-colcount=${cols} aria-activedescendant=${id}
      aria-label="attention heads, a row a layer; question mark lists the keys"
      @scroll=${schedule} ${ref(input.attach)}>
      <canvas class="attnw-grid" aria-hidden="true" data-layout=${JSON.stringify(layout)}
        @dblclick=${doubleClicked}></canvas>
      ${gridCell({ id, cell, name, selected: isSelected })}
    </div>`;
  }

  function paint(): void {
    const box = input.box();
    const canvas = input.canvas();
    if (!scene || !box || !canvas) return;
    const { hovered, focused, byKeyboard } = input.cursor;
    const pen = fresh(canvas, scene.width, scene.height);
    const target = peek.toReveal();
    if (target) input.reveal(scene.layout, target);
    if (pen)
      paintGrid(pen, scene, raster, {
        hovered,
        focused: byKeyboard ? focused : undefined,
        scrolled: [box.scrollLeft, box.scrollTop],
      });
    preview.place(box, canvas, scene.layout, pointed());
    sight.count(scene, box);
  }
}

export default () => ({ initialize: releasing<GridState>("_thumbnails"), render });
