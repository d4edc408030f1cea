import type { Side } from "../../shared/types.js";
import type { Scene } from "../scene.js";
import { sumOf } from "../source/map_lines.js";
import { sourceOf } from "../source/source_of.js";
import { largestValues } from "../source/tiled_map.js";
import type { VisibleMap } from "../source/visible_map.js";
import { positionOf } from "../source/window_of.js";

/** Painted values: the row of a query, the column of a key, or the mean row. */
export interface ShownRow {
  /**
   * Side of the selected token. "query": where a query attends; "key": which queries attend to a
   * key.
   */
  side: Side;
  /** Position of the selected token; undefined for the mean over all queries. */
  of: number | undefined;
  /** Side whose tokens are painted. */
  painted: Side;
  /** Value of each visible token of the painted side; NaN if masked. */
  values: Float32Array;
  /** For overlaid heads, the number of the head with the largest value, per token. */
  strongest?: Uint8Array;
  /** Value of each token under even attention; undefined for differences. */
  even: Float32Array | undefined;
}

export const otherSide = (side: Side): Side => (side === "query" ? "key" : "query");

/**
 * Return whether a row or a column is painted. A locked query takes precedence over a locked key.
 */
export function directionOf({ state }: Pick<Scene, "state">): Side {
  const sides = state.tokens.map(([side]) => side);
  return sides.includes("key") && !sides.includes("query") ? "key" : "query";
}

/** Return the token whose row or column is painted. */
export function chosenOf(scene: Scene): Pick<ShownRow, "side" | "of"> {
  const { map, active, locked, places } = scene;
  const side = directionOf(scene);
  const row = sourceOf(map.members?.[0] ?? map).chosen;
  // For a long input, only the row that the kernel has sent is known.
  if (row) return row;
  const pointed = active[otherSide(side)] === undefined ? active[side] : undefined;
  const of = pointed ?? [...locked[side]].at(-1);
  if (of !== undefined || side === "key" || (places?.start ?? null) === null) return { side, of };
  const start = positionOf(map.rows, places?.start ?? -1);
  return { side, of: start < 0 ? undefined : start };
}

/** Return the painted token under the pointer. */
export function pointedOf(scene: Scene): number | undefined {
  const { side } = chosenOf(scene);
  const painted = scene.active[otherSide(side)];
  if (painted !== undefined) return painted;
  // Pointing sends no request to the kernel, so the painted row of a long input stays.
  return !sourceOf(scene.map).isComplete && scene.places?.isOneText
    ? scene.active[side]
    : undefined;
}

/** Return the painted row or column of a map; for overlaid heads, the largest values. */
export function shownRow(scene: Scene, map: VisibleMap = scene.map): ShownRow {
  const isOverlay = scene.several?.arrangement === "overlay";
  if (!isOverlay || !map.members) return rowIn(scene, map);
  const rows = map.members.map((member) => rowIn(scene, member));
  const { values, strongest } = largestValues(rows.map((row) => row.values));
  return { ...rowIn(scene, map), ...rows[0], values, strongest };
}

function rowIn(scene: Scene, map: VisibleMap): ShownRow {
  const { side, of } = chosenOf(scene);
  const painted = otherSide(side);
  const { rows, cols } = map;
  const row = (values: Float32Array, even: Float32Array | undefined): ShownRow => ({
    side,
    of,
    painted,
    values,
    even: map.signed ? undefined : even,
  });
  const isWeights = scene.state.quantity === "weights";
  const evenly = (values: Float32Array) => {
    const count = values.reduce((n, value) => n + Number(!Number.isNaN(value)), 0);
    const whole = isWeights ? 1 : sumOf(values);
    return new Float32Array(values.length).fill(whole / Math.max(1, count));
  };
  const known = sourceOf(map).line(side, of, isWeights);
  const count = (painted === "key" ? cols : rows).length;
  const values = known?.values ?? new Float32Array(count).fill(map.off ? 0 : Number.NaN);
  return row(values, side === "query" ? evenly(values) : known?.even);
}
