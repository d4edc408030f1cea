import type { Scene } from "../scene.js";
import { maskOf, sourceOf } from "../source/source_of.js";
import type { VisibleMap } from "../source/visible_map.js";
import { tokenName } from "./token_name.js";

/** Return the notes on parts of a long input's map that are left out or drawn separately. */
export function tiledNotes(scene: Scene): string[] {
  const { map, axes, state, print } = scene;
  if (sourceOf(map).isComplete || state.mode === "places") return [];
  const { overview } = sourceOf(map);
  const matrix = state.mode === "matrix";
  const first = tokenName(axes.key, map.cols[0] ?? 0);
  const most = overview.first?.reduce((top, value) => Math.max(top, value || 0), 0);
  const leftOut = [overview.first ? `to ${first}` : "", "from the first 16 tokens"];
  if (axes.stack !== "cross") leftOut.push("of a token to itself");
  const named = leftOut.filter(Boolean);
  const list = `${named.slice(0, -1).join(", ")}${named.length > 1 ? " and " : ""}${named.at(-1)}`;
  return [
    matrix && most !== undefined ? `${first} in a column of its own, at most ${print(most)}` : "",
    matrix ? maskOf(map) : "",
    `${matrix ? "listed" : "drawn"} links: without links ${list}`,
  ].filter(Boolean);
}

/**
 * Return the length of a long input, for example "long input, 4,096 tokens"; "" for a complete map.
 */
export function lengthOf(map: VisibleMap, unit: string): string {
  if (sourceOf(map).isComplete) return "";
  const { rows, cols } = map;
  const [n, m] = [rows.length, cols.length].map((count) => count.toLocaleString("en"));
  return `long input, ${n === m ? n : `${n} × ${m}`} ${unit}`;
}
