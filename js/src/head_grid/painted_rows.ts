import { clamp } from "../shared/clamp.js";
import { diverging, ramp, transfer } from "../shared/color.js";
import { levelOf } from "../shared/color_levels.js";
import type { Raster } from "../shared/pen.js";
import { tickedBar } from "../shared/places/picture_cover.js";
import { placesOf, type TokenPlace } from "../shared/places/token_places.js";
import type { Theme } from "../shared/theme.js";
import type { Scale, Side } from "../shared/types.js";
import { asFloat32, asUint8 } from "../shared/wire.js";
import type { SmallMaps } from "./grid_pixels.js";
import type { GridState } from "./state.js";

/** Region of a token on a picture or a sound, in shares of its width and height. */
interface Spot extends Record<"left" | "top" | "right" | "bottom", number> {
  position: number;
}

/** Picture or sound in a cell, in shares of the cell. */
interface Plate extends Record<"left" | "top" | "width" | "height", number> {
  isPicture: boolean;
  spots: Spot[];
}

/**
 * Rows or columns of all heads that cells paint at the regions of pictures and sounds. The pictures
 * themselves are left out, because their dark parts would look like weights.
 */
export interface PaintedRows {
  /** Side of the token. "query": where the token attends; "key": which queries attend to it. */
  side: Side;
  /** Index of the token; null for the mean over all queries. */
  of: number | null;
  /**
   * Byte for each head and token: 0 masked, 1 to 255 the square root of the value, or signed around
   * 128.
   */
  values: Uint8Array;
  count: number;
  largest: Float32Array;
  /** Colors of values; the first is the background of the page. */
  table: Uint32Array;
  plates: Plate[];
  /** Whether cells leave out the complete picture below its tiles. */
  isTiled: boolean;
  /** Even share; undefined if it differs between heads. */
  even: number | undefined;
}

/** Return the side whose regions are painted. */
const paintedSide = (side: Side): Side => (side === "query" ? "key" : "query");

const made = new WeakMap<object, { of: unknown[]; rows: PaintedRows }>();

/** Return the painted rows of thumbnails; undefined for thumbnails of maps, or without regions. */
export function paintedRows(
  maps: SmallMaps | null,
  state: GridState,
  theme: Theme,
): PaintedRows | undefined {
  const { _axes: axes, _places: wire, _media: media } = state;
  const row = maps?.row;
  const places = axes?.query && placesOf({ _places: wire ?? null }, axes);
  if (!maps || !row || !places || !media) return undefined;
  const painted = paintedSide(row.side);
  const [, , count = 0] = row.values.shape;
  if (places[painted].length !== count) return undefined;
  const of = [wire, media, axes, JSON.stringify(theme), maps.signed];
  const known = made.get(row);
  if (known?.of.every((value, i) => value === of[i])) return known.rows;
  const values = asUint8(row.values);
  const rows: PaintedRows = {
    side: row.side,
    of: row.of,
    values,
    count,
    largest: asFloat32(row.largest),
    table: maps.signed ? diverging(theme) : ramp(theme),
    plates: platesOf(places[painted], places.levels[painted], media),
    isTiled: places.levels[painted].some((level) => level > 0),
    even: evenOf(maps, row.side, values.subarray(0, count)),
  };
  made.set(row, { of, rows });
  return rows;
}

/** Return the even share of a row of weights, which is computed from the first head. */
function evenOf({ quantity, signed, times_keys }: SmallMaps, side: Side, row: Uint8Array) {
  if (quantity !== "weights" || signed || side === "key") return undefined;
  const seen = row.reduce((count, byte) => count + Number(byte > 0), 0);
  return seen === 0 ? undefined : times_keys ? 1 : 1 / seen;
}

/**
 * Return all pictures and sounds with regions, in rows. Of a tiled picture, only the tiles are
 * included.
 */
function platesOf(
  places: (TokenPlace | undefined)[],
  levels: Uint8Array,
  { pictures, sounds }: NonNullable<GridState["_media"]>,
): Plate[] {
  const groups = new Map<number, (TokenPlace & { position: number })[]>();
  for (const [position, place] of places.entries())
    if (place && levels[position] === 0)
      groups.set(place.medium, [...(groups.get(place.medium) ?? []), { ...place, position }]);
  const shown = [...groups].sort(([a], [b]) => a - b);
  const columns = Math.ceil(Math.sqrt(shown.length));
  const lines = Math.ceil(shown.length / Math.max(1, columns));
  return shown.map(([medium, group], i): Plate => {
    const picture = pictures[medium];
    const slot = { width: 1 / columns, height: 1 / lines };
    const left = (i % columns) * slot.width;
    const top = Math.floor(i / columns) * slot.height;
    if (!picture) {
      const end = sounds[medium - pictures.length]?.seconds ?? 1;
      const high = Math.max(...group.map(({ bottom }) => bottom || 0)) || 1;
      // Frequencies increase upward; a span without frequencies has the full height.
      const spots = group
        .filter((place) => place.left < end)
        .map(({ position, ...place }) => ({
          position,
          left: place.left / end,
          right: Math.min(1, place.right / end),
          top: 1 - (Number.isNaN(place.bottom) ? 1 : place.bottom / high),
          bottom: 1 - (place.top || 0) / high,
        }));
      return { left, top, ...slot, isPicture: false, spots };
    }
    const fit = Math.min(slot.width / picture.width, slot.height / picture.height);
    const [width, height] = [picture.width * fit, picture.height * fit];
    const inside = (at: number, size: number) => clamp(at / size, 0, 1);
    return {
      left: left + (slot.width - width) / 2,
      top: top + (slot.height - height) / 2,
      width,
      height,
      isPicture: true,
      spots: group.map(({ position, ...place }) => ({
        position,
        left: inside(place.left, picture.width),
        right: inside(place.right, picture.width),
        top: inside(place.top, picture.height),
        bottom: inside(place.bottom, picture.height),
      })),
    };
  });
}

/** Return the value of a byte, given the largest value of its row; NaN if masked. */
export function rowValue(byte: number, largest: number, signed: boolean): number {
  if (byte === 0) return Number.NaN;
  const root = signed ? (byte - 128) / 127 : (byte - 1) / 254;
  return Math.sign(root) * largest * root * root;
}

/** Return the tokens in drawing order, strongest last, because each covers at least a pixel. */
function ascending(spots: Spot[], row: Uint8Array, signed: boolean): Spot[] {
  const size = (spot: Spot) => {
    const byte = row[spot.position] ?? 0;
    return byte && signed ? 1 + Math.abs(byte - 128) : byte;
  };
  const buckets: Spot[][] = Array.from({ length: 257 }, () => []);
  for (const spot of spots) buckets[size(spot)]?.push(spot);
  return buckets.flat();
}

/**
 * Draw the row of a head as `wide` x `high` pixels at `offset` of a buffer with rows of `stride`
 * pixels.
 */
export function drawRow(
  pixels: Uint32Array,
  stride: number,
  offset: number,
  [wide, high]: readonly [across: number, down: number],
  { values, count, largest, table, plates }: PaintedRows,
  head: number,
  { scale, end, signed, ground }: { scale: Scale; end: number; signed: boolean; ground: number },
): void {
  for (let y = 0; y < high; y++)
    pixels.fill(ground, offset + y * stride, offset + y * stride + wide);
  const row = values.subarray(head * count, (head + 1) * count);
  const level = levelOf(scale, end, signed);
  const levels = Uint8Array.from({ length: 256 }, (_, byte) =>
    byte ? level(rowValue(byte, largest[head] ?? 0, signed)) : 0,
  );
  for (const plate of plates) {
    const left = Math.round(plate.left * wide);
    const top = Math.round(plate.top * high);
    const across = Math.max(1, Math.round((plate.left + plate.width) * wide) - left);
    const down = Math.max(1, Math.round((plate.top + plate.height) * high) - top);
    // Tokens that the query does not see stay blank.
    for (const spot of ascending(plate.spots, row, signed)) {
      const byte = row[spot.position] ?? 0;
      const word = byte ? (table[levels[byte] ?? 0] ?? ground) : ground;
      const x0 = Math.min(across - 1, Math.round(spot.left * across));
      const x1 = clamp(Math.round(spot.right * across), x0 + 1, across);
      const y0 = Math.min(down - 1, Math.round(spot.top * down));
      const y1 = clamp(Math.round(spot.bottom * down), y0 + 1, down);
      for (let y = y0; y < y1; y++) {
        const line = offset + (top + y) * stride + left;
        pixels.fill(word, line + x0, line + x1);
      }
    }
  }
}

const bars = new WeakMap<PaintedRows, Map<number, Raster>>();

/** Return the color bar of painted rows, with a tick at the even share. */
export function rowsBar(rows: PaintedRows, scale: Scale, end: number | null): Raster | undefined {
  if (!rows.plates.length) return undefined;
  const { even, table } = rows;
  const share = even !== undefined && end ? transfer(scale)(Math.min(1, even / end)) : -1;
  const tick = share < 0 ? -9 : Math.round(255 * share);
  const known = bars.get(rows) ?? new Map<number, Raster>();
  const bar = known.get(tick) ?? tickedBar([table], tick);
  bars.set(rows, known.set(tick, bar));
  return bar;
}
