import type { Side } from "../../shared/types.js";
import type { Scene } from "../scene.js";
import { sourceOf } from "../source/source_of.js";
import { largestValues } from "../source/tiled_map.js";
import type { VisibleMap } from "../source/visible_map.js";
import { positionOf } from "../source/window_of.js";

/** What is painted: the row of a query, the column of a key, or the mean row. */
export interface ShownRow {
  /** "query": where a query looks; "key": which queries look at a key. */
  side: Side;
  /** The position of the chosen token; undefined for the mean over all queries. */
  of: number | undefined;
  /** The side whose tokens are painted. */
  painted: Side;
  /** A value for each visible token of the painted side; NaN where masked. */
  values: Float32Array;
  /** Of overlaid heads: the number of the head with the largest value, by token. */
  strongest?: Uint8Array;
  /** The value that even attention would have, of each token; undefined for differences. */
  even: Float32Array | undefined;
}

export const otherSide = (side: Side): Side => (side === "query" ? "key" : "query");

/** Whether rows or columns are painted: a locked query comes first, then a locked key. */
export function directionOf({ state }: Pick<Scene, "state">): Side {
  const sides = state.tokens.map(([side]) => side);
  return sides.includes("key") && !sides.includes("query") ? "key" : "query";
}

/** The token whose row or column is painted. */
export function chosenOf(scene: Scene): Pick<ShownRow, "side" | "of"> {
  const { map, active, locked, places } = scene;
  const side = directionOf(scene);
  const row = map.tiles && sourceOf(map.members?.[0] ?? map).chosen;
  // Of a long input, only the row that the kernel has sent is known.
  if (row) return row;
  const pointed = active[otherSide(side)] === undefined ? active[side] : undefined;
  const of = pointed ?? [...locked[side]].at(-1);
  if (of !== undefined || side === "key" || (places?.start ?? null) === null) return { side, of };
  const start = positionOf(map.rows, places?.start ?? -1);
  return { side, of: start < 0 ? undefined : start };
}

/** The painted token under the pointer, beside the chosen token. */
export function pointedOf(scene: Scene): number | undefined {
  const { side } = chosenOf(scene);
  const painted = scene.active[otherSide(side)];
  if (painted !== undefined) return painted;
  // Pointing sends nothing to the kernel, so the painted row of a long input stays.
  return scene.map.tiles && scene.places?.isOneText ? scene.active[side] : undefined;
}

const means = new WeakMap<Float32Array, Float32Array>();

/** The mean over all queries of what each key gets; masked cells count as 0. */
function meanRow({ values, rows, cols }: VisibleMap): Float32Array {
  const known = means.get(values);
  if (known) return known;
  const mean = new Float32Array(cols.length);
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (!Number.isNaN(value)) mean[i % cols.length] = (mean[i % cols.length] ?? 0) + value;
  }
  const shown = mean.map((sum) => sum / Math.max(1, rows.length));
  means.set(values, shown);
  return shown;
}

const seen = new WeakMap<Float32Array, Float32Array>();

/** The number of keys that each query sees. */
function seenKeys({ values, rows, cols }: VisibleMap): Float32Array {
  const known = seen.get(values);
  if (known) return known;
  const counts = new Float32Array(rows.length);
  for (let i = 0; i < values.length; i++)
    if (!Number.isNaN(values[i])) {
      const row = Math.floor(i / cols.length);
      counts[row] = (counts[row] ?? 0) + 1;
    }
  seen.set(values, counts);
  return counts;
}

const sumOf = (values: Float32Array) =>
  values.reduce((sum, value) => sum + (Number.isNaN(value) ? 0 : value), 0);

/** The painted row or column of a map of the scene; of overlaid heads, the largest values. */
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
  if (map.tiles) {
    const known = sourceOf(map).chosen;
    const count = (painted === "key" ? cols : rows).length;
    const values = known?.values ?? new Float32Array(count).fill(map.off ? 0 : Number.NaN);
    return row(values, side === "query" ? evenly(values) : known?.even);
  }
  if (side === "key") {
    const column = new Float32Array(rows.length).fill(Number.NaN);
    if (of !== undefined)
      for (const r of rows.keys()) column[r] = map.values[r * cols.length + of] ?? Number.NaN;
    const counts = seenKeys(map);
    const even = isWeights
      ? counts.map((count) => 1 / Math.max(1, count))
      : new Float32Array(rows.length).fill(sumOf(map.values) / Math.max(1, sumOf(counts)));
    return row(column, even);
  }
  const values =
    of === undefined ? meanRow(map) : map.values.subarray(of * cols.length, (of + 1) * cols.length);
  return row(values, evenly(values));
}
