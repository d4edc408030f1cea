import { levelOf, type Tables } from "../../shared/color_levels.js";
import type { Raster } from "../../shared/pen.js";
import type { Theme } from "../../shared/theme.js";
import type { Scale } from "../../shared/types.js";
import type { MapPart } from "../../shared/window.js";
import { LEVELS } from "../several/head_colors.js";
import type { Cells } from "../source/map_source.js";

/** Positions whose rows or columns are drawn in the second color. */
interface Lit {
  query: Set<number>;
  key: Set<number>;
}

/** Options for the colors of cells. */
interface Coloring {
  theme: Theme;
  scale: Scale;
  maximum: number;
  signed: boolean;
  tables: Tables;
  /** Colors of overlaid heads. */
  colors: string[];
  lit: Lit;
}

/**
 * Return cells as `across` x `down` pixels. If cells share a pixel, the strongest is shown. Masked
 * pixels stay transparent.
 */
export function cellPixels(
  { q0, k0, step, rows, cols, values, strongest: heads }: Cells,
  across: number,
  down: number,
  toLevel: (weight: number) => number,
  tables: Tables,
  lit: Lit,
): Uint32Array {
  const some = lit.query.size + lit.key.size > 0;
  const strongest = new Float32Array(across * down).fill(-1);
  const pixels = new Uint32Array(across * down);
  const column = Int32Array.from({ length: cols }, (_, c) => Math.floor((c * across) / cols));
  const marked = (of: Set<number>, from: number, count: number) => {
    const marks = new Uint8Array(count);
    for (const position of of) {
      const at = Math.floor((position - from) / step);
      if (at >= 0 && at < count) marks[at] = 1;
    }
    return marks;
  };
  const litRow = marked(lit.query, q0, rows);
  const litColumn = marked(lit.key, k0, cols);
  for (let r = 0; r < rows; r++) {
    const start = Math.floor((r * down) / rows) * across;
    for (let c = 0; c < cols; c++) {
      const i = r * cols + c;
      const weight = values[i] ?? Number.NaN;
      const at = start + (column[c] ?? 0);
      const size = Math.abs(weight);
      if (!(size > (strongest[at] ?? 0))) continue;
      strongest[at] = size;
      const isLit = litRow[r] || litColumn[c];
      const table = isLit ? tables.second : some ? tables.faded : tables.first;
      pixels[at] = table[LEVELS * (heads?.[i] ?? 0) + toLevel(weight)] ?? 0;
    }
  }
  return pixels;
}

/** Images of cells, and of the separate column of the first key. */
export interface Pixels {
  cells: Raster;
  first: Raster | undefined;
}

const made = new WeakMap<Float32Array, { key: unknown[]; pixels: Pixels }>();

/**
 * Return cells as screen pixels, at most one per cell. The image is cached for each look, so that
 * moving cells only means drawing the same image elsewhere. `of` holds all the cells from which
 * `cells` is cut.
 */
export function pixelsOf(
  of: Cells,
  region: MapPart,
  cells: () => Cells,
  [across, down]: [across: number, down: number],
  { theme, scale, maximum, signed, tables, colors, lit }: Coloring,
  drawn = made,
): Pixels {
  const looks = [theme, scale, maximum, colors.join(), [...lit.query].join(), [...lit.key].join()];
  const key = [...looks, across, down, ...region];
  const known = drawn.get(of.values);
  if (known && key.every((value, i) => value === known.key[i])) return known.pixels;
  const part = cells();
  const toLevel = levelOf(scale, maximum, signed);
  const raster = (some: Cells, wide: number): Raster => ({
    across: wide,
    down,
    words: cellPixels(some, wide, down, toLevel, tables, lit),
  });
  const { first, firstStrongest: strongest } = part;
  const pixels = {
    cells: raster(part, across),
    first: first && raster({ ...part, k0: 0, cols: 1, values: first, strongest }, 1),
  };
  drawn.set(of.values, { key, pixels });
  return pixels;
}
