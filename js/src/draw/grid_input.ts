import { type Cell, cellAt, corner, type GridLayout, moved, sameCell } from "./grid_layout.js";

export interface GridActions {
  layout(): GridLayout;
  /** Cells selected now, the one shown last. */
  selected(): Cell[];
  redraw(): void;
  choose(cell: Cell, add: boolean): void;
  /** False where nothing is left to undo. */
  undo(): boolean;
  /** Step by one layer up or down. */
  stepBy(layers: number): void;
  toggleKeys(): void;
}

/** Where the pointer and the keyboard are on the grid. */
export interface Place {
  hovered: Cell | undefined;
  /** The roving cell of the keyboard. */
  focused: Cell;
  /** Whether the roving cell is to be shown: the keyboard is in use. */
  byKeyboard: boolean;
}

/** Mouse and keyboard of the grid: changes the returned place and calls the actions. */
export function gridInput(
  root: HTMLElement,
  box: HTMLElement,
  canvas: HTMLCanvasElement,
  signal: AbortSignal,
  actions: GridActions,
): Place {
  const place: Place = { hovered: undefined, focused: [0, 0], byKeyboard: false };
  const on = <K extends keyof HTMLElementEventMap>(
    target: HTMLElement,
    type: K,
    listener: (event: HTMLElementEventMap[K]) => void,
  ) => target.addEventListener(type, listener, { signal });
  const update = (change: Partial<Place>) => {
    Object.assign(place, change);
    actions.redraw();
  };
  const hover = (cell: Cell | undefined) => {
    if (!sameCell(place.hovered, cell)) update({ hovered: cell });
  };
  const under = (event: MouseEvent) => {
    const { left, top } = canvas.getBoundingClientRect();
    // Scrolled cells pass under the row labels.
    if (event.clientX < box.getBoundingClientRect().left + actions.layout().x0) return undefined;
    return cellAt(actions.layout(), event.clientX - left, event.clientY - top);
  };

  on(canvas, "pointermove", (event) => hover(under(event)));
  on(canvas, "pointerleave", () => hover(undefined));
  on(canvas, "click", (event) => {
    const cell = under(event);
    if (!cell) return;
    update({ focused: cell });
    actions.choose(cell, event.shiftKey || event.ctrlKey || event.metaKey);
  });
  on(canvas, "dblclick", (event) => {
    const cell = under(event);
    if (cell) actions.choose(cell, false);
  });
  on(box, "pointerdown", () => update({ byKeyboard: false }));
  on(box, "focus", () => {
    const byKeyboard = box.matches(":focus-visible");
    const focused = (byKeyboard && actions.selected().at(-1)) || place.focused;
    update({ byKeyboard, focused });
  });
  on(box, "blur", () => update({ byKeyboard: false }));
  on(box, "scroll", () => actions.redraw());

  const scrollTo = (cell: Cell) => {
    const layout = actions.layout();
    const x = corner(layout, cell)[0];
    const right = x + layout.cell + layout.gap - box.clientWidth;
    box.scrollLeft = Math.max(Math.min(box.scrollLeft, x - layout.x0), right);
  };
  const gridKey = (event: KeyboardEvent): boolean => {
    const { rows, cols } = actions.layout();
    const control = event.ctrlKey || event.metaKey;
    const target = moved(event.key, control, place.focused, rows, cols);
    if (target) scrollTo(target);
    else if (event.key === "Enter" || event.key === " ")
      actions.choose(place.focused, event.shiftKey || control);
    else if (event.key !== "Escape" || !actions.undo()) return false;
    update({ hovered: undefined, focused: target ?? place.focused, byKeyboard: true });
    return true;
  };
  on(root, "keydown", (event) => {
    if (event.defaultPrevented) return;
    // Brackets may need Alt or AltGr (reported as Ctrl + Alt); with Ctrl or Cmd alone they are the browser's.
    const chord = event.metaKey || (event.ctrlKey && !event.altKey);
    if (event.key === "?" && !chord) actions.toggleKeys();
    else if (event.key === "[" && !chord) actions.stepBy(-1);
    else if (event.key === "]" && !chord) actions.stepBy(1);
    else if (event.target !== box || event.altKey || !gridKey(event)) return;
    event.preventDefault();
  });
  return place;
}
