import { captionText } from "../shared/caption.js";
import { activeDescendant } from "../shared/cell_cursor.js";
import { element } from "../shared/dom.js";
import type { MapState } from "../shared/head_types.js";
import { commonKey } from "../shared/key_list.js";
import { liveRegion } from "../shared/live_region.js";
import { type Look, mount } from "../shared/mount.js";
import { fresh } from "../shared/pen.js";
import { releasing } from "../shared/release.js";
import { remembered } from "../shared/remembered.js";
import { announcement, selectHeads, stepTo } from "../shared/selection.js";
import { snapshot } from "../shared/snapshot.js";
import { type RenderContext, sameHead } from "../shared/types.js";
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

const WATCHED: (keyof MapState)[] = ["selected", "layer", "color", "_heads", "_source"];

function render(context: RenderContext<MapState>): void {
  const { model, signal } = context;
  const { inner, schedule } = mount(context, "head-map", WATCHED, {
    update,
    paint,
    keys,
  });
  const box = element(inner, "div", {
    class: "attnw-map-box attnw-drawn",
    role: "listbox",
    tabindex: 0,
    "aria-multiselectable": "true",
    "aria-label": "map of attention heads; question mark lists the keys",
  });
  const canvas = element(box, "canvas", { class: "attnw-map", "aria-hidden": "true" });
  const options = element(box, "div", { class: "attnw-unseen", role: "presentation" });
  const point = activeDescendant(box, options);
  const aside = mapAside(inner, context, chooseGroup);
  const live = liveRegion(inner, model.get("selected"));

  const planeOf = remembered((heads: MapState["_heads"]) => (heads ? decodePoints(heads) : []));
  let scene: MapScene | undefined;

  const groups = () => model.get("_heads")?.groups ?? [];
  const points = () => scene?.points ?? [];
  const selected = () => scene?.selected ?? [];

  function choose(chosen: Point[], add: boolean): void {
    if (!chosen.length) {
      live.announce("no head there");
      return;
    }
    const before = model.get("selected");
    const heads = chosen.map(({ head }) => head);
    const others = before.filter((head) => !heads.some((other) => sameHead(head, other)));
    const isToggle = add && heads.length === 1 && others.length < before.length;
    // The shown head stays shown if it is among the chosen heads.
    const shown = before.at(-1);
    if (shown && !add) heads.sort((a, b) => +sameHead(a, shown) - +sameHead(b, shown));
    const after = !add ? heads : isToggle ? others : [...others, ...heads];
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

  /** What the keyboard is on, for assistive technology. */
  function setCursor(at: Point, isSelected: boolean): void {
    point(at.head.join("-"), {
      role: "option",
      "aria-selected": String(isSelected),
      "aria-posinset": String(points().indexOf(at) + 1),
      "aria-setsize": String(points().length),
      "aria-label": describePoint(at, groups(), isSelected),
    });
  }

  function update(look: Look): void {
    const state = snapshot(model, WATCHED);
    const plane = planeOf(state._heads);
    scene = sceneOf(state, plane, look);
    inner.classList.toggle("attnw-map-wide", scene.beside);
    canvas.dataset.layout = JSON.stringify(scene.layout);
    place.hovered = undefined;
    place.focused = Math.max(0, Math.min(place.focused, plane.length - 1));
    const said = captionText(captionOf(state, scene.points));
    aside.update(scene, [readoutOf(scene.selected) || HINT, said]);
    live.say(state.selected, announcement(state.selected));
  }

  function paint(): void {
    if (!scene) return;
    const { hovered, byKeyboard, brush } = place;
    const cursor = scene.points[place.focused];
    if (cursor) setCursor(cursor, scene.selected.includes(cursor));
    const focused = byKeyboard ? cursor : undefined;
    const pointed = hovered ?? focused;
    const label = pointed ? pointLabel(pointed, groups()) : "";
    const pen = fresh(canvas, scene.layout.width, scene.layout.height);
    if (pen) paintMap(pen, scene, { hovered, focused, brush, label });
  }

  const { place, key } = mapInput(box, canvas, signal, {
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
    const without_attention = layers.filter((layer) => !placed.has(layer));
    stepTo(model, model.get("layer") + by, { n_layers, without_attention });
  }

  function keys(event: KeyboardEvent): boolean {
    if (event.target instanceof HTMLSelectElement) return false;
    return commonKey(event, aside.toggleKeys, stepBy) || key(event);
  }
}

export default () => ({ initialize: releasing<MapState>("_heads"), render });
