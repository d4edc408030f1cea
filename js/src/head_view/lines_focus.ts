import type { Positions, Scene } from "./scene.js";
import { isPair, weightAt } from "./targets.js";
import { OF_BOTH } from "./two_maps.js";

/** The range of the colours, and its source. */
export interface Range {
  maximum: number;
  of: string;
}

/** The tokens with highlighted lines: the locked tokens, and the token under the pointer. */
export function focusOf({ active, locked }: Scene): Positions | undefined {
  const token = isPair(active) ? {} : active;
  const focus = { query: new Set(locked.query), key: new Set(locked.key) };
  if (token.query !== undefined) focus.query.add(token.query);
  if (token.key !== undefined) focus.key.add(token.key);
  return focus.query.size + focus.key.size > 0 ? focus : undefined;
}

/**
 * Lines of tokens that stand out are scaled to the strongest of them: among those of the whole head
 * they could all be pale.
 */
export function linesRange(scene: Scene): Range {
  const map = scene.reach ?? scene.map.most ?? scene.map;
  const focus = scene.state.mode === "lines" ? focusOf(scene) : undefined;
  if (!focus)
    return {
      maximum: map.maximum,
      of: scene.several?.names ? OF_BOTH : scene.several ? "all heads" : "this head",
    };
  let most = 0;
  const look = (query: number, key: number) => {
    const size = Math.abs(weightAt(map, query, key));
    if (size > most) most = size;
  };
  for (const query of focus.query) for (let key = 0; key < map.cols.length; key++) look(query, key);
  for (const key of focus.key)
    for (let query = 0; query < map.rows.length; query++) look(query, key);
  return {
    maximum: most,
    of: focus.query.size + focus.key.size > 1 ? "these tokens" : "this token",
  };
}
