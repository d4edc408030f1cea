import type { Tables } from "./levels.js";
import type { Positions } from "./scene.js";
import type { VisibleMap } from "./visible_map.js";

/**
 * The map as pixels, `across` x `down`; where cells share a pixel the strongest is shown. Masked pixels stay transparent.
 */
export function matrixPixels(
  map: VisibleMap,
  across: number,
  down: number,
  toLevel: (weight: number) => number,
  tables: Tables,
  highlighted: Positions,
): Uint32Array {
  const [rows, cols] = [map.rows.length, map.cols.length];
  const some = highlighted.query.size + highlighted.key.size > 0;
  const strongest = new Float32Array(across * down).fill(-1);
  const pixels = new Uint32Array(across * down);
  const column = Int32Array.from({ length: cols }, (_, c) => Math.floor((c * across) / cols));
  const litColumn = Uint8Array.from({ length: cols }, (_, c) => Number(highlighted.key.has(c)));
  for (let r = 0; r < rows; r++) {
    const start = Math.floor((r * down) / rows) * across;
    const litRow = highlighted.query.has(r);
    for (let c = 0; c < cols; c++) {
      const weight = map.values[r * cols + c] ?? Number.NaN;
      const at = start + (column[c] ?? 0);
      if (!(weight > (strongest[at] ?? 0))) continue;
      strongest[at] = weight;
      const lit = litRow || litColumn[c];
      const table = lit ? tables.second : some ? tables.faded : tables.first;
      pixels[at] = table[toLevel(weight)] ?? 0;
    }
  }
  return pixels;
}
