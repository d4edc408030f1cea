import { html, nothing } from "lit-html";
import { keyed } from "lit-html/directives/keyed.js";
import { createRef, ref } from "lit-html/directives/ref.js";
import { captionText } from "../shared/caption.js";
import { clamp } from "../shared/clamp.js";
import { elementIds } from "../shared/element_ids.js";
import { initializing } from "../shared/initialize.js";
import { commonKey } from "../shared/key_list.js";
import { announcer } from "../shared/live_region.js";
import { type Look, mount } from "../shared/mount.js";
import { fresh } from "../shared/pen.js";
import { remembered } from "../shared/remembered.js";
import { announcement, selectHeads, stepTo } from "../shared/selection.js";
import { snapshot } from "../shared/snapshot.js";
import { type Head, type RenderContext, sameHead } from "../shared/types.js";
import { mapAside } from "./map_aside.js";
import { mapInput } from "./map_input.js";
import type { Point } from "./map_points.js";
import { paintMap } from "./paint.js";
import {
  captionOf,
  decodePoints,
  describePoint,
  HINT,
  type MapScene,
  pointLabel,
  readoutOf,
  sceneOf,
} from "./scene.js";
import type { MapState } from "./state.js";

const WATCHED: (keyof MapState)[] = ["selected", "layer", "labels", "_heads", "_source"];

/**
 * Return the selection after heads were selected together: only these heads, or the old selection
 * with the heads added. A single head that is added twice is removed.
 */
function chosenTogether(before: Head[], heads: Head[], add: boolean): Head[] {
  const others = before.filter((head) => !heads.some((other) => sameHead(head, other)));
  if (add) {
    const isToggle = heads.length === 1 && others.length < before.length;
    return isToggle ? others : [...others, ...heads];
  }
  // Keep showing the shown head if it is among the selected heads.
  const shown = before.at(-1);
  if (!shown) return heads;
  return heads.toSorted((a, b) => +sameHead(a, shown) - +sameHead(b, shown));
}

function render(context: RenderContext<MapState>): void {
  const { model, signal } = context;
  const mounted = mount(context, "head-scatter", WATCHED, { update, view, paint, keys });
  const { inner, schedule } = mounted;
  const idOf = elementIds();
  const aside = mapAside(context, mounted, chooseGroup);
  const live = announcer(model.get("selected"));

  const planeOf = remembered((heads: MapState["_heads"]) => (heads ? decodePoints(heads) : []));
  let scene: MapScene | undefined;
  let caption = "";

  const groups = () => model.get("_heads")?.groups ?? [];
  const points = () => scene?.points ?? [];
  const selected = () => scene?.selected ?? [];

  function choose(chosen: Point[], add: boolean): void {
    if (!chosen.length) {
      live.announce("no head there");
      schedule();
      return;
    }
    const before = model.get("selected");
    const heads = chosen.map(({ head }) => head);
    const after = chosenTogether(before, heads, add);
    if (JSON.stringify(after) !== JSON.stringify(before)) selectHeads(model, after);
  }

  function chooseGroup(group: number, add: boolean): void {
    const chosen = points().filter((point) => point.group === group);
    choose(chosen, add);
  }

  function clear(): boolean {
    if (!model.get("selected").length) return false;
    selectHeads(model, []);
    return true;
  }

  /** Return the option under the keyboard cursor, for assistive technology. */
  function option(at: Point) {
    const isSelected = selected().includes(at);
    // Use a new element with its own id: screen readers speak only when the active descendant
    // changes.
    const id = idOf(at.head.join("-"));
    return keyed(
      id,
      html`<div id=${id} role="option" aria-selected=${isSelected}
        aria-posinset=${points().indexOf(at) + 1} aria-setsize=${points().length}
        aria-label=${describePoint(at, groups(), isSelected, model.get("labels"))}></div>`,
    );
  }

  function update(look: Look): void {
    const state = snapshot(model, WATCHED);
    const plane = planeOf(state._heads);
    scene = sceneOf(state, plane, look);
    inner.classList.toggle("attnw-map-wide", scene.beside);
    cursor.hovered = undefined;
    cursor.focused = clamp(cursor.focused, 0, plane.length - 1);
    caption = captionText(captionOf(state, scene.points));
    live.say(state.selected, announcement(state.selected));
  }

  function view(): unknown {
    if (!scene) return nothing;
    const current = scene.points[cursor.focused];
    const readout = readoutOf(scene.selected, model.get("labels")) || HINT;
    return html`<div class="attnw-map-box attnw-drawn" role="listbox" tabindex="0"
        aria-multiselectable="true"
        aria-label="map of attention heads; question mark lists the keys"
        aria-activedescendant=${current ? idOf(current.head.join("-")) : nothing}
        ${ref(attach)}>
        <canvas class="attnw-map" aria-hidden="true" data-layout=${JSON.stringify(scene.layout)}
          ${ref(canvas)}></canvas>
        <div class="attnw-unseen" role="presentation">${current ? option(current) : nothing}</div>
      </div>
      ${aside.view(scene, readout, caption)}${live.view()}`;
  }

  function paint(): void {
    if (!scene || !canvas.value) return;
    const { hovered, byKeyboard, brush } = cursor;
    const current = scene.points[cursor.focused];
    const focused = byKeyboard ? current : undefined;
    const pointed = hovered ?? focused;
    const label = pointed ? pointLabel(pointed, groups(), model.get("labels")) : "";
    const pen = fresh(canvas.value, scene.layout.width, scene.layout.height);
    if (pen) paintMap(pen, scene, { hovered, focused, brush, label });
  }

  const canvas = createRef<HTMLCanvasElement>();
  const { cursor, key, attach } = mapInput(signal, {
    points,
    selected,
    redraw: schedule,
    choose,
    clear,
  });

  function stepBy(by: number): void {
    const n_layers = model.get("_heads")?.positions.shape[0] ?? 1;
    const placed = new Set(scene?.points.map(({ head }) => head[0]));
    const layers = Array.from({ length: n_layers }, (_, layer) => layer);
    const layers_without_attention = layers.filter((layer) => !placed.has(layer));
    stepTo(model, model.get("layer") + by, { n_layers, layers_without_attention });
  }

  function keys(event: KeyboardEvent): boolean {
    if (event.target instanceof HTMLSelectElement) return false;
    return commonKey(event, aside.toggleKeys, stepBy) || key(event);
  }
}

export default () => ({ initialize: initializing<MapState>("_heads"), render });
