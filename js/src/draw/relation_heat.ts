import { element } from "../model/dom.js";
import type { Theme } from "../model/theme.js";
import { css } from "./colour.js";
import { drawColourBar } from "./colour_bar.js";
import { gridCursor } from "./grid_cursor.js";
import {
  type Cell,
  canvasSize,
  cellAt,
  corner,
  type GridLayout,
  moved,
  sameCell,
} from "./grid_layout.js";
import { AXIS_LABEL_SIZE } from "./labels.js";
import { LEVEL, percent, type Score } from "./relation_rows.js";
import { fresh } from "./scene.js";

const LABELS = 28;
const NUMBERS = 18;
const SMALLEST = 8;
const LARGEST = 30;
const MARGIN = 4;
/** From this size on every layer and head is numbered. */
const NUMBERED = 16;

/** Cells of a map of layers x heads, as large as `width` allows. */
export function heatLayout(width: number, rows: number, cols: number, dpr: number): GridLayout {
  const snap = (x: number) => Math.round(x * dpr) / dpr;
  const gap = snap(2);
  const room = (width - LABELS - MARGIN) / Math.max(1, cols) - gap;
  const cell = Math.floor(Math.max(SMALLEST, Math.min(LARGEST, room)) * dpr) / dpr;
  return { x0: snap(LABELS), y0: snap(NUMBERS), cell, gap, band: 0, dpr, rows, cols };
}

export interface HeatScene {
  theme: Theme;
  forced: boolean;
  font: string;
  width: number;
  rows: number;
  cols: number;
  score(cell: Cell): Score;
  selected: Cell[];
  /** A cell in words. */
  describe(cell: Cell, selected: boolean): string;
}

export interface HeatActions {
  choose(cell: Cell, add: boolean): void;
  /** The cell pointed at, or that the keyboard is on. */
  point(cell: Cell | undefined): void;
}

/** Layers x heads coloured by accuracy; a dot marks heads better than the offset. */
export function relationHeat(parent: HTMLElement, signal: AbortSignal, actions: HeatActions) {
  const box = element(parent, "div", {
    ...{ class: "attnw-rel-heat", role: "grid", tabindex: 0, "aria-multiselectable": "true" },
  });
  const canvas = element(box, "canvas", { "aria-hidden": "true", class: "attnw-rel-map" });
  const setCursor = gridCursor(box);
  const legend = element(parent, "div", { class: "attnw-rel-legend" });
  const bar = element(legend, "span", { class: "attnw-rel-scale" });
  const strip = element(bar, "canvas", { "aria-hidden": "true" });
  const ends = [element(bar, "span"), element(bar, "span"), element(bar, "span")];
  element(legend, "span", {}, "accuracy % · dot: better than the offset, corrected p ≤ 0.05");

  let layout = heatLayout(300, 0, 0, 1);
  let scene: HeatScene | undefined;
  let hovered: Cell | undefined;
  let focused: Cell = [0, 0];
  let byKeyboard = false;

  const on = <K extends keyof HTMLElementEventMap>(
    target: HTMLElement,
    type: K,
    listener: (event: HTMLElementEventMap[K]) => void,
  ) => target.addEventListener(type, listener, { signal });
  const under = (event: MouseEvent) => {
    const { left, top } = canvas.getBoundingClientRect();
    return cellAt(layout, event.clientX - left, event.clientY - top);
  };
  const adds = (event: MouseEvent | KeyboardEvent) =>
    event.shiftKey || event.ctrlKey || event.metaKey;
  const pointAt = () => {
    actions.point(hovered ?? (byKeyboard ? focused : undefined));
    draw();
  };
  on(canvas, "pointermove", (event) => {
    const cell = under(event);
    if (sameCell(cell, hovered)) return;
    hovered = cell;
    pointAt();
  });
  on(canvas, "pointerleave", () => {
    hovered = undefined;
    pointAt();
  });
  on(canvas, "click", (event) => {
    const cell = under(event);
    if (!cell) return;
    focused = cell;
    actions.choose(cell, adds(event));
  });
  on(box, "pointerdown", () => {
    byKeyboard = false;
  });
  on(box, "focus", () => {
    byKeyboard = box.matches(":focus-visible");
    if (byKeyboard) focused = scene?.selected.at(-1) ?? focused;
    pointAt();
  });
  on(box, "blur", () => {
    byKeyboard = false;
    pointAt();
  });
  on(box, "keydown", (event) => {
    if (event.altKey || !scene) return;
    const control = event.ctrlKey || event.metaKey;
    const target = moved(event.key, control, focused, layout.rows, layout.cols);
    if (!target && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    byKeyboard = true;
    if (target) focused = target;
    else actions.choose(focused, event.shiftKey || control);
    const [x] = corner(layout, focused);
    const right = x + layout.cell + layout.gap - box.clientWidth;
    box.scrollLeft = Math.max(Math.min(box.scrollLeft, x - layout.x0), right);
    pointAt();
  });

  function frame(context: CanvasRenderingContext2D, cell: Cell, colour: string, width: number) {
    const [x, y] = corner(layout, cell);
    const out = width / 2;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.strokeRect(x - out, y - out, layout.cell + width, layout.cell + width);
  }

  function numbers(context: CanvasRenderingContext2D, { theme, font }: HeatScene): void {
    const { rows, cols, x0, y0, cell } = layout;
    context.fillStyle = theme.muted;
    context.font = `${AXIS_LABEL_SIZE}px ${font}`;
    context.textBaseline = "middle";
    const every = cell >= NUMBERED ? 1 : 5;
    context.textAlign = "right";
    for (let row = 0; row < rows; row += every)
      context.fillText(String(row), x0 - 6, corner(layout, [row, 0])[1] + cell / 2);
    context.textAlign = "center";
    for (let col = 0; col < cols; col += every)
      context.fillText(String(col), corner(layout, [0, col])[0] + cell / 2, y0 - 9);
  }

  function draw(): void {
    if (!scene) return;
    const { theme, forced, rows, cols } = scene;
    const [width, height] = canvasSize(layout);
    const context = fresh(canvas, width, height);
    canvas.dataset.layout = JSON.stringify(layout);
    const cells = Array.from(
      { length: rows * cols },
      (_, i): Cell => [Math.floor(i / cols), i % cols],
    );
    const most = Math.max(...cells.map((cell) => scene?.score(cell).accuracy ?? 0), 0);
    const isSelected = (cell: Cell) => scene?.selected.some((at) => sameCell(at, cell)) ?? false;
    setCursor(
      focused,
      rows,
      cols,
      scene.describe(focused, isSelected(focused)),
      isSelected(focused),
    );
    const print = (x: number) => percent(x, 100);
    const texts = drawColourBar(strip, theme, "linear", most, print);
    for (const [i, node] of ends.entries()) node.textContent = texts[i] ?? "";
    if (!context) return;
    numbers(context, scene);
    for (const cell of cells) {
      const { accuracy, p } = scene.score(cell);
      const [x, y] = corner(layout, cell);
      const t = most > 0 ? accuracy / most : 0;
      context.fillStyle = css(theme.dark, t);
      context.fillRect(x, y, layout.cell, layout.cell);
      if (p > LEVEL) continue;
      // The scale starts at the page's background and ends near the colour of its text.
      context.fillStyle = forced || t < 0.5 ? theme.text : theme.background;
      context.beginPath();
      context.arc(x + layout.cell / 2, y + layout.cell / 2, Math.max(1.5, layout.cell / 10), 0, 7);
      context.fill();
    }
    for (const cell of scene.selected) frame(context, cell, theme.accent, 2);
    if (hovered) frame(context, hovered, theme.text, 1);
    if (byKeyboard) frame(context, focused, theme.text, 2);
  }

  return {
    box,
    update(next: HeatScene): void {
      scene = next;
      const dpr = box.ownerDocument.defaultView?.devicePixelRatio || 1;
      layout = heatLayout(next.width, next.rows, next.cols, dpr);
      focused = [
        Math.max(0, Math.min(next.rows - 1, focused[0])),
        Math.max(0, Math.min(next.cols - 1, focused[1])),
      ];
      draw();
    },
  };
}
