import { endOfScale } from "../../shared/color.js";
import { remembered } from "../../shared/remembered.js";
import type { Axes, Scale } from "../../shared/types.js";
import type { MapPart } from "../../shared/window.js";
import { asFloat32 } from "../../shared/wire.js";
import type { Cells, Pair } from "./map_source.js";
import type { BlockMaps, Link, MapParts, Tile, TileRow } from "./tile_types.js";
import { keptOf, leastDifference, leastLine, type VisibleMap } from "./visible_map.js";

/** Loaded parts of an incomplete map. */
export interface Tiled {
  maps: BlockMaps;
  tile: Tile | null;
  row: TileRow | null;
}

/** Largest number of cells per side of a tile. */
const TILE = 256;

const pairOf = ([query, key, weight]: Link): Pair => ({ query, key, weight });
const same = (a: { heads: unknown }, b: { heads: unknown }) => String(a.heads) === String(b.heads);

/** Return whether a tile covers a part completely. */
export const covers = ({ queries, keys }: Tile, [q0, q1, k0, k1]: MapPart): boolean =>
  queries[0] <= q0 && q1 <= queries[1] && keys[0] <= k0 && k1 <= keys[1];

/**
 * Return whether another tile would show a part better, because it covers all of it or has smaller
 * blocks.
 */
export function lacks(tile: Tile | null, part: MapPart): boolean {
  if (!tile || !covers(tile, part)) return true;
  const [q0, q1, k0, k1] = part;
  return tile.step > 1 && Math.max(q1 - q0, k1 - k0) <= (TILE * tile.step) / 2;
}

/** Return the blocks of each map, read once from their bytes. */
function planes({ step, values, first }: BlockMaps | Tile, q0: number, k0: number): Cells[] {
  const [count = 0, rows = 0, cols = 0] = values.shape;
  const all = asFloat32(values);
  const firsts = first && asFloat32(first);
  return Array.from({ length: count }, (_, i) => ({
    q0,
    k0,
    step,
    rows,
    cols,
    values: all.subarray(i * rows * cols, (i + 1) * rows * cols),
    first: firsts?.subarray(i * rows, (i + 1) * rows),
  }));
}
const overviews = remembered((long: BlockMaps) => planes(long, 0, 0));
const tilesOf = remembered((tile: Tile) => planes(tile, tile.queries[0], tile.keys[0]));

const kept = new WeakMap<BlockMaps, { axes: Axes; shown: ReturnType<typeof keptOf> }>();

/** Return the visible queries and keys, cached so that a new tile does not recompute them. */
function shownOf(maps: BlockMaps, axes: Axes): ReturnType<typeof keptOf> {
  const known = kept.get(maps);
  if (known?.axes === axes) return known.shown;
  const shown = keptOf(axes, maps);
  kept.set(maps, { axes, shown });
  return shown;
}

/** Return the visible maps of a long input, for which the page has an overview and a tile. */
export function tiledMaps(
  { maps, tile, row }: Tiled,
  axes: Axes,
  two: boolean,
  scale: Scale,
): VisibleMap[] {
  const { rows, cols } = shownOf(maps, axes);
  const fits = tile && same(tile, maps) ? tile : null;
  const tiles = fits && tilesOf(fits);
  return overviews(maps).map((overview, i) => {
    const finest = tiles?.[i];
    const isSigned = two && i === 2;
    const largest = maps.maxima[i] ?? 0;
    const map: VisibleMap = {
      rows,
      cols,
      maximum: isSigned ? largest : endOfScale(scale, maps.quantity, largest),
      hiddenShare: maps.shares[0],
      filteredShare: maps.shares[1],
      parts: {
        isComplete: false,
        overview,
        tile: finest && fits ? { cells: finest, tile: fits } : undefined,
        strongest: (maps.links[i] ?? []).map(pairOf),
        links: fits?.links ? (fits.links[i] ?? []).map(pairOf) : [],
      },
    };
    if (row && same(row, maps)) {
      Object.assign(map.parts, rowParts(row, i, isCausal(overview) ? rows : undefined, axes));
    }
    if (isSigned) map.signed = true;
    if (scale === "absolute") map.least = leastOf(maps, overview, rows, axes, map);
    return map;
  });
}

/** Return whether the first query does not see the last keys. */
const isCausal = ({ values, cols }: Cells): boolean => cols > 1 && Number.isNaN(values[cols - 1]);

/**
 * Return the smallest value of each row that is drawn as a line. In a causal map the first query
 * does not see the last key.
 */
function leastOf(
  { quantity }: BlockMaps,
  overview: Cells,
  rows: number[],
  { key }: Axes,
  { signed, maximum }: VisibleMap,
): Float32Array {
  const end = quantity === "weights" ? 1 : maximum;
  const causal = isCausal(overview);
  if (signed) return new Float32Array(rows.length).fill(leastDifference(maximum, end));
  return Float32Array.from(rows, (query) => {
    const even = quantity !== "weights" ? 0 : 1 / (causal ? query + 1 : key.text.length);
    return leastLine(even, end);
  });
}

/** Return a row or a column of one of the maps. `causal`: Queries of a causal map. */
function rowParts(
  { side, at, step, values: all, first, links }: TileRow,
  i: number,
  causal: number[] | undefined,
  { key }: Axes,
): Pick<MapParts, "row" | "chosen"> {
  const [, count = 0] = all.shape;
  const values = asFloat32(all).subarray(i * count, (i + 1) * count);
  const query = at ?? 0;
  if (links) {
    const strongest = (links[i] ?? []).map(([key, weight]) => ({ query, key, weight }));
    return { row: { query, step, values, first: first?.[i], strongest } };
  }
  const even =
    side === "query"
      ? undefined
      : Float32Array.from({ length: count }, (_, place) =>
          causal ? 1 / ((causal[place] ?? 0) + 1) : 1 / key.text.length,
        );
  return { chosen: { side, of: at ?? undefined, values, even } };
}

/** Return the largest value at each position, and the number of the member that has it. */
export function largestValues(members: Float32Array[]): {
  values: Float32Array;
  strongest: Uint8Array;
} {
  const values = new Float32Array(members[0]?.length ?? 0).fill(Number.NaN);
  const strongest = new Uint8Array(values.length);
  for (const [at, member] of members.entries())
    for (let i = 0; i < values.length; i++) {
      const value = member[i] ?? Number.NaN;
      if (Number.isNaN(value) || value <= (values[i] as number)) continue;
      values[i] = value;
      strongest[i] = at;
    }
  return { values, strongest };
}

/**
 * Return the largest value of each block over several maps, and the number of the map that has it.
 */
function largestOf(members: Cells[]): Cells {
  const [cells] = members as [Cells];
  const apart = largestValues(members.flatMap(({ first }) => (first ? [first] : [])));
  const largest = { ...cells, ...largestValues(members.map(({ values }) => values)) };
  return cells.first
    ? { ...largest, first: apart.values, firstStrongest: apart.strongest }
    : largest;
}

const sorted = (pairs: Pair[]): Pair[] =>
  pairs.sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));

/** Return the parts of the map of largest values over several maps. */
export function largestParts(members: MapParts[]): MapParts {
  const [first] = members as [MapParts];
  const tiles = members.flatMap(({ tile }) => (tile ? [tile] : []));
  return {
    ...first,
    overview: largestOf(members.map(({ overview }) => overview)),
    tile: first.tile && {
      ...first.tile,
      cells: largestOf(tiles.map(({ cells }) => cells)),
    },
    strongest: sorted(members.flatMap(({ strongest }) => strongest)),
    links: sorted(members.flatMap(({ links }) => links)),
  };
}
