import { html } from "lit-html";
import { adds, keyList } from "../shared/key_list.js";
import type { Mounted } from "../shared/mount.js";
import { painted } from "../shared/painted.js";
import { fresh } from "../shared/pen.js";
import { captioned } from "../shared/save_menu.js";
import type { RenderContext } from "../shared/types.js";
import { MARK, MARK_RADIUS, paintLayers, paintMark } from "./paint.js";
import type { MapScene } from "./scene.js";
import type { MapState } from "./state.js";

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

/** Return the parts next to or under the map: the legend, the caption and the keys. */
export function mapAside(
  { model, signal }: RenderContext<MapState>,
  mounted: Mounted,
  chooseGroup: (group: number, add: boolean) => void,
) {
  const keys = keyList(KEYS, mounted, signal);

  function groupView(scene: MapScene, name: string, group: number) {
    const count = scene.points.filter((point) => point.group === group).length;
    const paint = (canvas: HTMLCanvasElement) => {
      const pen = fresh(canvas, MARK, MARK);
      const slot = scene.slots[group] ?? -1;
      if (pen) paintMark(pen, scene.theme, slot, MARK / 2, MARK / 2, MARK_RADIUS);
    };
    return html`<li><button type="button" class="attnw-map-group"
      title=${`select these ${count} heads`}
      @click=${(event: MouseEvent) => chooseGroup(group, adds(event))}
      ><canvas aria-hidden="true" ${painted(paint, scene)}></canvas><span>${name}</span
      ><span class="attnw-map-count">${count}</span></button></li>`;
  }

  function scaleView({ theme, layers }: MapScene) {
    const paint = (canvas: HTMLCanvasElement) => {
      canvas.width = layers;
      canvas.height = 1;
      const pen = canvas.getContext("2d");
      if (pen) paintLayers(pen, theme, layers, layers, 1);
    };
    return html`<div class="attnw-map-scale" ?hidden=${layers === 0 || theme.forced}>
      <canvas aria-hidden="true" ${painted(paint, theme, layers)}></canvas>
      <span>layer 0</span><span>${layers - 1}</span>
    </div>`;
  }

  return {
    toggleKeys: keys.toggle,
    view(scene: MapScene, readout: string, caption: string) {
      const groups = model.get("_heads")?.groups ?? [];
      return html`<div class="attnw-map-aside">
        <div class="attnw-controls">${scaleView(scene)}${keys.button()}</div>
        <ul class="attnw-map-groups" aria-label="behaviors" ?hidden=${groups.length === 0}>
          ${groups.map(({ name }, i) => groupView(scene, name, i))}
        </ul>
        <p class="attnw-map-readout">${readout}</p>
        ${captioned(mounted.save, html`<p class="attnw-map-caption" data-caption>${caption}</p>`)}
        ${keys.list()}
      </div>`;
    },
  };
}
