import type { Positions, Scene } from "../scene.js";
import { OF_BOTH } from "../several/two_maps.js";
import { sourceOf } from "../source/source_of.js";
import { isPair, type Target } from "../source/target.js";
import type { VisibleMap } from "../source/visible_map.js";

/**
 * End of a scale, and a description of what has this value; "" if the scale is the same everywhere.
 */
export interface LineRange {
  maximum: number;
  of: string;
}

/** Return the tokens with highlighted lines: the locked tokens and the token under the pointer. */
export function focusOf({ active, locked }: Scene): Positions | undefined {
  const token = isPair(active) ? {} : active;
  const focus = { query: new Set(locked.query), key: new Set(locked.key) };
  if (token.query !== undefined) focus.query.add(token.query);
  if (token.key !== undefined) focus.key.add(token.key);
  return focus.query.size + focus.key.size > 0 ? focus : undefined;
}

/**
 * Return the end of the scale of the drawn lines. On a relative scale, the lines of highlighted
 * tokens are scaled to the strongest of them: on the scale of the whole head they could all be
 * thin.
 */
export function linesRange(scene: Scene): LineRange {
  const map = scene.reach ?? scene.map.most ?? scene.map;
  const focus = scene.state.mode === "lines" ? focusOf(scene) : undefined;
  const isAbsolute = scene.state.scale === "absolute";
  if (isAbsolute && scene.state.quantity === "weights") return { maximum: map.maximum, of: "" };
  const all = {
    maximum: map.maximum,
    of: scene.several?.names ? OF_BOTH : scene.several ? "all heads" : "this head",
  };
  if (map.maximumOfAll !== undefined) all.of = "in sight";
  all.of += apartNote(map);
  if (!focus || isAbsolute) return all;
  const source = sourceOf(map);
  const largest = (of: Target) => Math.abs(source.strongest(of, 1)[0]?.weight ?? 0);
  const ofQueries = [...focus.query].map((query) => largest({ query }));
  const ofKeys = [...focus.key].map((key) => largest({ key }));
  const most = Math.max(0, ...ofQueries, ...ofKeys);
  // The weights of these tokens may be unknown in a long input.
  if (most === 0 && !source.isComplete) return all;
  return {
    maximum: most,
    of: focus.query.size + focus.key.size > 1 ? "these tokens" : "this token",
  };
}

/** Return the note on what the blocks of a long input leave out. */
const apartNote = (map: VisibleMap) =>
  sourceOf(map).overview.first ? " but for the first key" : "";
