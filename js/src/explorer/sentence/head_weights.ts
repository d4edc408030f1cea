import type { GridState } from "../../head_grid/state.js";
import { completeTile, mapsTogether, ownMap } from "../../head_view/source/complete_maps.js";
import type { ViewState } from "../../head_view/state.js";
import type { Peeked } from "../../shared/peek.js";
import { type Axes, type Axis, type Head, sameHead } from "../../shared/types.js";
import { asFloat32 } from "../../shared/wire.js";

/** Weights of one head, as far as the page has them. */
export interface HeadWeights {
  head: Head;
  axes: Axes;
  /**
   * Return the weights from a query to all keys, NaN if masked; undefined if the page has no such
   * row.
   */
  row(query: number): Float32Array | undefined;
  /** Whether the page has all rows. */
  isWhole: boolean;
  /** Return whether the row of a query includes the weights of hidden keys. */
  hasHidden(query: number): boolean;
}

/** States of the figures from which the weights are read. */
export interface Sources {
  grid: GridState | undefined;
  view: ViewState;
  peeked: Peeked | null;
}

const kept = (axis: Axis, hidden: readonly string[]): number[] =>
  [...axis.special.keys()].filter((i) => !hidden.includes(axis.special[i] ?? ""));

/** Return the row of a locked query, which the grid has for every head. */
function rowOfGrid({ grid, view }: Sources, head: Head) {
  const rows = grid?._rows;
  if (rows?.side !== "query" || rows.stack !== head[2]) return undefined;
  if (rows.unit !== view.unit || rows.quantity !== view.quantity) return undefined;
  const [layers = 0, heads = 0, keys = 0] = rows.values.shape;
  if (head[0] >= layers || head[1] >= heads || keys !== view._axes.key.text.length)
    return undefined;
  const at = head[0] * heads + head[1];
  return { query: rows.of, values: asFloat32(rows.values).subarray(at * keys, (at + 1) * keys) };
}

/**
 * Return a map that shows which keys a query sees, because a thumbnail does not. Any head of the
 * stack has the same mask.
 */
function maskOf({ view }: Sources): Float32Array | undefined {
  const tile = completeTile(view);
  return tile?.stack === view._axes.stack ? asFloat32(tile.values) : undefined;
}

/** Return the weights of a thumbnail with one cell per token; undefined for other thumbnails. */
function bytesOf(sources: Sources, peeked: Peeked) {
  const { query, key } = sources.view._axes;
  const rows = kept(query, peeked.hidden);
  const cols = kept(key, peeked.hidden);
  if (rows.length !== peeked.rows || cols.length !== peeked.cols) return undefined;
  const mask = maskOf(sources);
  return (at: number): Float32Array | undefined => {
    const line = rows.indexOf(at);
    if (line < 0) return undefined;
    const row = new Float32Array(key.text.length);
    for (const [i, col] of cols.entries()) {
      const byte = peeked.values[line * cols.length + i] ?? 0;
      row[col] = peeked.maximum * (byte / 255) ** 2;
    }
    if (mask)
      for (let i = 0; i < row.length; i++)
        if (Number.isNaN(mask[at * row.length + i])) row[i] = Number.NaN;
    return row;
  };
}

/**
 * Return the weights of a head between the tokens or words of the view's axes. They come from the
 * view's map, from the rows of the grid, or from the thumbnail under the pointer.
 */
export function weightsOf(sources: Sources, head: Head): HeadWeights | undefined {
  const { view, peeked } = sources;
  const axes = view._axes;
  if (!axes?.query || axes.stack !== head[2] || axes.unit !== view.unit) return undefined;
  const own = ownMap(view, head);
  const values = own ?? mapsTogether(view, [head])?.[0];
  const n = axes.key.text.length;
  // Maps other than the view's own may be rounded, so prefer exact rows of the grid.
  const exact = own ? undefined : rowOfGrid(sources, head);
  const painted = peeked?.row;
  const isPeeked = peeked && sameHead(peeked.head, head) && peeked.unit === view.unit;
  const rough = isPeeked ? bytesOf(sources, peeked) : undefined;
  return {
    head,
    axes,
    row: (query) =>
      exact?.query === query
        ? exact.values
        : values
          ? values.subarray(query * n, (query + 1) * n)
          : isPeeked && painted?.side === "query" && painted.of === query
            ? painted.values
            : rough?.(query),
    isWhole: Boolean(values ?? rough),
    hasHidden: (query) => Boolean(values) || exact?.query === query,
  };
}
