import { choice, keysButton } from "../shared/controls.js";
import { element } from "../shared/dom.js";
import type { MapState } from "../shared/head_types.js";
import { adds, keyHelp } from "../shared/key_list.js";
import { fresh } from "../shared/pen.js";
import { save } from "../shared/snapshot.js";
import type { RenderContext } from "../shared/types.js";
import type { Point } from "./map_points.js";
import { MARK, MARK_RADIUS, paintLayers, paintMark } from "./paint.js";
import type { MapScene } from "./scene.js";

const KEYS = [
  ["Arrow keys", "move to the nearest head in that direction"],
  ["Page Up / Page Down", "previous / next head, layer by layer"],
  ["Home / End", "first / last head"],
  ["Enter or Space, click", "select the head"],
  ["Shift + Enter, Shift + click", "add or remove the head"],
  ["drag", "select the heads in the rectangle, with Shift add them"],
  ["[ and ]", "step to the layer above / below"],
  ["Escape", "let go of the rectangle; else clear the selection"],
  ["?", "show or hide this list"],
] as const;

/** What stands beside or under the map: the choice of colour, the legend, the caption, the keys. */
export function mapAside(
  parent: HTMLElement,
  { model, signal }: RenderContext<MapState>,
  chooseGroup: (group: number, add: boolean) => void,
) {
  const aside = element(parent, "div", { class: "attnw-map-aside" });
  const row = element(aside, "div", { class: "attnw-map-controls" });
  const colour = choice<MapState["color"]>(row, "colour", signal, (color) =>
    save(model, { color }),
  );
  const scale = element(row, "div", { class: "attnw-map-scale" });
  const strip = element(scale, "canvas", { "aria-hidden": "true" });
  element(scale, "span", {}, "layer 0");
  const last = element(scale, "span");
  const keys = keysButton(row, "attnw-map-button");
  const list = element(aside, "ul", { class: "attnw-map-groups", "aria-label": "behaviours" });
  const readout = element(aside, "p", { class: "attnw-map-readout" });
  const caption = element(aside, "p", { class: "attnw-map-caption", "data-caption": "" });
  const toggleKeys = keyHelp(aside, KEYS, keys, signal);

  let listed = "";
  function fillGroups(groups: { name: string }[], points: Point[]): void {
    const state = JSON.stringify([groups, points.map(({ group }) => group)]);
    if (state === listed) return;
    listed = state;
    list.replaceChildren();
    for (const [i, { name }] of groups.entries()) {
      const count = points.filter(({ group }) => group === i).length;
      const look = { type: "button", class: "attnw-map-group" };
      const button = element(element(list, "li"), "button", look);
      button.title = `select these ${count} heads`;
      element(button, "canvas", { "aria-hidden": "true" });
      element(button, "span", {}, name);
      element(button, "span", { class: "attnw-map-count" }, String(count));
      button.addEventListener("click", (event) => chooseGroup(i, adds(event)), { signal });
    }
  }

  function drawScale({ theme, layers }: MapScene): void {
    strip.width = layers;
    strip.height = 1;
    const pen = strip.getContext("2d");
    if (pen) paintLayers(pen, theme, layers, layers, 1);
    last.textContent = String(layers - 1);
  }

  return {
    toggleKeys,
    update(scene: MapScene, texts: [readout: string, caption: string]): void {
      const groups = model.get("_heads")?.groups ?? [];
      const byLayer = scene.layers > 0;
      colour(groups.length ? ["layer", "behaviour"] : [], model.get("color"));
      scale.hidden = !byLayer || scene.theme.forced;
      list.hidden = byLayer || groups.length === 0;
      fillGroups(groups, scene.points);
      for (const [i, canvas] of [...list.querySelectorAll("canvas")].entries()) {
        const pen = fresh(canvas, MARK, MARK);
        if (pen) paintMark(pen, scene.theme, scene.slots[i] ?? -1, MARK / 2, MARK / 2, MARK_RADIUS);
      }
      if (byLayer) drawScale(scene);
      [readout.textContent, caption.textContent] = texts;
    },
  };
}
