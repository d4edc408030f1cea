import { labelOf } from "../draw/labels.js";
import { symbolOf } from "../draw/quantity.js";
import { type Figure, isEmpty, isPair, positions, type Scene, type Target } from "../draw/scene.js";
import { viewBody } from "../draw/view_body.js";
import { caption, describe, figureName, keyGroup, printer, title } from "../draw/view_caption.js";
import { viewControls } from "../draw/view_controls.js";
import { keyList, marksOf, moved, toggled } from "../draw/view_cursor.js";
import { type Shown, shownMap } from "../draw/view_shown.js";
import { hideable, twoSentences, type VisibleMap, visibleMap } from "../draw/visible_map.js";
import { element } from "../model/dom.js";
import { perFrame } from "../model/frame.js";
import { releasing } from "../model/release.js";
import { shownHead, stepTo } from "../model/selection.js";
import { type Theme, watchTheme } from "../model/theme.js";
import type { Head, RenderContext, Side, ViewState } from "../model/types.js";

const WATCHED = [
  ...["selected", "layer", "tokens", "hidden", "quantity", "unit", "scale"],
  ...["mode", "top_mass", "renormalise", "sentences", "_highlighted"],
  ...["_map", "_axes", "_stacks", "_source", "_quantities", "_error"],
];
const NO_SELECTION =
  "Select a head: click one in a HeadGrid linked to this view, or set view.selected = [(layer, head)].";
const ALL_HIDDEN = "Every token is hidden: show some again.";

function render({ model, el, signal }: RenderContext<ViewState>): void {
  const root = element(el, "div", {
    class: "attnw-root attnw-view-root",
    "data-lm-suppress-shortcuts": "true",
  });
  const alert = element(root, "p", { role: "alert", class: "attnw-alert", hidden: true });
  const inner = element(root, "div", { class: "attnw-view" });
  const controls = viewControls(inner, model, signal, { setMode, toggleKeys });
  const body = viewBody(inner);
  const keys = keyList(inner);

  let theme: Theme | undefined;
  let shown: Shown | null = null;
  let map: VisibleMap | undefined;
  let mapOf: unknown[] = [];
  let name = "";
  let scene: Scene | undefined;
  let active: Target = {};
  let byKeyboard = false;
  let changed = true;
  /** How many marks the last lock set: Escape takes back a whole cell. */
  let lockSize = 1;

  const figure = (): Figure => body.figures[model.get("mode")];
  const stackOf = ([, , name]: Head) => model.get("_stacks").find((stack) => stack.name === name);

  function visible(of: Shown): VisibleMap {
    const [hidden, sentences] = [model.get("hidden"), model.get("sentences")];
    // Shares of one are a property of weights: other quantities stay as they were measured.
    const renormalise = model.get("renormalise") && of.quantity === "weights";
    const now = [of, hidden.join(), sentences, renormalise];
    if (!map || now.some((value, i) => value !== mapOf[i])) {
      const before = map;
      map = visibleMap(of.values, of.axes, { hidden, sentences, renormalise });
      // The cursor stays where it is from one head to the next.
      const moves =
        before?.rows.length !== map.rows.length || before.cols.length !== map.cols.length;
      if (moves) active = {};
      body.point("", 0, 0);
      name = figureName(of.head, of.quantity, map, of.axes, printer(of.exact, of.quantity));
    }
    mapOf = now;
    return map;
  }

  function refresh(): void {
    const error = model.get("_error");
    const head = shownHead(model);
    alert.hidden = !error;
    inner.hidden = Boolean(error);
    if (alert.textContent !== error) alert.textContent = error;
    scene = undefined;
    if (error || !theme) return;
    if (!head) {
      shown = null;
      controls.clear();
      body.say(NO_SELECTION);
      return;
    }
    const state = shownMap(model, head, shown);
    shown = state.shown;
    controls.name(
      title(head, model.get("quantity"), model.get("unit")),
      keyGroup(stackOf(head), head),
    );
    body.say("");
    body.setBusy(state.busy);
    body.figures.lines.element.hidden = !shown || model.get("mode") !== "lines";
    body.figures.matrix.element.hidden = !shown || model.get("mode") !== "matrix";
    if (shown) showMap(shown, theme);
    else if (model.get("_axes")?.query) controls.update(model.get("_axes"), false);
  }

  function showMap(of: Shown, colours: Theme): void {
    const now = visible(of);
    controls.update(of.axes, now.cols.length < of.axes.key.text.length);
    if (now.rows.length === 0 || now.cols.length === 0) {
      body.say(ALL_HIDDEN);
      return;
    }
    const side = (name: Side) =>
      model.get("tokens").flatMap(([where, index]) => (where === name ? [index] : []));
    const { query = [], key = [] } = of.highlighted;
    scene = {
      room: body.arrange(),
      ...{ map: now, axes: of.axes, theme: colours, active },
      ...{ scale: model.get("scale"), topMass: model.get("top_mass") },
      font: getComputedStyle(root).fontFamily || "sans-serif",
      print: printer(of.exact, of.quantity),
      locked: positions(now, side("query"), side("key")),
      highlighted: positions(now, query, key),
    };
    body.setLegend(colours, scene.scale, now.maximum, of.quantity);
    const words = [...new Set(query.map((index) => labelOf(of.axes.query, index)))]
      .join(", ")
      .replaceAll(", ##", "");
    body.setHighlight(words && `second colour: attention from and to ${words}`);
    figure().element.setAttribute("aria-label", name);
  }

  function writeCaption(of: Shown, { map: now }: Scene): void {
    const source = model.get("_source");
    const present = hideable(of.axes);
    const hidden = model.get("hidden").flatMap((kind) => present.get(kind) ?? []);
    body.setCaption(
      caption({
        ...{ head: of.head, unit: of.unit, exact: of.exact, rowSums: of.rowSums, mask: of.mask },
        ...{ model: source.model, note: source.note, loss: source.loss },
        quantity: of.quantity,
        ...{ scale: model.get("scale"), mode: model.get("mode"), topMass: model.get("top_mass") },
        sentences: twoSentences(of.axes) ? model.get("sentences") : "all",
        ...{ hidden, map: now, drawing: figure().note() },
      }),
    );
  }

  const schedule = perFrame(signal, () => {
    const full = changed;
    changed = false;
    if (full) refresh();
    if (!scene || !shown) return;
    scene = { ...scene, active };
    figure().draw(scene);
    writeCaption(shown, scene);
    const last = model.get("tokens").at(-1);
    const locked = last && { [last[0]]: [...scene.locked[last[0]]].at(-1) };
    const target = isEmpty(active) ? (locked ?? {}) : active;
    const text = describe(scene.map, scene.axes, target, scene.print);
    body.read(text);
    if (byKeyboard) body.announce(text);
  });
  const invalidate = () => {
    changed = true;
    schedule();
  };

  function setMode(mode: ViewState["mode"]): void {
    const held = figure().element.contains(root.ownerDocument.activeElement);
    active = {};
    model.set("mode", mode);
    model.save_changes();
    if (!held) return;
    for (const [name, { element: node }] of Object.entries(body.figures))
      node.hidden = name !== mode;
    figure().element.focus();
  }

  function toggleKeys(): void {
    keys.hidden = !keys.hidden;
    controls.keys.setAttribute("aria-expanded", String(!keys.hidden));
  }

  function step(by: number): void {
    const head = shownHead(model);
    const stack = head && stackOf(head);
    if (stack) stepTo(model, head[0] + by, stack.n_layers);
  }

  function lock(target: Target, add: boolean): void {
    // While another stack's picture is still up, its tokens are not those that would be locked.
    const stays = shown?.head[2] === shownHead(model)?.[2] && shown?.unit === model.get("unit");
    if (!scene || !stays || isEmpty(target)) return;
    const marks = marksOf(scene.map, target);
    lockSize = marks.length;
    model.set("tokens", toggled(model.get("tokens"), marks, add));
    model.save_changes();
  }

  function unlock(): boolean {
    const locked = model.get("tokens");
    if (locked.length === 0) return false;
    model.set("tokens", locked.slice(0, -lockSize));
    lockSize = 1;
    model.save_changes();
    return true;
  }

  function key(event: KeyboardEvent): boolean {
    const inFigure = event.target === figure().element;
    if (event.key === "Escape") return unlock();
    // A select moves to the option that starts with the letter.
    if (event.target instanceof HTMLSelectElement) return false;
    // Brackets may need Alt or AltGr (reported as Ctrl + Alt); with Ctrl or Cmd alone they are the browser's.
    if (event.metaKey || (event.ctrlKey && !event.altKey)) return false;
    if (event.key === "?") toggleKeys();
    else if (event.key === "[" || event.key === "]") step(event.key === "[" ? -1 : 1);
    else if (event.altKey) return false;
    else if (event.key === "m") setMode(model.get("mode") === "lines" ? "matrix" : "lines");
    else if (!inFigure || !scene) return false;
    else if (event.key === "Enter" || event.key === " ") lock(active, event.shiftKey);
    else {
      const { rows, cols } = scene.map;
      const target = moved(event.key, active, model.get("mode"), rows.length, cols.length);
      if (!target) return false;
      [active, byKeyboard] = [target, true];
      figure().reveal(target);
      body.point("", 0, 0);
      schedule();
    }
    return true;
  }

  function hover(target: Target, event?: PointerEvent): void {
    const quantity = shown?.quantity ?? "weights";
    const text =
      event && scene && isPair(target)
        ? `${describe(scene.map, scene.axes, target, scene.print)} ${symbolOf(quantity)}`.trim()
        : fullText(target);
    body.point(text, event?.clientX ?? 0, event?.clientY ?? 0);
    if (target.query === active.query && target.key === active.key) return;
    [active, byKeyboard] = [target, false];
    schedule();
  }

  /** A token's whole text where its label may be cut short. */
  function fullText({ query, key: col }: Target): string {
    if (!scene) return "";
    const { map: now, axes } = scene;
    const side = query !== undefined ? "query" : "key";
    const index = query !== undefined ? now.rows[query] : now.cols[col ?? -1];
    const text = index === undefined ? "" : labelOf(axes[side], index);
    return figure().isCut(scene, side, text) ? text : "";
  }

  let width = 0;
  const observer = new ResizeObserver(() => {
    if (inner.clientWidth === width) return;
    width = inner.clientWidth;
    invalidate();
  });
  observer.observe(inner);
  for (const each of Object.values(body.figures)) {
    const on = <K extends keyof HTMLElementEventMap>(
      type: K,
      listener: (event: HTMLElementEventMap[K]) => void,
    ) => each.element.addEventListener(type, listener, { signal });
    on("pointermove", (event) => hover(each.hit(event.clientX, event.clientY), event));
    on("pointerleave", () => hover({}));
    on("click", (event) => lock(each.hit(event.clientX, event.clientY), event.shiftKey));
    on("blur", () => byKeyboard && hover({}));
    on("scroll", schedule);
  }
  root.addEventListener(
    "keydown",
    (event) => {
      if (!key(event)) return;
      event.preventDefault();
      event.stopPropagation();
    },
    { signal },
  );
  for (const name of WATCHED) model.on(`change:${name}`, invalidate);
  watchTheme(root, signal, (next) => {
    theme = next;
    invalidate();
  });
  signal.addEventListener("abort", () => {
    for (const name of WATCHED) model.off(`change:${name}`, invalidate);
    observer.disconnect();
    root.remove();
  });
}

export default () => ({ initialize: releasing<ViewState>("_map"), render });
