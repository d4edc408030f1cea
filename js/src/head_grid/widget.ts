import { html, nothing } from "lit-html";
import { captionText } from "../shared/caption.js";
import { type CellHeader, cellGestures } from "../shared/cell_input.js";
import { type Cell, type CellLimits, SCROLL_BAR } from "../shared/cells.js";
import { withControls } from "../shared/figure_controls.js";
import { labelOfHead } from "../shared/head_names.js";
import { hideOffer } from "../shared/hide_offer.js";
import { initializing } from "../shared/initialize.js";
import { commonKey, keyList } from "../shared/key_list.js";
import { announcer } from "../shared/live_region.js";
import { type Look, mount } from "../shared/mount.js";
import { fresh, type Raster } from "../shared/pen.js";
import { remembered } from "../shared/remembered.js";
import { captioned } from "../shared/save_menu.js";
import { announcement } from "../shared/selection.js";
import { snapshot } from "../shared/snapshot.js";
import type { Head, Model, RenderContext } from "../shared/types.js";
import { gridChoices } from "./grid_choices.js";
import { controlRow, type GridActions, gridControls, layerPlayer } from "./grid_controls.js";
import { gridLetters, KEYS } from "./grid_keyboard.js";
import { gridPeek } from "./grid_peek.js";
import { decode } from "./grid_pixels.js";
import { gridPreview } from "./grid_preview.js";
import { gridSight } from "./grid_sight.js";
import { captionOf, describe, editText, metricText, strongest } from "./grid_text.js";
import { headIn } from "./head_order.js";
import { layerAt, layerName } from "./layer_heads.js";
import { metricControls, metricRow } from "./metric_controls.js";
import { paintGrid } from "./paint.js";
import { areCurrent, rasterOfScenes, type Scene, sceneOf } from "./scene.js";
import { type GridState, WATCHED } from "./state.js";
import { stepControls } from "./step_controls.js";
import { offControls, offText } from "./switch_controls.js";

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
    step: choices.step,
    play: layerPlayer(context, choices.step, schedule),
  };
  const letters = gridLetters(model, () => headAt(input.pointed()), choices.switchHead);
  const stepBy = (layers: number) => choices.step(model.get("layer") + layers);
  const keys = keyList(KEYS, mounted, signal);
  const live = announcer(choices.now());
  const preview = gridPreview();
  const sight = gridSight(schedule, signal);
  const peek = gridPeek(signal, () => model.get("_circle"));

  const rasterOf = rasterOfScenes();
  const mapsOf = remembered((now: GridState["_thumbnails"]) => now && decode(now));

  let scene: Scene | undefined;
  let caption = "";
  let raster: Raster | undefined;
  let before = "";
  let off = model.get("disabled");
  const input = cellGestures(signal, {
    choose: choices.choose,
    undo: choices.undo,
    moved: schedule,
    layout: () => scene?.layout,
    fixedLabels: true,
    selected: () => scene?.selected ?? [],
  });

  function doubleClicked(event: MouseEvent): void {
    const cell = input.under(event);
    if (cell) choices.choose(cell, false);
  }

  /** Select the strongest head of the layer whose label was clicked. */
  function clicked(event: MouseEvent): void {
    const [box, canvas] = [input.box(), input.canvas()];
    if (!scene || !box || !canvas || scene.order.sort === "all") return;
    const { left, top } = canvas.getBoundingClientRect();
    const side = scene.order.perLayer ? "column" : "row";
    const at = [event.clientX - left, event.clientY - top] as const;
    const layer = layerAt(scene.layout, side, at, [box.scrollLeft, box.scrollTop]);
    if (layer !== undefined) choices.chooseLayer(layer);
  }

  /** Return the head of a drawn cell, if the drawing shows the stack of the grid. */
  function headAt(cell: Cell | undefined): Head | undefined {
    const stack = model.get("stack");
    const at = cell && scene?.maps?.stack === stack ? headIn(scene.order, cell) : undefined;
    return at && [...at, stack];
  }

  function update(look: Look): void {
    const state = snapshot(model, WATCHED);
    choices.notice(Boolean(model.get("_refused")));
    const maps = mapsOf(state._thumbnails);
    const limits = limitsOf(root);
    scene = sceneOf(state, maps, look, limits);
    raster = rasterOf(scene);
    caption = captionText(captionOf(scene));
    // After a change of the layout, the selected head may be out of sight.
    const place = JSON.stringify([scene.layout, limits]);
    if (place !== before) peek.laidOut();
    before = place;
    root.classList.toggle("attnw-grid-stale", !areCurrent(maps, state));
    const switched = JSON.stringify(off) !== JSON.stringify(state.disabled);
    live.say(choices.now(), switched ? offText(state.disabled) : announcement(state.selected));
    off = state.disabled;
  }

  function view(): unknown {
    if (!scene) return nothing;
    const { state, maps } = scene;
    const controls = mounted.own(gridControls(model, scene, actions));
    const metrics = mounted.own(metricControls(model, scene, choices.selectSimilar), "metrics");
    return html`<div class="attnw-progress" ?hidden=${areCurrent(maps, state)}></div>
      ${boxView(scene)}
      <p class="attnw-grid-sight" ?hidden=${!sight.text()}>${sight.text()}</p>
      ${offerView(model, scene)}
      ${controlRow(scene, mounted.bar(controls), keys.button())}
      ${offControls(model, state, choices.allOn)}
      ${stepControls(model)}
      ${metricRow(model, scene, metrics)}
      ${keys.list()}
      ${captioned(
        mounted.save,
        html`<p class="attnw-below attnw-grid-caption" data-caption>${caption}</p>`,
      )}
      ${live.view()}${preview.view(scene, peek.previewed(maps, scene, input.pointed()))}`;
  }

  const boxView = (now: Scene) =>
    input.view({
      classes: "attnw-cells attnw-grid-box",
      label: "attention heads, a row a layer; question mark lists the keys",
      canvas: "attnw-grid",
      on: { click: clicked, dblclick: doubleClicked },
      nameOf: (cell, isSelected) => cellText(now, cell, isSelected),
      headerOf: (cell) => headerOf(now, cell),
      isBusy: !areCurrent(now.maps, now.state),
      scrolled: schedule,
    });

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
    preview.place(box, canvas, scene.layout, input.pointed());
    sight.count(scene, box);
  }
}

/**
 * Return the limits on cell sizes that the style sheet sets: figures that share the screen with
 * others have less height.
 */
function limitsOf(root: HTMLElement): Partial<CellLimits> {
  const style = getComputedStyle(root);
  const pixels = (name: string) =>
    Number.parseFloat(style.getPropertyValue(`--attnw-grid-${name}`));
  const named = {
    highest: pixels("height") - SCROLL_BAR,
    least: pixels("least"),
    largest: pixels("largest"),
  };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value));
}

/** Return the accessible name of a cell. */
function cellText(scene: Scene, cell: Cell, isSelected: boolean): string {
  const { order, metric, layout, state, maps } = scene;
  const head = headIn(order, cell);
  return describe(
    head,
    maps && head ? strongest(maps, state._axes, head) : undefined,
    head ? metricText(metric, head, layout.cols) : "",
    isSelected,
    head && editText(scene, head),
    head && labelOfHead([...head, state.stack], state.labels),
  );
}

/** Return the header of the layer of a cell, if the figure prints its strongest head. */
function headerOf({ heads, asked, state }: Scene, [row, column]: Cell): CellHeader | undefined {
  if (!heads || !asked) return undefined;
  const layer = heads.side === "row" ? row : column;
  const name = layerName(layer, heads.answers[layer], asked, state);
  return { role: heads.side === "row" ? "rowheader" : "columnheader", name };
}

/** Return the offer to hide or show special tokens with much attention. */
function offerView(model: Model<GridState>, { state, maps }: Scene) {
  if (!areCurrent(maps, state) || !state._axes.query) return nothing;
  // Pictures have no place for special tokens.
  if (maps.row) return nothing;
  return hideOffer(model, state._axes, state._source);
}

export default () => ({ initialize: initializing<GridState>("_thumbnails"), render });
