import { html, nothing } from "lit-html";
import { ref } from "lit-html/directives/ref.js";
import { captionText } from "../shared/caption.js";
import { elementIds, gridCell } from "../shared/cell_cursor.js";
import { cellGestures } from "../shared/cell_input.js";
import { type Cell, columnsInSight, inside, rowsInSight, sameCell } from "../shared/cells.js";
import { labelOfHead } from "../shared/head_names.js";
import { hideOffer } from "../shared/hide_offer.js";
import { commonKey, keyList } from "../shared/key_list.js";
import { announcer } from "../shared/live_region.js";
import { type Look, mount } from "../shared/mount.js";
import { fresh, type Raster } from "../shared/pen.js";
import { releasing } from "../shared/release.js";
import { remembered } from "../shared/remembered.js";
import { captioned } from "../shared/save_menu.js";
import {
  announcement,
  chosenHeads,
  reachedLayer,
  selectHeads,
  shownHead,
  stepTo,
  switchedOff,
  undoable,
} from "../shared/selection.js";
import { save, snapshot } from "../shared/snapshot.js";
import type { Head, RenderContext } from "../shared/types.js";
import { gridControls } from "./grid_controls.js";
import { gridPeek } from "./grid_peek.js";
import { decode, type SmallMaps } from "./grid_pixels.js";
import { gridPreview } from "./grid_preview.js";
import { captionOf, describe, editText, metricText, strongest } from "./grid_text.js";
import { headIn } from "./head_order.js";
import { metricControls, similarHeads } from "./metric_controls.js";
import { paintGrid } from "./paint.js";
import { areCurrent, composed, type Scene, sceneOf } from "./scene.js";
import { type GridState, nextOfTwo, WATCHED } from "./state.js";
import { stepControls, stepThrough } from "./step_controls.js";
import { offControls, offText, type Switching } from "./switch_controls.js";

/** Below this width controls wait behind a button. */
const NARROW = 560;
const SCROLL_BAR = 16;
const KEYS = [
  ["Arrow keys", "move between heads"],
  ["Home / End", "first / last head of the layer, with Ctrl of the grid"],
  ["Page Up / Page Down", "four layers up / down"],
  ["Enter or Space, click", "select the head"],
  ["Shift + Enter, Shift + click", "add or remove the head"],
  ["double click", "select only this head"],
  ["[ and ]", "step to the layer above / below"],
  ["x", "switch the head off, or on again"],
  ["Shift + x", "the same for its layer"],
  ["v", "differences from the intact model, or the maps; of two that are compared: A − B, A, B"],
  [", and .", "the checkpoint before / after, of metrics over a training"],
  ["Escape", "take back what was selected or switched off last"],
  ["?", "show or hide this list"],
] as const;

/** What Escape takes back. */
type Choice = Pick<GridState, "selected" | "disabled">;

function render(context: RenderContext<GridState>): void {
  const { model, signal } = context;
  const mounted = mount(context, "head-grid", WATCHED, {
    update,
    view,
    paint,
    keys: (event) =>
      commonKey(event, keys.toggle, stepBy) ||
      trainingKey(event) ||
      switchKey(event) ||
      input.key(event),
  });
  const { root, inner, schedule } = mounted;
  const switching: Switching = {
    toggle: (head) => switchOff([head]),
    clear: () => switchTo([]),
  };
  const controls = gridControls(context, mounted, step, switching);
  const keys = keyList(KEYS, mounted, signal);
  const idOf = elementIds();
  const chosenNow = (): Choice => ({
    selected: model.get("selected"),
    disabled: model.get("disabled"),
  });
  const live = announcer(chosenNow());
  const preview = gridPreview();
  const peek = gridPeek(signal, () => model.get("_circle"));

  let scene: Scene | undefined;
  let caption = "";
  let maps: SmallMaps | null = null;
  let raster: Raster | undefined;
  let rasterOf: unknown[] = [];
  let revealed: Cell | undefined;
  let passedBy: Cell | undefined;
  /** The selected head, where it has still to be scrolled to. */
  let unrevealed: Cell | undefined;
  let before = "";
  /** How many layers and heads are in sight, where not all are; the last painting knows it. */
  let sight = "";
  const resized = new ResizeObserver(schedule);
  let watched: HTMLElement | null = null;
  signal.addEventListener("abort", () => resized.disconnect());
  let off = model.get("disabled");
  const mapsOf = remembered((now: GridState["_thumbnails"]) => now && decode(now));
  const history = undoable<Choice>(chosenNow, ({ selected, disabled }) => {
    if (model.get("_refused")) model.set("_refused", "");
    model.set("disabled", disabled);
    selectHeads(model, selected);
  });
  const { undo } = history;
  const select = (selected: Head[]) => history.choose({ ...chosenNow(), selected });

  const input = cellGestures(signal, {
    choose,
    undo,
    moved: schedule,
    layout: () => scene?.layout,
    fixedLabels: true,
    selected: () => scene?.selected ?? [],
  });
  const doubleClicked = (event: MouseEvent) => {
    const cell = input.under(event);
    if (cell) choose(cell, false);
  };

  const stepBy = (layers: number) => step(model.get("layer") + layers);

  function step(layer: number): void {
    const last = shownHead(model);
    const shown = model.get("_stacks").find(({ name }) => name === model.get("stack"));
    if (!shown || !last || last[2] === shown.name) stepTo(model, layer, shown);
    else {
      // The selection is in another stack: stepping brings it to this one.
      const target = reachedLayer(shown, model.get("layer"), layer);
      selectHeads(model, [[target, Math.min(last[1], shown.n_heads - 1), shown.name]]);
    }
  }

  function choose(cell: Cell, add: boolean): void {
    // While the picture still shows another stack, the pointer selects no head.
    const at = scene && maps?.stack === model.get("stack") && headIn(scene.order, cell);
    if (!at) return;
    select(chosenHeads(model.get("selected"), [...at, model.get("stack")], add));
  }

  function switchTo(disabled: Head[]): void {
    const fixed = model.get("_source").fixed;
    if (fixed) model.set("_refused", fixed);
    else history.choose({ ...chosenNow(), disabled });
  }

  const switchOff = (heads: Head[]) => switchTo(switchedOff(model.get("disabled"), heads));

  /** `,` and `.` step through the checkpoints of a training. */
  function trainingKey({ key, ctrlKey, metaKey, altKey, target }: KeyboardEvent): boolean {
    if (ctrlKey || metaKey || altKey || target instanceof HTMLSelectElement) return false;
    const by = { ",": -1, ".": 1 }[key];
    return by !== undefined && stepThrough(model, by);
  }

  function switchKey({ key, shiftKey, ctrlKey, metaKey, altKey, target }: KeyboardEvent): boolean {
    if (ctrlKey || metaKey || altKey || target instanceof HTMLSelectElement) return false;
    if (key === "v" && model.get("versus") === "other")
      save(model, { of_two: nextOfTwo(model.get("of_two")) });
    else if (key === "v") save(model, { versus: model.get("versus") ? null : "intact" });
    else if (key.toLowerCase() !== "x") return false;
    else {
      const head = pointedHead() ?? shownHead(model);
      const heads = model.get("_stacks").find(({ name }) => name === head?.[2])?.n_heads ?? 0;
      const layer = Array.from(
        { length: heads },
        (_, i): Head => [head?.[0] ?? 0, i, head?.[2] ?? ""],
      );
      if (head) switchOff(shiftKey ? layer : [head]);
    }
    return true;
  }

  /** The head under the pointer or the keyboard's cursor, where that is in use. */
  function pointedHead(): Head | undefined {
    const { hovered, focused, byKeyboard } = input.place;
    const cell = hovered ?? (byKeyboard ? focused : undefined);
    const at =
      cell && scene && maps?.stack === model.get("stack") ? headIn(scene.order, cell) : undefined;
    return at && [...at, model.get("stack")];
  }

  /** Select the shown head with the most similar heads; the shown head does not change. */
  function selectSimilar(): void {
    const shown = shownHead(model);
    if (!shown) return;
    const alike = similarHeads(model, shown[0], shown[1]);
    select([...alike.map(([layer, head]): Head => [layer, head, shown[2]]), shown]);
  }

  /** Compose the thumbnails again, but only where something they depend on has changed. */
  function compose(now: Scene): void {
    const { layout, order, look, theme } = now;
    const of = [maps, JSON.stringify([layout, order.heads, look.scale, look.end, theme])];
    if (of.every((value, i) => value === rasterOf[i])) return;
    raster = composed(now);
    rasterOf = of;
  }

  function update(look: Look): void {
    const state = snapshot(model, WATCHED);
    history.notice(Boolean(model.get("_refused")));
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
    if (place !== before) revealed = undefined;
    before = place;
    root.classList.toggle("attnw-grid-stale", !areCurrent(maps, state));
    root.classList.toggle("attnw-grid-narrow", look.width < NARROW);
    const switched = JSON.stringify(off) !== JSON.stringify(state.disabled);
    live.say(chosenNow(), switched ? offText(state.disabled) : announcement(state.selected));
    off = state.disabled;
  }

  function view(): unknown {
    if (!scene) return nothing;
    inner.classList.toggle("attnw-grid-open", controls.isOpen());
    const { state } = scene;
    return html`<div class="attnw-progress" ?hidden=${areCurrent(maps, state)}></div>
      ${boxView(scene)}
      <p class="attnw-grid-sight" ?hidden=${!sight}>${sight}</p>
      ${offerView(scene)}
      ${controls.view(scene, keys.button())}
      ${offControls(model, state, switching)}
      ${stepControls(model)}
      ${metricControls(model, scene, selectSimilar)}
      ${keys.list()}
      ${captioned(mounted.save, html`<p class="attnw-grid-caption" data-caption>${caption}</p>`)}
      ${live.view()}${preview.view(scene, previewed(scene))}`;
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
    const { place } = input;
    place.focused = inside(place.focused, rows, cols);
    const cell = place.focused;
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

  /** The cell that is pointed at, where no linked figure shows its head. */
  function previewed({ order, selected }: Scene): Cell | undefined {
    const { hovered, focused, byKeyboard } = input.place;
    const last = selected.at(-1);
    const pointed = hovered ?? (byKeyboard ? focused : undefined);
    if (last && !sameCell(last, revealed)) {
      unrevealed = last;
      // What is chosen by a key is shown, though the pointer stays on another head.
      passedBy = pointed && !sameCell(pointed, last) ? pointed : undefined;
    }
    if (!sameCell(pointed, passedBy)) passedBy = undefined;
    revealed = last;
    const peeked = passedBy ? undefined : pointed;
    return peek(maps, peeked && headIn(order, peeked)) ? undefined : peeked;
  }

  /** Say how many layers and heads are in sight, where the box is too small for all. */
  function count({ layout, order }: Scene, box: HTMLElement): void {
    if (box !== watched) {
      resized.disconnect();
      resized.observe(box);
      watched = box;
    }
    const { scrollTop, clientHeight, scrollLeft, clientWidth } = box;
    const sorted = order.sort === "all";
    const isLow = box.scrollHeight > clientHeight + 1 && !sorted;
    const isNarrow = box.scrollWidth > clientWidth + 1 && !sorted;
    const parts: string[] = [];
    const [down, across] = order.perLayer ? ["heads", "layers"] : ["layers", "heads"];
    if (isLow)
      parts.push(`${rowsInSight(layout, scrollTop, clientHeight)} of ${layout.rows} ${down}`);
    if (isNarrow)
      parts.push(`${columnsInSight(layout, scrollLeft, clientWidth)} of ${layout.cols} ${across}`);
    const now = parts.length ? `${parts.join(", ")}, scroll for the rest` : "";
    box.classList.toggle("attnw-grid-cut", isLow);
    if (now === sight) return;
    sight = now;
    schedule();
  }

  function paint(): void {
    const box = input.box();
    const canvas = input.canvas();
    if (!scene || !box || !canvas) return;
    const { hovered, focused, byKeyboard } = input.place;
    const pen = fresh(canvas, scene.width, scene.height);
    if (unrevealed) input.reveal(scene.layout, unrevealed);
    unrevealed = undefined;
    if (pen)
      paintGrid(pen, scene, raster, {
        hovered,
        focused: byKeyboard ? focused : undefined,
        scrolled: [box.scrollLeft, box.scrollTop],
      });
    preview.place(box, canvas, scene.layout, hovered ?? (byKeyboard ? focused : undefined));
    count(scene, box);
  }
}

export default () => ({ initialize: releasing<GridState>("_thumbnails"), render });
