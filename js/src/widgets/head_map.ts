import { announcement } from "../draw/grid_text.js";
import { mapAside } from "../draw/map_aside.js";
import { mapInput } from "../draw/map_input.js";
import { type MapLook, paintMap } from "../draw/map_paint.js";
import {
  decodePoints,
  type MapLayout,
  mapLayout,
  type Point,
  toCanvas,
} from "../draw/map_points.js";
import { describePoint, mapCaption, pointLabel } from "../draw/map_text.js";
import { element } from "../model/dom.js";
import { forcedTheme, watchForced } from "../model/forced.js";
import { perFrame } from "../model/frame.js";
import type { MapState } from "../model/head_types.js";
import { releasing } from "../model/release.js";
import { selectHeads, stepTo } from "../model/selection.js";
import { type Theme, watchTheme } from "../model/theme.js";
import { headName, type RenderContext, sameHead } from "../model/types.js";

const WATCHED = ["selected", "layer", "color", "_heads", "_source", "_error"];
/** From this width on the legend stands beside the map. */
const WIDE = 720;
const ASIDE = 224;
/** Width to lay out for before the host has attached the widget. */
const UNATTACHED = 640;
/** Names of selected heads that are written out. */
const NAMED = 12;

function render({ model, el, signal }: RenderContext<MapState>): void {
  const root = element(el, "div", {
    class: "attnw-root attnw-map-root",
    "data-lm-suppress-shortcuts": "true",
  });
  const alert = element(root, "p", { role: "alert", class: "attnw-map-alert", hidden: true });
  const body = element(root, "div", { class: "attnw-map-body" });
  const box = element(body, "div", {
    ...{ class: "attnw-map-box", role: "listbox", tabindex: 0, "aria-multiselectable": "true" },
    "aria-label": "map of attention heads; question mark lists the keys",
  });
  const canvas = element(box, "canvas", { class: "attnw-map", "aria-hidden": "true" });
  const options = element(box, "div", { class: "attnw-unseen", role: "presentation" });
  const aside = mapAside(body, model, signal, { chooseGroup, toggleKeys });
  const live = element(body, "div", { class: "attnw-unseen", "aria-live": "polite" });
  // Two widgets can share a page, and this module's scope may or may not be shared between them.
  const prefix = `attnw-${Math.random().toString(36).slice(2)}`;

  let theme: Theme | undefined;
  let decoded: MapState["_heads"] = null;
  let plane: Point[] = [];
  let points: Point[] = [];
  let layout: MapLayout = mapLayout([], UNATTACHED);
  let dpr = 1;
  let changed = true;
  let spoken = JSON.stringify(model.get("selected"));

  const groups = () => model.get("_heads")?.groups ?? [];
  const selected = () =>
    model.get("selected").flatMap((head) => points.find((p) => sameHead(p.head, head)) ?? []);

  function choose(chosen: Point[], add: boolean): void {
    if (!chosen.length) {
      live.textContent = "no head there";
      return;
    }
    const before = model.get("selected");
    const heads = chosen.map(({ head }) => head);
    const others = before.filter((head) => !heads.some((other) => sameHead(head, other)));
    const isToggle = add && heads.length === 1 && others.length < before.length;
    // The head that is shown stays the shown one where it is among the chosen.
    const shown = before.at(-1);
    if (shown && !add) heads.sort((a, b) => +sameHead(a, shown) - +sameHead(b, shown));
    const after = !add ? heads : isToggle ? others : [...others, ...heads];
    if (JSON.stringify(after) !== JSON.stringify(before)) selectHeads(model, after);
  }

  function chooseGroup(group: number, add: boolean): void {
    choose(
      points.filter((point) => point.group === group),
      add,
    );
  }

  function clear(): boolean {
    if (!model.get("selected").length) return false;
    selectHeads(model, []);
    return true;
  }

  function toggleKeys(): void {
    aside.toggleKeys();
  }

  /** The one option that assistive technology sees: it stands for the head the keyboard is on. */
  function setCursor(point: Point, isSelected: boolean): void {
    const id = `${prefix}-${point.head.join("-")}`;
    // A fresh element with its own id: screen readers only speak when the active descendant changes.
    if (options.firstElementChild?.id !== id) options.replaceChildren();
    const node =
      (options.firstElementChild as HTMLElement | null) ?? element(options, "div", { id });
    for (const [attribute, value] of [
      ["role", "option"],
      ["aria-selected", String(isSelected)],
      ["aria-posinset", String(points.indexOf(point) + 1)],
      ["aria-setsize", String(points.length)],
      ["aria-label", describePoint(point, groups(), isSelected)],
    ] as const)
      if (node.getAttribute(attribute) !== value) node.setAttribute(attribute, value);
    box.setAttribute("aria-activedescendant", id);
  }

  function arrange(): void {
    const width = body.clientWidth || UNATTACHED;
    body.classList.toggle("attnw-map-wide", width >= WIDE);
    dpr = root.ownerDocument.defaultView?.devicePixelRatio || 1;
    layout = mapLayout(plane, width >= WIDE ? width - ASIDE - 24 : width);
    canvas.width = Math.round(layout.width * dpr);
    canvas.height = Math.round(layout.height * dpr);
    canvas.style.width = `${canvas.width / dpr}px`;
    canvas.style.height = `${canvas.height / dpr}px`;
    canvas.dataset.layout = JSON.stringify(layout);
    points = toCanvas(layout, plane);
    place.hovered = undefined;
    place.focused = Math.min(place.focused, points.length - 1);
  }

  function summary(): string {
    const heads = model.get("selected").map(headName);
    if (!heads.length) return "Click a head or drag a rectangle round some.";
    const rest = heads.length > NAMED ? ` and ${heads.length - NAMED} more` : "";
    const count = heads.length > 1 ? `${heads.length} heads: ` : "";
    return `selected ${count}${heads.slice(0, NAMED).join(", ")}${rest}`;
  }

  function refresh(now: Theme, forced: boolean): void {
    const error = model.get("_error");
    alert.hidden = !error;
    body.hidden = Boolean(error);
    if (alert.textContent !== error) alert.textContent = error;
    if (error) return;
    const heads = model.get("_heads");
    if (heads !== decoded) {
      plane = heads ? decodePoints(heads) : [];
      decoded = heads;
    }
    arrange();
    aside.update(now, forced, points, [summary(), mapCaption(model, points.length)]);
    const selection = JSON.stringify(model.get("selected"));
    if (selection !== spoken) live.textContent = announcement(model.get("selected"));
    spoken = selection;
  }

  const schedule = perFrame(signal, () => {
    if (!theme) return;
    const { forced, ...now } = forcedTheme(theme);
    if (changed) refresh(now, forced);
    changed = false;
    const { hovered, byKeyboard, brush } = place;
    const focused = points[place.focused];
    const chosen = selected();
    if (focused) setCursor(focused, chosen.includes(focused));
    const look: MapLook = {
      ...{ theme: now, forced, font: getComputedStyle(root).fontFamily || "sans-serif" },
      layers: model.get("color") === "layer" ? (decoded?.positions.shape[0] ?? 1) : 0,
      slots: groups().map(({ slot }) => slot),
    };
    const pointed = hovered ?? (byKeyboard ? focused : undefined);
    const context = canvas.getContext("2d");
    if (context)
      paintMap(context, layout, dpr, points, look, {
        ...{ selected: chosen, hovered, brush, focused: byKeyboard ? focused : undefined },
        label: pointed ? pointLabel(pointed, groups()) : "",
      });
  });
  const invalidate = () => {
    changed = true;
    schedule();
  };
  const place = mapInput(root, box, canvas, signal, {
    ...{ points: () => points, selected, redraw: schedule, choose, clear, toggleKeys },
    stepBy: (layers) =>
      stepTo(model, model.get("layer") + layers, decoded?.positions.shape[0] ?? 1),
  });

  for (const name of WATCHED) model.on(`change:${name}`, invalidate);
  watchTheme(root, signal, (next) => {
    theme = next;
    invalidate();
  });
  watchForced(signal, invalidate);
  const resized = new ResizeObserver(invalidate);
  resized.observe(root);
  signal.addEventListener("abort", () => {
    for (const name of WATCHED) model.off(`change:${name}`, invalidate);
    resized.disconnect();
    root.remove();
  });
}

export default () => ({ initialize: releasing<MapState>("_heads"), render });
