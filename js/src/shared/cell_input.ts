import { type Cell, cellAt, corner, type GridLayout, moved, sameCell } from "./cells.js";
import { listening } from "./dom.js";
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

/**
 * Mouse and keyboard over the cells of a canvas: they change the returned cursor and call the
 * actions; `key` returns whether it took the key. A template hands over the box round the canvas
 * with `ref(attach)`.
 */
export function cellGestures(signal: AbortSignal, actions: CellActions) {
  const cursor: Cursor = { hovered: undefined, focused: [0, 0], byKeyboard: false };
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
    });
    on(box, "blur", () => update({ byKeyboard: false }));
  }

  const reveal = (layout: GridLayout, cell: Cell) => {
    if (!box) return;
    const [x, y] = corner(layout, cell);
    const size = layout.cell + layout.gap;
    box.scrollLeft = Math.max(Math.min(box.scrollLeft, x - layout.x0), x + size - box.clientWidth);
    box.scrollTop = Math.max(
      Math.min(box.scrollTop, y - layout.y0),
      y + size + layout.band - box.clientHeight,
    );
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
  return { cursor, key, under, reveal, attach, box: () => box, canvas: () => canvas };
}
