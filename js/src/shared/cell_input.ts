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
  /** Return the layout, or undefined before the first drawing. */
  layout(): GridLayout | undefined;
  /** Return the selected cells; the cell that is shown comes last. */
  selected(): Cell[];
  /** Handle a change of the cursor. */
  moved(): void;
  choose(cell: Cell, add: boolean): void;
  /** Whether the labels stay over the cells when the box is scrolled. */
  fixedLabels?: boolean;
  /** Undo one step on Escape; returns false if there is nothing left to undo. */
  undo?(): boolean;
}

/**
 * Duration in milliseconds after which a touch points at a cell. A shorter touch selects the cell.
 */
const HOLD_MS = 400;

/** Cells under the pointer and under the keyboard cursor. */
interface Cursor {
  hovered: Cell | undefined;
  /** Cell of the keyboard cursor. */
  focused: Cell;
  /** Whether to show the keyboard cursor, because the keyboard is in use. */
  byKeyboard: boolean;
}

/** Header of a row or a column for assistive technology. */
export interface CellHeader {
  role: "rowheader" | "columnheader";
  name: string;
}

/** Attributes and callbacks of the box around the canvas. */
interface CellBox {
  /** CSS classes of the box. */
  classes: string;
  /** Accessible name of the grid; undefined before the first drawing. */
  label: string | undefined;
  /** CSS class of the canvas. */
  canvas: string;
  /** Further event listeners of the canvas. */
  on?: {
    [K in "pointermove" | "pointerleave" | "click" | "dblclick"]?: (
      event: HTMLElementEventMap[K],
    ) => void;
  };
  /** Return the accessible name of a cell. */
  nameOf(cell: Cell, isSelected: boolean): string;
  /** Return the header of a cell's row or column; undefined if only its number is printed. */
  headerOf?(cell: Cell): CellHeader | undefined;
  isSelected?(cell: Cell): boolean;
  isBusy?: boolean;
  /** Largest height of the box in pixels. */
  tallest?: number;
  scrolled?(): void;
}

/**
 * Handle mouse and keyboard over the cells of a canvas: update the returned cursor and call the
 * actions. `key` returns whether it handled the key. `view` is the box around the canvas.
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
  /** Return the cell under the pointer, or the cell of the keyboard cursor while that is in use. */
  const pointed = (): Cell | undefined =>
    cursor.hovered ?? (cursor.byKeyboard ? cursor.focused : undefined);

  /** Return the box around the canvas, with the gridcell of the keyboard cursor. */
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
      ${layout && gridCell(id, cell, isSelected, of.nameOf(cell, isSelected), of.headerOf?.(cell))}
    </div>`;
  }

  return { cursor, pointed, key, under, reveal, view, box: () => box, canvas: () => canvas };
}

/**
 * Return the only gridcell that assistive technology sees, with its header. The gridcell represents
 * the canvas cell under the keyboard cursor, and the grid names its `id` as the active descendant.
 */
function gridCell(
  id: string,
  [row, column]: Cell,
  isSelected: boolean,
  name: string,
  header: CellHeader | undefined,
) {
  // Use a new element with its own id: screen readers speak only when the active descendant
  // changes.
  const node = html`<div id=${id} role="gridcell" aria-colindex=${column + 1}
    aria-selected=${isSelected} aria-label=${name}></div>`;
  const title = header && html`<div role=${header.role}>${header.name}</div>`;
  return html`<div role="row" class="attnw-unseen" aria-rowindex=${row + 1}
    >${title}${keyed(id, node)}</div>`;
}
