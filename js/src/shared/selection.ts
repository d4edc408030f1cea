import { clamp } from "./clamp.js";
import type { HeadsState } from "./head_types.js";
import { type Head, type Model, type StackInfo, sameHead } from "./types.js";

/** Return the head that a view of one head shows, which is the last selected head. */
export function shownHead(model: Model<HeadsState>): Head | undefined {
  return model.get("selected").at(-1);
}

/** Select heads and set the layer to that of the last head, in one message. */
export function selectHeads(model: Model<HeadsState>, heads: Head[]): void {
  const last = heads.at(-1);
  model.set("selected", heads);
  if (last) model.set("layer", last[0]);
  model.save_changes();
}

/** Fields of a stack that stepping between layers needs. */
export type Layers = Pick<StackInfo, "n_layers" | "layers_without_attention">;

/**
 * Return the layer after a step from `from` to `target`: the next layer with attention in this
 * direction, or the last one before the end.
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

/**
 * Step to a layer and select the same head in that layer, or the head that `headIn` returns for the
 * layer.
 */
export function stepTo(
  model: Model<HeadsState>,
  layer: number,
  layers: Layers | undefined,
  headIn?: (layer: number) => Head | undefined,
): void {
  const last = shownHead(model);
  const target = reachedLayer(layers, last?.[0] ?? model.get("layer"), layer);
  model.set("layer", target);
  if (last && last[0] !== target)
    model.set("selected", [headIn?.(target) ?? [target, last[1], last[2]]]);
  model.save_changes();
}

/**
 * Return the selection after a click on a head: only this head, or the old selection with the head
 * added or removed.
 */
export function chosenHeads(before: Head[], head: Head, add: boolean): Head[] {
  const others = before.filter((other) => !sameHead(other, head));
  if (!add) return [head];
  return others.length < before.length ? others : [...before, head];
}

/** Return the announcement after the selection changed. */
export function announcement(selected: Head[]): string {
  const last = selected.at(-1);
  if (!last) return "no head selected";
  const where = last[2] === "self" ? "" : `${last[2]} `;
  const count = selected.length > 1 ? `, ${selected.length} heads selected` : " selected";
  return `${where}layer ${last[0]} head ${last[1]}${count}`;
}

const HISTORY = 100;

/**
 * Return the disabled heads after switching `heads`: on again if all of them are off, otherwise
 * off.
 */
export function switchedOff(before: Head[], heads: Head[]): Head[] {
  const among = (some: Head[], head: Head) => some.some((other) => sameHead(other, head));
  const others = before.filter((head) => !among(heads, head));
  const isOff = heads.every((head) => among(before, head));
  return isOff ? others : [...others, ...heads];
}

/**
 * Keep a history of choices that Escape undoes one by one, including choices made by the kernel or
 * a linked figure.
 */
export function undoable<T>(now: () => T, apply: (choice: T) => void) {
  const history: T[] = [];
  let last = now();
  const isLast = (choice: T) => JSON.stringify(choice) === JSON.stringify(last);

  /**
   * Record a choice made elsewhere; called at every update of the figure. A `refused` choice is
   * removed from the history.
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
    /** Undo the last choice; returns false if there is none. */
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
