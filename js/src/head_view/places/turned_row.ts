import type { Scene } from "../scene.js";
import type { ViewState } from "../state.js";
import { indicesOf } from "./places_layout.js";
import { chosenOf, otherSide, shownRow } from "./shown_row.js";

/** Return the position of the largest value. */
function largest(values: Float32Array): number | undefined {
  let at: number | undefined;
  for (const [i, value] of values.entries())
    if (value > (at === undefined ? 0 : (values[at] ?? 0))) at = i;
  return at;
}

/**
 * Return the lock after switching between "where a token attends" and "which tokens attend to it".
 * A token that is not on the painted axis is replaced by the token with which it has the largest
 * weight.
 */
export function turnedMarks(scene: Scene): ViewState["tokens"] {
  const { side, of } = chosenOf(scene);
  const to = otherSide(side);
  const same = scene.places?.isOneText ? of : undefined;
  const locked = [...scene.locked[to]].at(-1);
  const position = locked ?? scene.active[to] ?? same ?? largest(shownRow(scene).values);
  const index = indicesOf(scene, to)[position ?? -1];
  return index === undefined ? [] : [[to, index]];
}
