import { type Tables, thickness } from "../../shared/color_levels.js";
import type { Raster } from "../../shared/pen.js";
import type { Theme } from "../../shared/theme.js";
import { LEVELS } from "../several/head_colors.js";
import type { Lines } from "./lines_choose.js";
import { alongAt, EASED, type LinesLayout, rowCenter, STRAIGHT } from "./lines_layout.js";

/** Share of a pixel below which coverage is invisible. */
const COVERED = 1 / 512;
/**
 * Width in pixels by which browsers draw lines thinner, because they drop the last part of a
 * covered pixel edge.
 */
const THINNER = { eased: 0.025, straight: 0.0435 };
/** Width of the pale line that browsers draw for a line thinner than a pixel. */
const HAIRLINE = 0.88;
/** Largest number of pieces into which a steep part of a curve is cut per column. */
const MOST_PIECES = 4;

/**
 * Return the area between the columns with all lines as pixels, transparent elsewhere, for viewers
 * that need seconds for thousands of strokes. Lines are painted front to back: most of thousands of
 * lines are covered, and covered pixels need no more work.
 */
export function rasterLines(
  layout: LinesLayout,
  lines: Lines,
  { first, second }: Tables,
  theme: Theme,
  lit: ((query: number, key: number) => boolean) | undefined,
  { curved, density, signed }: { curved: boolean; density: number; signed: boolean },
): Raster {
  const across = Math.round((layout.x1 - layout.x0) * density);
  const down = Math.round(layout.height * density);
  const thinner = THINNER[curved ? "eased" : "straight"];
  const corners = curved ? EASED : STRAIGHT;
  const plain = new Layer(across, down, corners);
  const over = lit && new Layer(across, down, corners);
  for (let i = lines.count - 1; i >= 0; i--) {
    const query = lines.query[i] ?? 0;
    const key = lines.key[i] ?? 0;
    const isLit = lit?.(query, key) ?? false;
    const layer = (isLit && over) || plain;
    layer.color((isLit ? second : first)[lines.level[i] ?? 0] ?? 0);
    const from = rowCenter(layout, "query", query) * density;
    const to = rowCenter(layout, "key", key) * density;
    const width = thickness((lines.level[i] ?? 0) % LEVELS, signed) * density;
    if (width > 1) layer.line(from, to, width - thinner, 1);
    else layer.line(from, to, HAIRLINE, width);
  }
  const ground = [1, 3, 5].map((at) => Number.parseInt(theme.background.slice(at, at + 2), 16));
  const words = new Uint32Array(across * down);
  const bytes = new Uint8ClampedArray(words.buffer);
  const mix = theme.dark ? Math.max : Math.min;
  for (let i = 0; i < words.length; i++) {
    const free = plain.free[i] as number;
    const still = over ? (over.free[i] as number) : 1;
    const clear = free * still;
    if (clear > 1 - COVERED) continue;
    for (let k = 0; k < 3; k++) {
      const below = (plain.light[3 * i + k] as number) + free * (ground[k] as number);
      // A pale line of the second color must not cut through a strong line of the first.
      const above = over && still < 1 ? (over.light[3 * i + k] as number) / (1 - still) : below;
      const final = below + (mix(below, above) - below) * (1 - still);
      bytes[4 * i + k] = (final - clear * (ground[k] as number)) / (1 - clear);
    }
    bytes[4 * i + 3] = Math.round(255 * (1 - clear));
  }
  return { across, down, words };
}

/** Pixels painted front to back: the collected light, and the uncovered share of each pixel. */
class Layer {
  readonly light: Float32Array;
  readonly free: Float32Array;
  /** Vertical share of a line in each column, and its slope within the column. */
  private along: Float64Array;
  private rise: Float64Array;
  private red = 0;
  private green = 0;
  private blue = 0;

  constructor(
    private across: number,
    private down: number,
    corners: typeof EASED,
  ) {
    this.light = new Float32Array(3 * across * down);
    this.free = new Float32Array(across * down).fill(1);
    const at = Float64Array.from({ length: across + 1 }, (_, x) => alongAt(corners, x / across));
    this.along = Float64Array.from({ length: across }, (_, x) =>
      alongAt(corners, (x + 0.5) / across),
    );
    this.rise = Float64Array.from({ length: across }, (_, x) => (at[x + 1] ?? 0) - (at[x] ?? 0));
  }

  color(word: number): void {
    this.red = word & 255;
    this.green = (word >> 8) & 255;
    this.blue = (word >> 16) & 255;
  }

  /** Return the first column in which lines have reached this vertical share. */
  private columnAt(share: number): number {
    let low = 0;
    let high = this.across;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.along[middle] as number) < share) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Add a line over the full width. */
  line(from: number, to: number, width: number, opacity: number): void {
    const { across, down, free, light, red, green, blue, along, rise } = this;
    const way = to - from;
    // Visit only columns where the line is visible. On a steep line, half a step is larger than the
    // width.
    const margin = width + Math.abs(way) / 8;
    const a = this.columnAt((-margin - from) / way);
    const b = this.columnAt((down + margin - from) / way);
    const [first, last] = way === 0 ? [0, across] : [Math.min(a, b), Math.max(a, b)];
    for (let x = first; x < last; x++) {
      const y = from + way * (along[x] as number);
      const slope = way * (rise[x] as number);
      const reach = (width / 2) * Math.sqrt(1 + slope * slope);
      const steep = slope < 0 ? -slope : slope;
      const out = reach + steep / 2;
      let high = y + out;
      if (high > down) high = down;
      const pieces = steep < 1 ? 2 : steep < 2 ? Math.ceil(2 * steep) : MOST_PIECES;
      for (let row = y - out > 0 ? (y - out) | 0 : 0; row < high; row++) {
        const at = row * across + x;
        const left = free[at] as number;
        if (left < COVERED) continue;
        let share = 0;
        for (let k = 0; k < pieces; k++) {
          const middle = y + slope * ((k + 0.5) / pieces - 0.5);
          let bottom = middle + reach;
          if (bottom > row + 1) bottom = row + 1;
          let top = middle - reach;
          if (top < row) top = row;
          if (bottom > top) share += bottom - top;
        }
        const part = (opacity * left * share) / pieces;
        free[at] = left - part;
        const k = 3 * at;
        light[k] = (light[k] as number) + part * red;
        light[k + 1] = (light[k + 1] as number) + part * green;
        light[k + 2] = (light[k + 2] as number) + part * blue;
      }
    }
  }
}
