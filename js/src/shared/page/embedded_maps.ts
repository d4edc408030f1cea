import type { Axes, Head, Side } from "../types.js";

/**
 * The maps of a stack in one unit: byte 0 is masked, 1..255 the rounded square root of weight /
 * maximum.
 */
export interface EmbeddedMaps {
  quantity: string;
  axes: Axes;
  shape: [layers: number, heads: number, queries: number, keys: number];
  maxima: number[];
  values: Uint8Array;
  /** The rounding error of each byte, as 128 + 256 times the error; null on a page without room. */
  fine?: Uint8Array | null;
  /** The head of the map, if the page has space for a single map. */
  only?: Head | null;
}

/** The maps of a stack between tokens or between words. */
export const mapsIn = (
  maps: EmbeddedMaps[],
  stack: string,
  unit: string,
  quantity: string,
): EmbeddedMaps | undefined =>
  maps.find(
    ({ axes, quantity: of }) => axes.stack === stack && axes.unit === unit && of === quantity,
  );

/** An array as it would cross from a kernel. */
export function wire(array: Uint8Array | Float32Array | Int32Array, shape: number[]) {
  const dtype = array instanceof Uint8Array ? "|u1" : array instanceof Float32Array ? "<f4" : "<i4";
  return {
    shape,
    dtype,
    view: new DataView(array.buffer, array.byteOffset, array.byteLength),
  } as const;
}

/** The byte of a cell with its rounding error: 0 if masked, else a number from 1 to 255. */
const levelAt = ({ values, fine }: EmbeddedMaps, at: number): number => {
  const byte = values[at] ?? 0;
  return byte && fine ? byte + ((fine[at] ?? 128) - 128) / 256 : byte;
};

/** The value of a cell of a head's map; NaN where masked. */
export const valueAt = (maps: EmbeddedMaps, head: number, cell: number): number => {
  const [, , queries, keys] = maps.shape;
  return decodedByte(levelAt(maps, head * queries * keys + cell), maps.maxima[head] ?? 0);
};

/** Returns the cells of a map that form a query's row, or a key's column. */
export function cellsOf({ shape }: EmbeddedMaps, side: Side, of: number): number[] {
  const [, , queries, keys] = shape;
  return side === "query"
    ? Array.from({ length: keys }, (_, key) => of * keys + key)
    : Array.from({ length: queries }, (_, query) => query * keys + of);
}

/** The value that a byte stands for; NaN where masked. */
const decodedByte = (byte: number, maximum: number): number =>
  byte ? maximum * ((byte - 1) / 254) ** 2 : Number.NaN;

/** The values that bytes stand for. */
export const decodedBytes = (bytes: Uint8Array, maximum: number): Float32Array =>
  Float32Array.from(bytes, (byte) => decodedByte(byte, maximum));

/** The values of one head's map, row by row. */
function valuesOfHead(maps: EmbeddedMaps, [layer, head]: Head): Float32Array {
  const [, heads, queries, keys] = maps.shape;
  const index = maps.only ? 0 : layer * heads + head;
  return Float32Array.from({ length: queries * keys }, (_, i) => valueAt(maps, index, i));
}

/** One head's map, whole, in the form of a tile of a view. */
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

/** One head's map in two attentions. */
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

/** The maps of all heads of a stack. */
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
