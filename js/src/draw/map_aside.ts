import { element } from "../model/dom.js";
import type { MapState } from "../model/head_types.js";
import type { Theme } from "../model/theme.js";
import type { Model } from "../model/types.js";
import { drawShape, groupColour, groupShape, layerColour } from "./map_marks.js";
import type { Point } from "./map_points.js";
import { MAP_KEYS } from "./map_text.js";

const MARK = 14;

export interface AsideActions {
  /** Select all heads of a behaviour. */
  chooseGroup(group: number, add: boolean): void;
  toggleKeys(): void;
}

/** What stands beside or under the map: the choice of colour, the legend, the caption, the keys. */
export function mapAside(
  parent: HTMLElement,
  model: Model<MapState>,
  signal: AbortSignal,
  actions: AsideActions,
) {
  const aside = element(parent, "div", { class: "attnw-map-aside" });
  const row = element(aside, "div", { class: "attnw-map-controls" });
  const label = element(row, "label", {}, "colour ");
  const select = element(label, "select");
  for (const value of ["layer", "behaviour"]) element(select, "option", { value }, value);
  select.addEventListener(
    "change",
    () => {
      model.set("color", select.value as MapState["color"]);
      model.save_changes();
    },
    { signal },
  );
  const scale = element(row, "div", { class: "attnw-map-scale" });
  const strip = element(scale, "canvas", { "aria-hidden": "true" });
  const ends = [element(scale, "span"), element(scale, "span")];
  const keys = element(row, "button", {
    ...{ type: "button", class: "attnw-map-button", title: "keys", "aria-label": "show the keys" },
    "aria-expanded": "false",
  });
  keys.textContent = "?";
  keys.addEventListener("click", () => actions.toggleKeys(), { signal });
  const list = element(aside, "ul", { class: "attnw-map-groups", "aria-label": "behaviours" });
  const readout = element(aside, "p", { class: "attnw-map-readout" });
  const caption = element(aside, "p", { class: "attnw-map-caption" });
  const help = element(aside, "dl", { class: "attnw-keys", hidden: true });
  for (const [key, meaning] of MAP_KEYS) {
    const line = element(help, "div");
    element(line, "dt", {}, key);
    element(line, "dd", {}, meaning);
  }

  let listed = "";
  function fillGroups(groups: { name: string; slot: number }[], points: Point[]): void {
    const state = JSON.stringify([groups, points.map(({ group }) => group)]);
    if (state === listed) return;
    listed = state;
    list.replaceChildren();
    for (const [i, { name }] of groups.entries()) {
      const count = points.filter(({ group }) => group === i).length;
      const item = element(list, "li");
      const button = element(item, "button", { type: "button", class: "attnw-map-group" });
      button.title = `select these ${count} heads`;
      element(button, "canvas", { "aria-hidden": "true" });
      element(button, "span", {}, name);
      element(button, "span", { class: "attnw-map-count" }, String(count));
      const add = (event: MouseEvent) => event.shiftKey || event.ctrlKey || event.metaKey;
      button.addEventListener("click", (event) => actions.chooseGroup(i, add(event)), { signal });
    }
  }

  function drawGroups(groups: { slot: number }[], theme: Theme, forced: boolean, dpr: number) {
    for (const [i, canvas] of [...list.querySelectorAll("canvas")].entries()) {
      canvas.width = MARK * dpr;
      canvas.height = MARK * dpr;
      const context = canvas.getContext("2d");
      if (!context) return;
      const slot = groups[i]?.slot ?? -1;
      context.setTransform(dpr, 0, 0, dpr, 0, 0);
      context.fillStyle = forced ? theme.text : groupColour(theme.dark, slot);
      context.strokeStyle = context.fillStyle;
      drawShape(context, groupShape(slot), MARK / 2, MARK / 2, 4.5);
    }
  }

  function drawScale(layers: number, theme: Theme): void {
    strip.width = layers;
    strip.height = 1;
    const context = strip.getContext("2d");
    for (let layer = 0; context && layer < layers; layer++) {
      context.fillStyle = layerColour(theme.dark, layer, layers);
      context.fillRect(layer, 0, 1, 1);
    }
    for (const [i, text] of ["layer 0", String(layers - 1)].entries()) {
      const node = ends[i];
      if (node) node.textContent = text;
    }
  }

  return {
    aside,
    toggleKeys(): void {
      help.hidden = !help.hidden;
      keys.setAttribute("aria-expanded", String(!help.hidden));
    },
    update(theme: Theme, forced: boolean, points: Point[], texts: [string, string]): void {
      const heads = model.get("_heads");
      const groups = heads?.groups ?? [];
      const byLayer = model.get("color") === "layer";
      const dpr = aside.ownerDocument.defaultView?.devicePixelRatio || 1;
      label.hidden = groups.length === 0;
      select.value = model.get("color");
      scale.hidden = !byLayer || forced;
      list.hidden = byLayer || groups.length === 0;
      fillGroups(groups, points);
      drawGroups(groups, theme, forced, dpr);
      drawScale(heads?.positions.shape[0] ?? 1, theme);
      [readout.textContent, caption.textContent] = texts;
    },
  };
}
