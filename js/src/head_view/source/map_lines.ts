import type { Side } from "../../shared/types.js";
import type { Cells, MapLine } from "./map_source.js";

const means = new WeakMap<Float32Array, Float32Array>();

/** Return the mean weight of each key over all queries; masked cells count as 0. */
function meanRow({ values, rows, cols }: Cells): Float32Array {
  const known = means.get(values);
  if (known) return known;
  const mean = new Float32Array(cols);
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (!Number.isNaN(value)) mean[i % cols] = (mean[i % cols] ?? 0) + value;
  }
  const shown = mean.map((sum) => sum / Math.max(1, rows));
  means.set(values, shown);
  return shown;
}

const seen = new WeakMap<Float32Array, Float32Array>();

/** Return the number of keys that each query sees. */
function seenKeys({ values, rows, cols }: Cells): Float32Array {
  const known = seen.get(values);
  if (known) return known;
  const counts = new Float32Array(rows);
  for (let i = 0; i < values.length; i++)
    if (!Number.isNaN(values[i])) {
      const row = Math.floor(i / cols);
      counts[row] = (counts[row] ?? 0) + 1;
    }
  seen.set(values, counts);
  return counts;
}

export const sumOf = (values: Float32Array) =>
  values.reduce((sum, value) => sum + (Number.isNaN(value) ? 0 : value), 0);

/** Return a row or a column of a complete map. */
export function lineOf(
  cells: Cells,
  side: Side,
  of: number | undefined,
  isWeights: boolean,
): MapLine {
  const { values, rows, cols } = cells;
  if (side === "query")
    return {
      values: of === undefined ? meanRow(cells) : values.subarray(of * cols, (of + 1) * cols),
      even: undefined,
    };
  const column = new Float32Array(rows).fill(Number.NaN);
  if (of !== undefined)
    for (let r = 0; r < rows; r++) column[r] = values[r * cols + of] ?? Number.NaN;
  const counts = seenKeys(cells);
  const even = isWeights
    ? counts.map((count) => 1 / Math.max(1, count))
    : new Float32Array(rows).fill(sumOf(values) / Math.max(1, sumOf(counts)));
  return { values: column, even };
}
