import type { Axes, Head, HeadMap, Thumbnails, ViewState } from "../model/types.js";

/** The maps of a stack in one unit: byte 0 is masked, 1..255 the rounded square root of weight / maximum. */
export interface EmbeddedMaps {
  quantity: string;
  axes: Axes;
  shape: [layers: number, heads: number, queries: number, keys: number];
  maxima: number[];
  values: Uint8Array;
  /** The one head that they are of, where the page has no room for all. */
  only?: Head | null;
  /** Positions of highlighted words. */
  highlighted?: ViewState["_highlighted"];
}

const SIDE = 64;
const share = (byte: number) => (byte ? (byte - 1) / 254 : 0);

/** An array as it would cross from a kernel. */
export function wire(array: Uint8Array | Float32Array | Int32Array, shape: number[]) {
  const dtype = array instanceof Uint8Array ? "|u1" : array instanceof Float32Array ? "<f4" : "<i4";
  return {
    shape,
    dtype,
    view: new DataView(array.buffer, array.byteOffset, array.byteLength),
  } as const;
}

/** The values that bytes stand for; NaN where masked. */
export const rounded = (bytes: Uint8Array, maximum: number): Float32Array =>
  Float32Array.from(bytes, (byte) => (byte ? maximum * share(byte) ** 2 : Number.NaN));

/** One head's values; NaN where masked. */
export function headMap(maps: EmbeddedMaps, [layer, head, stack]: Head): HeadMap {
  const [, heads, queries, keys] = maps.shape;
  const index = maps.only ? 0 : layer * heads + head;
  const bytes = maps.values.subarray(index * queries * keys, (index + 1) * queries * keys);
  const values = wire(rounded(bytes, maps.maxima[index] ?? 0), [queries, keys]);
  const { quantity, axes } = maps;
  return { stack, layer, head, quantity, unit: axes.unit, exact: false, values };
}

function kept(special: string[], hidden: string[]): number[] {
  const all = special.map((_, i) => i);
  const rest = all.filter((i) => !hidden.includes(special[i] ?? ""));
  return rest.length ? rest : all;
}

/** Thumbnails of all heads, as the kernel makes them: hidden tokens out, then the maximum under each cell. */
export function thumbnails(maps: EmbeddedMaps, hidden: string[]): Thumbnails {
  const [layers, heads, queries, keys] = maps.shape;
  const rows = kept(maps.axes.query.special, hidden);
  const columns = kept(maps.axes.key.special, hidden);
  const height = Math.min(rows.length, SIDE);
  const width = Math.min(columns.length, SIDE);
  const count = layers * heads;
  const values = new Uint8Array(count * height * width);
  const maxima = new Float32Array(count);
  const strongest = new Int32Array(count * 2);
  for (let h = 0; h < count; h++) {
    let top = 0;
    const pooled = new Uint8Array(height * width);
    rows.forEach((row, i) => {
      const y = Math.floor((i * height) / rows.length);
      columns.forEach((column, j) => {
        const byte = maps.values[(h * queries + row) * keys + column] ?? 0;
        const cell = y * width + Math.floor((j * width) / columns.length);
        if (byte > (pooled[cell] ?? 0)) pooled[cell] = byte;
        if (byte <= top) return;
        top = byte;
        strongest.set([row, column], 2 * h);
      });
    });
    maxima[h] = (maps.maxima[h] ?? 0) * share(top) ** 2;
    const scale = share(top) ? 255 / share(top) : 0;
    values.set(
      pooled.map((byte) => Math.round(share(byte) * scale)),
      h * height * width,
    );
  }
  return {
    stack: maps.axes.stack,
    quantity: maps.quantity,
    unit: maps.axes.unit,
    hidden,
    values: wire(values, [layers, heads, height, width]),
    maxima: wire(maxima, [layers, heads]),
    strongest: wire(strongest, [layers, heads, 2]),
  };
}
