import { clamp } from "../shared/clamp.js";
import type { Side } from "../shared/types.js";
import type { Target } from "./source/target.js";
import type { VisibleMap } from "./source/visible_map.js";
import type { ViewState } from "./state.js";

type Marks = ViewState["tokens"];

const STEPS: Record<string, number> = { ArrowUp: -1, ArrowDown: 1 };

/**
 * Return the target after moving the cursor by a key; undefined for other keys. The cursor is a
 * token in the lines mode and a cell in a matrix.
 */
export function moved(
  key: string,
  at: Target,
  mode: ViewState["mode"],
  rows: number,
  cols: number,
): Target | undefined {
  const inside = (index: number, count: number) => clamp(index, 0, count - 1);
  const vertical = (index: number | undefined, count: number) => {
    if (key === "Home") return 0;
    if (key === "End") return count - 1;
    // The first key press only shows the cursor.
    return inside(index === undefined ? 0 : index + (STEPS[key] ?? 0), count);
  };
  const sideways = key === "ArrowLeft" || key === "ArrowRight";
  if (!sideways && !(key in STEPS) && key !== "Home" && key !== "End") return undefined;
  if (mode === "matrix") {
    const { query, key: col } = at;
    const step = key === "ArrowLeft" ? -1 : 1;
    if (!sideways) return { query: vertical(query, rows), key: inside(col ?? 0, cols) };
    return {
      query: inside(query ?? 0, rows),
      key: inside(col === undefined ? 0 : col + step, cols),
    };
  }
  const index = at.query ?? at.key;
  if (key === "ArrowLeft") return { query: inside(index ?? 0, rows) };
  if (key === "ArrowRight") return { key: inside(index ?? 0, cols) };
  return at.query === undefined && at.key !== undefined
    ? { key: vertical(at.key, cols) }
    : { query: vertical(at.query, rows) };
}

/** Return the cursor's token or cell as the `tokens` trait stores it, on the complete axes. */
export function marksOf(map: VisibleMap, { query, key }: Target): Marks {
  const marks: Marks = [];
  const add = (side: Side, index: number | undefined) =>
    index !== undefined && marks.push([side, index]);
  if (query !== undefined) add("query", map.rows[query]);
  if (key !== undefined) add("key", map.cols[key]);
  return marks;
}

/** Lock tokens, or unlock them if all of them are locked. `add` keeps the other locks. */
export function toggled(locked: Marks, marks: Marks, add: boolean): Marks {
  const same = (a: Marks[number]) => (b: Marks[number]) => a[0] === b[0] && a[1] === b[1];
  const others = locked.filter((mark) => !marks.some(same(mark)));
  if (marks.every((mark) => locked.some(same(mark)))) return others;
  return add ? [...others, ...marks] : marks;
}

export const KEYS = [
  ["↑ ↓", "move between tokens; Home and End to the first and last"],
  ["← →", "lines: query or key side; matrix and places: move between columns"],
  ["Enter or Space, click", "lock the token or cell, again to unlock it"],
  ["Shift + Enter, Shift + click", "lock it beside the others"],
  ["Escape", "undo the last lock"],
  ["m", "lines, matrix, or places on a picture"],
  ["x", "places: where a token looks, or who looks at it"],
  ["p", "places on a sound: play the chosen token, or the strongest"],
  ["s", "one head, heads side by side, or one over another"],
  ["a", "of several heads: all of the layer, or those selected"],
  ["Shift + Enter, twice click on a head", "only this head"],
  ["+ −, Ctrl or ⌘ + wheel, pinch", "zoom a matrix, and lines of a long input"],
  ["drag, Shift + arrows", "move what is in sight; Shift + drag zooms to a part"],
  ["0, double click", "show all of it"],
  ["f", "find a token of a long input"],
  ["[ and ]", "step to the layer before / after"],
  ["?", "show or hide this list"],
] as const;
