import { clamp } from "./clamp.js";
import type { HeadsState } from "./head_types.js";
import { type Head, type Model, type StackInfo, sameHead } from "./types.js";

/** The head that a view of one head shows: the last one selected. */
export function shownHead(model: Model<HeadsState>): Head | undefined {
  return model.get("selected").at(-1);
}

/** Select heads and move the stepped row with them, in one message. */
export function selectHeads(model: Model<HeadsState>, heads: Head[]): void {
  const last = heads.at(-1);
  model.set("selected", heads);
  if (last) model.set("layer", last[0]);
  model.save_changes();
}

/** The layers of a stack, as far as stepping asks for them. */
export type Layers = Pick<StackInfo, "n_layers" | "layers_without_attention">;

/**
 * The layer after one step towards another layer: the next layer with attention, or the last layer
 * before the end.
 */
export function reachedLayer(layers: Layers | undefined, from: number, target: number): number {
  const last = (layers?.n_layers ?? 1) - 1;
  const without = new Set(layers?.layers_without_attention);
  const wanted = clamp(target, 0, last);
  const way = target < from ? -1 : 1;
  for (let layer = wanted; layer >= 0 && layer <= last; layer += way)
    if (!without.has(layer)) return layer;
  for (let layer = wanted; layer >= 0 && layer <= last; layer -= way)
    if (!without.has(layer)) return layer;
  return wanted;
}

/** Step to a layer; the selection follows to the same head of that layer. */
export function stepTo(model: Model<HeadsState>, layer: number, layers: Layers | undefined): void {
  const last = shownHead(model);
  const target = reachedLayer(layers, last?.[0] ?? model.get("layer"), layer);
  model.set("layer", target);
  if (last && last[0] !== target) model.set("selected", [[target, last[1], last[2]]]);
  model.save_changes();
}

/**
 * The selection after a click on a head: the head alone, or added to or removed from the selection.
 */
export function chosenHeads(before: Head[], head: Head, add: boolean): Head[] {
  const others = before.filter((other) => !sameHead(other, head));
  if (!add) return [head];
  return others.length < before.length ? others : [...before, head];
}

/** What the live region says after the selection changed. */
export function announcement(selected: Head[]): string {
  const last = selected.at(-1);
  if (!last) return "no head selected";
  const where = last[2] === "self" ? "" : `${last[2]} `;
  const count = selected.length > 1 ? `, ${selected.length} heads selected` : " selected";
  return `${where}layer ${last[0]} head ${last[1]}${count}`;
}

const HISTORY = 100;

/**
 * Heads that are off once `heads` are switched: on again where all of them are off, else off too.
 */
export function switchedOff(before: Head[], heads: Head[]): Head[] {
  const among = (some: Head[], head: Head) => some.some((other) => sameHead(other, head));
  const others = before.filter((head) => !among(heads, head));
  const isOff = heads.every((head) => among(before, head));
  return isOff ? others : [...others, ...heads];
}

/**
 * The choices that Escape undoes one by one: choices made here, and choices of the kernel or a
 * linked figure.
 */
export function undoable<T>(now: () => T, apply: (choice: T) => void) {
  const history: T[] = [];
  let last = now();
  const isLast = (choice: T) => JSON.stringify(choice) === JSON.stringify(last);

  /**
   * Remember what was chosen elsewhere; called whenever the figure is brought up to date. What was
   * `refused` never was.
   */
  function notice(refused = false): void {
    const next = now();
    if (isLast(next)) return;
    if (refused && JSON.stringify(next) === JSON.stringify(history.at(-1))) {
      last = history.pop() as T;
      return;
    }
    history.push(last);
    if (history.length > HISTORY) history.shift();
    last = next;
  }

  return {
    notice,
    choose(next: T): void {
      notice();
      if (isLast(next)) return;
      apply(next);
      notice();
    },
    /** False where nothing is left to take back. */
    undo(): boolean {
      notice();
      const before = history.pop();
      if (before === undefined) return false;
      last = before;
      apply(before);
      return true;
    },
  };
}
