import type { Axes, Head, Side } from "../types.js";

/**
 * Maps of all heads of a stack in one unit. Byte 0 is masked; bytes 1 to 255 are the rounded square
 * root of weight / maximum.
 */
export interface EmbeddedMaps {
  quantity: string;
  axes: Axes;
  shape: [layers: number, heads: number, queries: number, keys: number];
  maxima: number[];
  values: Uint8Array;
  /**
   * Rounding error of each byte, stored as 128 + 256 * error; null if the page has no room for it.
   */
  fine?: Uint8Array | null;
  /** Head of the only map, if the page has room for a single map. */
  only?: Head | null;
}

/** Return the maps of a stack between tokens or between words. */
export const mapsIn = (
  maps: EmbeddedMaps[],
  stack: string,
  unit: string,
  quantity: string,
): EmbeddedMaps | undefined =>
  maps.find(
    ({ axes, quantity: of }) => axes.stack === stack && axes.unit === unit && of === quantity,
  );

/** Return an array in the form in which a kernel sends it. */
export function wire(array: Uint8Array | Float32Array | Int32Array, shape: number[]) {
  const dtype = array instanceof Uint8Array ? "|u1" : array instanceof Float32Array ? "<f4" : "<i4";
  return {
    shape,
    dtype,
    view: new DataView(array.buffer, array.byteOffset, array.byteLength),
  } as const;
}

/**
 * Return the byte of a cell plus its rounding error: 0 if masked, otherwise a number from 1 to 255.
 */
const levelAt = ({ values, fine }: EmbeddedMaps, at: number): number => {
  const byte = values[at] ?? 0;
  return byte && fine ? byte + ((fine[at] ?? 128) - 128) / 256 : byte;
};

/** Return the value of a cell of a head's map, or NaN if it is masked. */
export const valueAt = (maps: EmbeddedMaps, head: number, cell: number): number => {
  const [, , queries, keys] = maps.shape;
  return decodedByte(levelAt(maps, head * queries * keys + cell), maps.maxima[head] ?? 0);
};

/** Return the cell indices of a query's row or a key's column. */
export function cellsOf({ shape }: EmbeddedMaps, side: Side, of: number): number[] {
  const [, , queries, keys] = shape;
  return side === "query"
    ? Array.from({ length: keys }, (_, key) => of * keys + key)
    : Array.from({ length: queries }, (_, query) => query * keys + of);
}

/** Return the value that a byte encodes, or NaN if it is masked. */
const decodedByte = (byte: number, maximum: number): number =>
  byte ? maximum * ((byte - 1) / 254) ** 2 : Number.NaN;

/** Return the values that bytes encode. */
export const decodedBytes = (bytes: Uint8Array, maximum: number): Float32Array =>
  Float32Array.from(bytes, (byte) => decodedByte(byte, maximum));

/** Return the values of one head's map, row by row. */
function valuesOfHead(maps: EmbeddedMaps, [layer, head]: Head): Float32Array {
  const [, heads, queries, keys] = maps.shape;
  const index = maps.only ? 0 : layer * heads + head;
  return Float32Array.from({ length: queries * keys }, (_, i) => valueAt(maps, index, i));
}

/** Return one head's complete map as a tile of a view. */
export function wholeTile(maps: EmbeddedMaps, head: Head) {
  const { quantity, axes, shape } = maps;
  const [, , queries, keys] = shape;
  return {
    heads: [head],
    stack: head[2],
    quantity,
    unit: axes.unit,
    exact: Boolean(maps.fine),
    asked: null,
    part: [0, queries, 0, keys] as [number, number, number, number],
    step: 1,
    queries: [0, queries] as [number, number],
    keys: [0, keys] as [number, number],
    values: wire(valuesOfHead(maps, head), [1, queries, keys]),
    first: null,
    links: null,
  };
}

/** Return one head's map in two attentions. */
export function twoMaps(pair: [EmbeddedMaps, EmbeddedMaps], head: Head) {
  const [{ axes, quantity, shape }] = pair;
  const [, , n, m] = shape;
  const values = new Float32Array(2 * n * m);
  for (const [i, maps] of pair.entries()) values.set(valuesOfHead(maps, head), i * n * m);
  const { stack, unit } = axes;
  return {
    complete: true as const,
    stack,
    quantity,
    unit,
    heads: [head, head],
    exact: false,
    maxima: [],
    values: wire(values, [2, n, m]),
  };
}

/** Return the maps of all heads of a stack. */
export function severalMaps({ axes, quantity, shape, maxima, values }: EmbeddedMaps) {
  const [layers, heads, queries, keys] = shape;
  const { stack, unit } = axes;
  const every = Array.from(
    { length: layers * heads },
    (_, i): Head => [Math.floor(i / heads), i % heads, stack],
  );
  return {
    complete: true as const,
    stack,
    quantity,
    unit,
    heads: every,
    exact: false,
    maxima,
    values: wire(values, [every.length, queries, keys]),
  };
}
