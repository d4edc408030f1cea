import type { Scale, Thumbnails } from "../model/types.js";
import { asFloat32, asInt32, asUint8 } from "../model/wire.js";
import { transfer } from "./colour.js";
import type { Cell, GridLayout } from "./grid_layout.js";
import { headIn, type Order } from "./grid_order.js";

/** Decoded thumbnails of one stack: rows x cols heads of height x width cells. */
export interface Picture {
  rows: number;
  cols: number;
  height: number;
  width: number;
  values: Uint8Array;
  maxima: Float32Array;
  strongest: Int32Array;
  quantity: string;
  /** Largest value of all heads. */
  maximum: number;
}

export function decode(thumbnails: Thumbnails): Picture {
  const [rows = 0, cols = 0, height = 0, width = 0] = thumbnails.values.shape;
  const maxima = asFloat32(thumbnails.maxima);
  return {
    ...{ rows, cols, height, width, maxima },
    quantity: thumbnails.quantity,
    values: asUint8(thumbnails.values),
    strongest: asInt32(thumbnails.strongest),
    maximum: maxima.reduce((a, b) => Math.max(a, b), 0),
  };
}

/** First and last source cell behind each of `size` pixels: all that a pixel covers, or the nearest one when enlarging. */
export function spans(source: number, size: number): Int32Array {
  const out = new Int32Array(2 * size);
  for (let i = 0; i < size; i++) {
    const nearest = Math.floor(((i + 0.5) * source) / size);
    out[2 * i] = size < source ? Math.floor((i * source) / size) : nearest;
    out[2 * i + 1] = size < source ? Math.ceil(((i + 1) * source) / size) - 1 : nearest;
  }
  return out;
}

/** The pixel of each byte round(255 sqrt(share)), where `gain` is the head's maximum as a share of the scale's. */
export function bytePixels(table: Uint32Array, scale: Scale, gain: number): Uint32Array {
  const at = transfer(scale);
  return Uint32Array.from({ length: 256 }, (_, byte) => {
    const t = Math.max(0, Math.min(1, at((byte / 255) ** 2 * gain)));
    return table[Math.round(255 * t)] ?? 0;
  });
}

export interface Look {
  table: Uint32Array;
  scale: Scale;
  shared: boolean;
}

/** Draw one head as a `size` x `size` square at `offset` of a pixel buffer with rows of `stride`. */
export function drawHead(
  pixels: Uint32Array,
  stride: number,
  offset: number,
  size: number,
  picture: Picture,
  [row, col]: Cell,
  look: Look,
): void {
  const { height, width, values } = picture;
  const head = row * picture.cols + col;
  const share = (picture.maxima[head] ?? 0) / (picture.maximum || 1);
  const colours = bytePixels(look.table, look.scale, look.shared ? share : 1);
  const down = spans(height, size);
  const across = spans(width, size);
  for (let i = 0; i < size; i++) {
    const to = offset + i * stride;
    const top = down[2 * i] ?? 0;
    const bottom = down[2 * i + 1] ?? 0;
    if (i && top === down[2 * i - 2] && bottom === down[2 * i - 1]) {
      pixels.copyWithin(to, to - stride, to - stride + size);
      continue;
    }
    for (let j = 0; j < size; j++) {
      const last = across[2 * j + 1] ?? 0;
      let byte = 0;
      for (let r = top; r <= bottom; r++) {
        const line = (head * height + r) * width;
        for (let c = across[2 * j] ?? 0; c <= last; c++)
          byte = Math.max(byte, values[line + c] ?? 0);
      }
      pixels[to + j] = colours[byte] ?? 0;
    }
  }
}

/** Width, height and ABGR pixels of all cells with their gaps, in device pixels. */
export function compose(layout: GridLayout, picture: Picture, order: Order, look: Look) {
  const size = Math.round(layout.cell * layout.dpr);
  const across = size + Math.round(layout.gap * layout.dpr);
  const down = across + Math.round(layout.band * layout.dpr);
  const width = layout.cols * across;
  const height = layout.rows * down;
  const pixels = new Uint32Array(width * height).fill(look.table[0] ?? 0);
  for (let row = 0; row < layout.rows; row++)
    for (let col = 0; col < layout.cols; col++) {
      const head = headIn(order, [row, col]);
      const offset = row * down * width + col * across;
      if (head) drawHead(pixels, width, offset, size, picture, head, look);
    }
  return { width, height, pixels };
}

/** Put pixels into a canvas of their size, where the host has 2D canvases. */
export function putPixels(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
  pixels: Uint32Array,
): void {
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  const image = context?.createImageData(width, height);
  if (!context || !image) return;
  new Uint32Array(image.data.buffer).set(pixels);
  context.putImageData(image, 0, 0);
}
