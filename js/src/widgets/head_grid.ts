import { lookup } from "../draw/colour.js";
import { gridControls } from "../draw/grid_controls.js";
import { gridCursor, keyList } from "../draw/grid_cursor.js";
import { gridInput } from "../draw/grid_input.js";
import {
  type Cell,
  canvasSize,
  type GridLayout,
  gridLayout,
  sameCell,
} from "../draw/grid_layout.js";
import { cellOf, chosenMetric, headIn, type Metric, orderHeads } from "../draw/grid_order.js";
import { paint } from "../draw/grid_paint.js";
import { compose, decode, type Look, type Picture, putPixels } from "../draw/grid_pixels.js";
import { gridPreview } from "../draw/grid_preview.js";
import {
  announcement,
  caption,
  describe,
  metricText,
  sortingText,
  strongest,
} from "../draw/grid_text.js";
import { metricControls, similarHeads } from "../draw/metric_controls.js";
import { element } from "../model/dom.js";
import { perFrame } from "../model/frame.js";
import { releasing } from "../model/release.js";
import { selectHeads, shownHead, stepTo } from "../model/selection.js";
import { type Theme, watchTheme } from "../model/theme.js";
import { type GridState, type Head, type RenderContext, sameHead } from "../model/types.js";

const WATCHED = [
  ...["selected", "layer", "hidden", "quantity", "unit", "scale", "stack", "shared_scale"],
  ...["_thumbnails", "_axes", "_stacks", "_source", "_quantities", "_error"],
  ...["metric", "sort", "descending", "filter", "outside", "_metrics"],
];
/** Width to lay out for before the host has attached the widget. */
const UNATTACHED = 640;
const HISTORY = 100;

function render({ model, el, signal }: RenderContext<GridState>): void {
  const root = element(el, "div", {
    class: "attnw-root attnw-grid-root",
    "data-lm-suppress-shortcuts": "true",
  });
  const alert = element(root, "p", { role: "alert", class: "attnw-grid-alert", hidden: true });
  const body = element(root, "div");
  const progress = element(body, "div", { class: "attnw-progress", hidden: true });
  const box = element(body, "div", {
    ...{ class: "attnw-grid-box", role: "grid", tabindex: 0, "aria-multiselectable": "true" },
    "aria-label": "attention heads, a row a layer; question mark lists the keys",
  });
  const canvas = element(box, "canvas", { class: "attnw-grid", "aria-hidden": "true" });
  const setCursor = gridCursor(box);
  const measured = metricControls(body, model, signal, selectSimilar);
  const controls = gridControls(body, model, signal, { step, toggleKeys });
  const keys = keyList(body);
  const line = element(body, "p", { class: "attnw-grid-caption" });
  const live = element(body, "div", { class: "attnw-unseen", "aria-live": "polite" });
  const preview = gridPreview(root, model);
  const image = root.ownerDocument.createElement("canvas");

  let theme: Theme | undefined;
  let layout: GridLayout = gridLayout(UNATTACHED, 0, 0, false, 1);
  let picture: Picture | null = null;
  let metric: Metric | undefined;
  let order = orderHeads(0, 0, undefined, wish());
  let decoded: GridState["_thumbnails"] = null;
  let composed = "";
  let changed = true;
  let spoken = JSON.stringify(model.get("selected"));
  const history: Head[][] = [];

  const pixelRatio = () => root.ownerDocument.defaultView?.devicePixelRatio || 1;
  const stackInfo = () => model.get("_stacks").find(({ name }) => name === model.get("stack"));
  const look = (dark: boolean): Look => ({
    table: lookup(dark),
    scale: model.get("scale"),
    shared: model.get("shared_scale"),
  });
  const isStale = () => {
    const shown = model.get("_thumbnails");
    const set = (kinds: string[]) => [...kinds].sort().join();
    return (
      shown?.stack !== model.get("stack") ||
      shown.quantity !== model.get("quantity") ||
      shown.unit !== model.get("unit") ||
      set(shown.hidden) !== set(model.get("hidden"))
    );
  };
  const selectedCells = () =>
    model.get("selected").flatMap(([layer, head, stack]) => {
      const inside = stack === model.get("stack") && head < order.cols;
      const cell = inside ? cellOf(order, [layer, head]) : undefined;
      return cell ? [cell] : [];
    });

  function wish() {
    return {
      ...{ sort: model.get("sort"), descending: model.get("descending") },
      ...{ filter: model.get("filter"), outside: model.get("outside") },
    };
  }

  function step(layer: number): void {
    const last = shownHead(model);
    const shown = stackInfo();
    if (!shown || !last || last[2] === shown.name) stepTo(model, layer, shown?.n_layers ?? 1);
    else {
      // The selection is in another stack: stepping brings it to this one.
      const target = Math.max(0, Math.min(shown.n_layers - 1, layer));
      selectHeads(model, [[target, Math.min(last[1], shown.n_heads - 1), shown.name]]);
    }
  }

  function toggleKeys(): void {
    keys.hidden = !keys.hidden;
    controls.keys.setAttribute("aria-expanded", String(!keys.hidden));
  }

  function choose(cell: Cell, add: boolean): void {
    // While another stack's picture is still up, what is under the pointer is not what would be selected.
    if (model.get("_thumbnails")?.stack !== model.get("stack")) return;
    const at = headIn(order, cell);
    if (!at) return;
    const before = model.get("selected");
    const head: Head = [...at, model.get("stack")];
    const others = before.filter((other) => !sameHead(other, head));
    select(!add ? [head] : others.length < before.length ? others : [...before, head]);
  }

  function select(heads: Head[]): void {
    const before = model.get("selected");
    if (JSON.stringify(heads) === JSON.stringify(before)) return;
    history.push(before);
    if (history.length > HISTORY) history.shift();
    selectHeads(model, heads);
  }

  /** Select the shown head with those most like it; it stays the one that is shown. */
  function selectSimilar(): void {
    const shown = shownHead(model);
    if (!shown) return;
    const alike = similarHeads(model, shown[0], shown[1]);
    select([...alike.map(([layer, head]): Head => [layer, head, shown[2]]), shown]);
  }

  function undo(): boolean {
    const before = history.pop();
    if (before) selectHeads(model, before);
    return before !== undefined;
  }

  function resize(): void {
    const stack = stackInfo();
    const cols = picture?.cols ?? stack?.n_heads ?? 0;
    // While another stack's picture is still up, the metric is not that of its heads.
    const stays = !picture || model.get("_thumbnails")?.stack === model.get("stack");
    metric = stays ? chosenMetric(model) : undefined;
    order = orderHeads(picture?.rows ?? stack?.n_layers ?? 0, cols, metric, wish());
    const sorted = order.sort !== "none";
    const banded = !sorted && stack !== undefined && stack.n_key_heads < stack.n_heads;
    const dpr = pixelRatio();
    const below = sorted ? "name" : metric ? "bar" : "nothing";
    layout = gridLayout(box.clientWidth || UNATTACHED, order.rows, cols, banded, dpr, below);
    const [width, height] = canvasSize(layout);
    canvas.width = Math.round(width * dpr);
    canvas.height = Math.round(height * dpr);
    canvas.style.width = `${canvas.width / dpr}px`;
    canvas.style.height = `${canvas.height / dpr}px`;
    canvas.dataset.layout = JSON.stringify(layout);
  }

  /** Compose the thumbnails again, but only where something they depend on has changed. */
  function recompose(dark: boolean): void {
    const thumbnails = model.get("_thumbnails");
    if (thumbnails !== decoded) {
      picture = thumbnails && decode(thumbnails);
      decoded = thumbnails;
      composed = "";
    }
    resize();
    const { scale, shared, table } = look(dark);
    const key = JSON.stringify([layout, order.heads, scale, shared, dark]);
    if (!picture || key === composed) return;
    const { width, height, pixels } = compose(layout, picture, order, { scale, shared, table });
    putPixels(image, width, height, pixels);
    composed = key;
  }

  function refresh(now: Theme): void {
    const error = model.get("_error");
    alert.hidden = !error;
    body.hidden = Boolean(error);
    if (alert.textContent !== error) alert.textContent = error;
    if (error) return;
    recompose(now.dark);
    progress.hidden = !isStale();
    root.classList.toggle("attnw-grid-stale", isStale());
    box.setAttribute("aria-busy", String(isStale()));
    measured(now, metric);
    controls.update(now, picture);
    line.textContent = caption(model, picture, metric, order);
    const selection = JSON.stringify(model.get("selected"));
    if (selection !== spoken) live.textContent = announcement(model.get("selected"));
    spoken = selection;
  }

  const schedule = perFrame(signal, () => {
    if (!theme) return;
    if (changed || layout.dpr !== pixelRatio()) refresh(theme);
    changed = false;
    const { rows, cols } = layout;
    const { hovered, byKeyboard } = place;
    place.focused = [
      Math.max(0, Math.min(rows - 1, place.focused[0])),
      Math.max(0, Math.min(cols - 1, place.focused[1])),
    ];
    const { focused } = place;
    const selected = selectedCells();
    const context = canvas.getContext("2d");
    if (context)
      paint(context, layout, theme, picture && image, {
        ...{ layer: model.get("layer"), selected, hovered, order, metric },
        filter: model.get("filter"),
        sorting: sortingText(order, metric, model.get("descending")),
        focused: byKeyboard ? focused : undefined,
        nKeyHeads: stackInfo()?.n_key_heads ?? cols,
        scrolled: box.scrollLeft,
        font: getComputedStyle(root).fontFamily,
      });
    const own = headIn(order, focused);
    const pair = picture && own ? strongest(picture, model.get("_axes"), own) : undefined;
    const isSelected = selected.some((at) => sameCell(at, focused));
    const number = (at: Cell) => metricText(metric, at, cols);
    const words = describe(own, pair, own ? number(own) : "", isSelected);
    setCursor(focused, rows, cols, words, isSelected);
    const cell = hovered ?? (byKeyboard ? focused : undefined);
    const at = cell && headIn(order, cell);
    if (at && picture && !model.get("_error"))
      preview.show(canvas, layout, picture, cell, at, number(at), look(theme.dark), theme);
    else preview.hide();
  });
  const invalidate = () => {
    changed = true;
    schedule();
  };
  const place = gridInput(root, box, canvas, signal, {
    ...{ choose, undo, toggleKeys, layout: () => layout, selected: selectedCells },
    redraw: schedule,
    stepBy: (layers) => step(model.get("layer") + layers),
  });

  for (const name of WATCHED) model.on(`change:${name}`, invalidate);
  watchTheme(root, signal, (next) => {
    theme = next;
    invalidate();
  });
  const resized = new ResizeObserver(invalidate);
  resized.observe(box);
  signal.addEventListener("abort", () => {
    for (const name of WATCHED) model.off(`change:${name}`, invalidate);
    resized.disconnect();
    root.remove();
  });
}

export default () => ({ initialize: releasing<GridState>("_thumbnails"), render });
