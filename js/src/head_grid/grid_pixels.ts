import type { Cell, GridLayout } from "../shared/cells.js";
import { clamp } from "../shared/clamp.js";
import { endOfScale, NO_CHANGE, transfer } from "../shared/color.js";
import type { Raster } from "../shared/pen.js";
import type { Scale } from "../shared/types.js";
import { asFloat32, asInt32, asUint8 } from "../shared/wire.js";
import { headIn, type Order } from "./head_order.js";
import { drawRow, type PaintedRows } from "./painted_rows.js";
import type { Edited, Thumbnails, WireRow } from "./state.js";

/** Decoded thumbnails of one stack: rows x cols heads with height x width cells. */
export interface SmallMaps
  extends Pick<Thumbnails, "stack" | "quantity" | "unit" | "hidden">,
    Omit<Edited, "changes"> {
  rows: number;
  cols: number;
  height: number;
  width: number;
  values: Uint8Array;
  maxima: Float32Array;
  strongest: Int32Array;
  /** Largest absolute value of all heads. */
  maximum: number;
  changes: Float32Array | null;
  row: WireRow | null;
}

export function decode(thumbnails: Thumbnails): SmallMaps {
  const [rows = 0, cols = 0, height = 0, width = 0] = thumbnails.values.shape;
  const maxima = asFloat32(thumbnails.maxima);
  return {
    disabled: [],
    method: null,
    versus: null,
    comparison_part: "difference",
    signed: false,
    times_keys: false,
    common: null,
    row: null,
    ...thumbnails,
    changes: thumbnails.changes ? asFloat32(thumbnails.changes) : null,
    rows,
    cols,
    height,
    width,
    maxima,
    values: asUint8(thumbnails.values),
    strongest: asInt32(thumbnails.strongest),
    maximum: maxima.reduce((a, b) => Math.max(a, Math.abs(b)), 0),
  };
}

/**
 * Return the first and the last source cell of each of `size` pixels: all cells that a pixel
 * covers, or the nearest cell when enlarging.
 */
export function spans(source: number, size: number): Int32Array {
  const out = new Int32Array(2 * size);
  for (let i = 0; i < size; i++) {
    const nearest = Math.floor(((i + 0.5) * source) / size);
    out[2 * i] = size < source ? Math.floor((i * source) / size) : nearest;
    out[2 * i + 1] = size < source ? Math.ceil(((i + 1) * source) / size) - 1 : nearest;
  }
  return out;
}

/**
 * Return the pixel of each byte round(255 * sqrt(share)), or of each byte of signed differences.
 * `gain` is the head's maximum as a share of the end of the scale.
 */
export function bytePixels(
  table: Uint32Array,
  scale: Scale,
  gain: number,
  signed = false,
): Uint32Array {
  const at = transfer(scale);
  const [zero, steps] = signed ? [NO_CHANGE, 127] : [0, 255];
  return Uint32Array.from({ length: 256 }, (_, byte) => {
    const away = byte - zero;
    const t = clamp(at((away / steps) ** 2 * gain), 0, 1);
    return table[zero + Math.sign(away) * Math.round(steps * t)] ?? 0;
  });
}

/**
 * Return the value at the end of the scale of all heads; null if each head has its own scale.
 * Differences and weights times keys have one scale for all heads, so that noise in a head does not
 * look like a change.
 */
export function gridEnd(scale: Scale, maps: SmallMaps | null): number | null {
  const isOne = scale === "absolute" || maps?.signed || maps?.times_keys;
  if (!isOne) return null;
  const isPlain = !maps?.signed && !maps?.times_keys;
  const largest = maps?.maximum ?? 1;
  return isPlain ? endOfScale(scale, maps?.quantity ?? "weights", largest) : largest;
}

/** Mapping from values to colors. */
export interface Look {
  table: Uint32Array;
  /** Scales of heads with a colored background, by layer * heads + head. */
  papers?: Map<number, Uint32Array>;
  /** Color between the maps. */
  ground?: number;
  /** Color of the hairline around a map. */
  line: number;
  scale: Scale;
  /** Value at the end of the scale of all heads; null if each head has its own scale. */
  end: number | null;
  /** Rows that are painted on pictures, instead of maps. */
  rows?: PaintedRows | undefined;
}

/**
 * Draw one head as `across` x `down` pixels at `offset` of a buffer with rows of `stride` pixels.
 */
export function drawHead(
  pixels: Uint32Array,
  stride: number,
  offset: number,
  [across, down]: readonly [across: number, down: number],
  maps: SmallMaps,
  [row, col]: Cell,
  look: Look,
): void {
  const { height, width, values, signed } = maps;
  const head = row * maps.cols + col;
  if (look.rows) {
    const end = look.end ?? Math.abs(maps.maxima[head] ?? 0);
    const { scale, ground = look.table[0] ?? 0 } = look;
    drawRow(pixels, stride, offset, [across, down], look.rows, head, {
      scale,
      end,
      signed,
      ground,
    });
    return;
  }
  const share = look.end === null ? 1 : Math.abs(maps.maxima[head] ?? 0) / (look.end || 1);
  const colors = bytePixels(look.papers?.get(head) ?? look.table, look.scale, share, signed);
  const zero = signed ? NO_CHANGE : 0;
  const queries = spans(height, down);
  const keys = spans(width, across);
  for (let i = 0; i < down; i++) {
    const to = offset + i * stride;
    const top = queries[2 * i] ?? 0;
    const bottom = queries[2 * i + 1] ?? 0;
    if (i && top === queries[2 * i - 2] && bottom === queries[2 * i - 1]) {
      pixels.copyWithin(to, to - stride, to - stride + across);
      continue;
    }
    for (let j = 0; j < across; j++) {
      const last = keys[2 * j + 1] ?? 0;
      let byte = zero;
      for (let r = top; r <= bottom; r++) {
        const line = (head * height + r) * width;
        for (let c = keys[2 * j] ?? 0; c <= last; c++) {
          const value = values[line + c] ?? zero;
          if (Math.abs(value - zero) > Math.abs(byte - zero)) byte = value;
        }
      }
      pixels[to + j] = colors[byte] ?? 0;
    }
  }
}

/**
 * Return the width in device pixels of the hairline around a map. Without it, adjacent light maps
 * would look like one.
 */
export const hairline = ({ gap, dpr }: GridLayout) => Math.floor((gap * dpr) / 2);

/**
 * Return an image of the maps of all cells, with hairlines and gaps, in device pixels. It starts
 * one hairline before the first cell.
 */
export function compose(layout: GridLayout, maps: SmallMaps, order: Order, look: Look): Raster {
  const edge = hairline(layout);
  const pixels = (length: number) => Math.round(length * layout.dpr);
  const size = [pixels(layout.cell), pixels(layout.tall)] as const;
  const pitch = size[0] + pixels(layout.gap);
  const step = size[1] + pixels(layout.gap) + pixels(layout.band);
  const across = layout.cols * pitch + edge;
  const down = layout.rows * step + edge;
  const words = new Uint32Array(across * down).fill(look.ground ?? look.table[0] ?? 0);
  for (let row = 0; row < layout.rows; row++)
    for (let col = 0; col < layout.cols; col++) {
      const head = headIn(order, [row, col]);
      if (!head) continue;
      const offset = row * step * across + col * pitch;
      for (let y = 0; y < size[1] + 2 * edge; y++) {
        const start = offset + y * across;
        words.fill(look.line, start, start + size[0] + 2 * edge);
      }
      drawHead(words, across, offset + edge * (across + 1), size, maps, head, look);
    }
  return { across, down, words };
}
