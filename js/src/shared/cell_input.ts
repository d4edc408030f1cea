import { html, nothing } from "lit-html";
import { keyed } from "lit-html/directives/keyed.js";
import { ref } from "lit-html/directives/ref.js";
import {
  type Cell,
  cellAt,
  corner,
  type GridLayout,
  inside,
  moved,
  pitches,
  sameCell,
} from "./cells.js";
import { listening } from "./dom.js";
import { elementIds } from "./element_ids.js";
import { adds } from "./key_list.js";

interface CellActions {
  /** Undefined before anything is drawn. */
  layout(): GridLayout | undefined;
  /** Cells selected now, the one shown last. */
  selected(): Cell[];
  /** The cursor has changed. */
  moved(): void;
  choose(cell: Cell, add: boolean): void;
  /** The labels stay when the box is scrolled, over the cells. */
  fixedLabels?: boolean;
  /** Of Escape; false where nothing is left to undo. */
  undo?(): boolean;
}

/** Milliseconds after which a touch points at a cell; a shorter touch selects it. */
const HOLD_MS = 400;

/** Where the pointer and the keyboard are among cells. */
interface Cursor {
  hovered: Cell | undefined;
  /** The roving cell of the keyboard. */
  focused: Cell;
  /** Whether the roving cell is to be shown: the keyboard is in use. */
  byKeyboard: boolean;
}

/** What stands in the box round the canvas, and what is read aloud of the box. */
interface CellBox {
  /** Classes of the box. */
  classes: string;
  /** The name of all cells; undefined before anything is drawn. */
  label: string | undefined;
  /** Class of the canvas. */
  canvas: string;
  /** What the canvas does beside following the cells. */
  on?: {
    [K in "pointermove" | "pointerleave" | "click" | "dblclick"]?: (
      event: HTMLElementEventMap[K],
    ) => void;
  };
  /** What is read aloud of a cell. */
  nameOf(cell: Cell, isSelected: boolean): string;
  isSelected?(cell: Cell): boolean;
  isBusy?: boolean;
  /** Largest height of the box, in pixels. */
  tallest?: number;
  scrolled?(): void;
}

/**
 * Mouse and keyboard over the cells of a canvas: they change the returned cursor and call the
 * actions; `key` returns whether it took the key. `view` is the box round the canvas.
 */
export function cellGestures(signal: AbortSignal, actions: CellActions) {
  const cursor: Cursor = { hovered: undefined, focused: [0, 0], byKeyboard: false };
  const idOf = elementIds();
  let box: HTMLElement | null = null;
  let canvas: HTMLCanvasElement | null = null;
  const on = listening(signal);
  const update = (change: Partial<Cursor>) => {
    Object.assign(cursor, change);
    actions.moved();
  };
  const hover = (cell: Cell | undefined) => {
    if (!sameCell(cursor.hovered, cell)) update({ hovered: cell });
  };
  const under = (event: MouseEvent): Cell | undefined => {
    const layout = actions.layout();
    if (!layout || !box || !canvas) return undefined;
    const { left, top } = canvas.getBoundingClientRect();
    const labels = actions.fixedLabels ? box.getBoundingClientRect() : { left, top };
    if (event.clientX < labels.left + layout.x0 || event.clientY < labels.top + layout.y0)
      return undefined;
    return cellAt(layout, event.clientX - left, event.clientY - top);
  };

  let finger: ReturnType<typeof setTimeout> | undefined;
  let held = false;
  const lift = () => clearTimeout(finger);
  signal.addEventListener("abort", lift);

  function attach(node: Element | undefined): void {
    const painting = node?.querySelector("canvas");
    if (!(node instanceof HTMLElement) || !painting || node === box) return;
    box = node;
    canvas = painting;
    on(canvas, "pointerdown", (event) => {
      held = false;
      lift();
      if (event.pointerType !== "touch") return;
      finger = setTimeout(() => {
        held = true;
        hover(under(event));
      }, HOLD_MS);
    });
    on(canvas, "contextmenu", (event) => held && event.preventDefault());
    on(canvas, "pointermove", (event) => {
      if (event.pointerType !== "touch" || held) hover(under(event));
    });
    on(canvas, "pointerleave", () => {
      lift();
      hover(undefined);
    });
    on(canvas, "click", (event) => {
      const cell = under(event);
      if (!cell || held) return;
      update({ focused: cell });
      actions.choose(cell, adds(event));
    });
    on(box, "pointerdown", () => update({ byKeyboard: false }));
    on(box, "focus", () => {
      const byKeyboard = node.matches(":focus-visible");
      const focused = (byKeyboard && actions.selected().at(-1)) || cursor.focused;
      update({ byKeyboard, focused });
      const layout = actions.layout();
      if (byKeyboard && layout) reveal(layout, focused);
    });
    on(box, "blur", () => update({ byKeyboard: false }));
  }

  const reveal = (layout: GridLayout, cell: Cell) => {
    if (!box) return;
    const [x, y] = corner(layout, cell);
    const [across, down] = pitches(layout);
    box.scrollLeft = Math.max(
      Math.min(box.scrollLeft, x - layout.x0),
      x + across - box.clientWidth,
    );
    box.scrollTop = Math.max(Math.min(box.scrollTop, y - layout.y0), y + down - box.clientHeight);
  };
  const key = (event: KeyboardEvent): boolean => {
    const layout = actions.layout();
    if (!layout || event.target !== box || event.altKey) return false;
    const ends = event.ctrlKey || event.metaKey;
    const target = moved(event.key, ends, cursor.focused, layout.rows, layout.cols);
    if (target) reveal(layout, target);
    else if (event.key === "Enter" || event.key === " ")
      actions.choose(cursor.focused, adds(event));
    else if (event.key !== "Escape" || !actions.undo?.()) return false;
    update({ hovered: undefined, focused: target ?? cursor.focused, byKeyboard: true });
    return true;
  };
  /** The cell under the pointer, or of the keyboard while that is in use. */
  const pointed = (): Cell | undefined =>
    cursor.hovered ?? (cursor.byKeyboard ? cursor.focused : undefined);

  /** The box round the canvas, with the cell that the keyboard is on. */
  function view(of: CellBox) {
    const layout = actions.layout();
    if (layout) cursor.focused = inside(cursor.focused, layout.rows, layout.cols);
    const cell = cursor.focused;
    const id = idOf(cell.join("-"));
    const isSelected =
      of.isSelected?.(cell) ?? actions.selected().some((other) => sameCell(other, cell));
    return html`<div class=${`attnw-drawn ${of.classes}`} role="grid" tabindex="0"
      ?hidden=${!layout} aria-label=${of.label ?? nothing} aria-multiselectable="true"
      aria-busy=${of.isBusy ?? nothing} aria-rowcount=${layout?.rows ?? nothing}
      aria-colcount=${layout?.cols ?? nothing} aria-activedescendant=${layout ? id : nothing}
      .style=${of.tallest ? `max-height: ${of.tallest}px` : ""} @scroll=${of.scrolled}
      ${ref(attach)}>
      <canvas class=${of.canvas} aria-hidden="true"
        data-layout=${layout ? JSON.stringify(layout) : nothing}
        @pointermove=${of.on?.pointermove} @pointerleave=${of.on?.pointerleave}
        @click=${of.on?.click} @dblclick=${of.on?.dblclick}></canvas>
      ${layout && gridCell(id, cell, isSelected, of.nameOf(cell, isSelected))}
    </div>`;
  }

  return { cursor, pointed, key, under, reveal, view, box: () => box, canvas: () => canvas };
}

/**
 * The one descendant of a grid that assistive technology sees: it stands for the cell of the canvas
 * that the keyboard is on. The grid names `id` as its active descendant.
 */
function gridCell(id: string, [row, column]: Cell, isSelected: boolean, name: string) {
  // A fresh element with its own id: screen readers only speak when the active descendant changes.
  const node = html`<div id=${id} role="gridcell" aria-colindex=${column + 1}
    aria-selected=${isSelected} aria-label=${name}></div>`;
  return html`<div role="row" class="attnw-unseen" aria-rowindex=${row + 1}
    >${keyed(id, node)}</div>`;
}
