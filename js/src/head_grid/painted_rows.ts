import { clamp } from "../shared/clamp.js";
import { diverging, ramp, transfer } from "../shared/colour.js";
import { levelOf } from "../shared/colour_levels.js";
import type { Raster } from "../shared/pen.js";
import { coverOf, onGrey, tickedBar, unseen } from "../shared/places/picture_cover.js";
import { placesOf, type TokenPlace } from "../shared/places/token_places.js";
import type { Theme } from "../shared/theme.js";
import type { Scale, Side } from "../shared/types.js";
import { asFloat32, asUint8 } from "../shared/wire.js";
import type { SmallMaps } from "./grid_pixels.js";
import type { GridState, SmallPicture } from "./state.js";

/** A token on a picture or a sound, in shares of its width and height. */
interface Spot extends Record<"left" | "top" | "right" | "bottom", number> {
  position: number;
}

/** A picture or a sound in a cell, in shares of the cell. */
interface Plate extends Record<"left" | "top" | "width" | "height", number> {
  /** Absent of a sound, which is drawn on the ground of the page. */
  picture?: SmallPicture | undefined;
  pixels?: Uint8Array;
  /** Colours of values, with their opacity on a picture, and of what the token does not see. */
  table: Uint32Array;
  unseen: number;
  spots: Spot[];
  /** The picture at the sizes that were drawn, as red, green and blue. */
  scaled: Map<string, Uint8Array>;
}

/** The rows or columns that cells paint on pictures and sounds, of all heads. */
export interface PaintedRows {
  /** "query": where the token looks; "key": which queries look at it. */
  side: Side;
  /** The token; null for the mean over all queries. */
  of: number | null;
  /** A byte for each head and token: 0 masked, 1 to 255 the root of the value; signed about 128. */
  values: Uint8Array;
  count: number;
  largest: Float32Array;
  plates: Plate[];
  /** Whether cells leave out the whole picture below its tiles. */
  isTiled: boolean;
  /** The value of even attention; undefined where it differs from head to head. */
  even: number | undefined;
}

/** The side whose places are painted. */
const paintedSide = (side: Side): Side => (side === "query" ? "key" : "query");

const made = new WeakMap<object, { of: unknown[]; rows: PaintedRows }>();

/** The painted rows of thumbnails; undefined for thumbnails of maps, and without the places. */
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
    plates: platesOf(places[painted], places.levels[painted], media, theme, maps.signed),
    isTiled: places.levels[painted].some((level) => level > 0),
    even: evenOf(maps, row.side, values.subarray(0, count)),
  };
  made.set(row, { of, rows });
  return rows;
}

/** The even share of a row of weights, by the first head. */
function evenOf({ quantity, signed, times_keys }: SmallMaps, side: Side, row: Uint8Array) {
  if (quantity !== "weights" || signed || side === "key") return undefined;
  const seen = row.reduce((count, byte) => count + Number(byte > 0), 0);
  return seen === 0 ? undefined : times_keys ? 1 : 1 / seen;
}

/** Every picture and sound with places, in rows; of tiles, without the whole picture. */
function platesOf(
  places: (TokenPlace | undefined)[],
  levels: Uint8Array,
  { pictures, sounds }: NonNullable<GridState["_media"]>,
  theme: Theme,
  signed: boolean,
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
      // Frequencies grow upwards; without any, a span has the whole height.
      const spots = group
        .filter((place) => place.left < end)
        .map(({ position, ...place }) => ({
          position,
          left: place.left / end,
          right: Math.min(1, place.right / end),
          top: 1 - (Number.isNaN(place.bottom) ? 1 : place.bottom / high),
          bottom: 1 - (place.top || 0) / high,
        }));
      const table = signed ? diverging(theme) : ramp(theme);
      const ground = table[0] ?? 0;
      return { left, top, ...slot, table, unseen: ground, spots, scaled: new Map() };
    }
    const fit = Math.min(slot.width / picture.width, slot.height / picture.height);
    const [width, height] = [picture.width * fit, picture.height * fit];
    const inside = (at: number, size: number) => clamp(at / size, 0, 1);
    return {
      left: left + (slot.width - width) / 2,
      top: top + (slot.height - height) / 2,
      width,
      height,
      picture,
      pixels: asUint8(picture.pixels),
      table: tint(coverOf(theme, signed), TINTED),
      unseen: tint([unseen(theme)], UNSEEN)[0] ?? 0,
      spots: group.map(({ position, ...place }) => ({
        position,
        left: inside(place.left, picture.width),
        right: inside(place.right, picture.width),
        top: inside(place.top, picture.height),
        bottom: inside(place.bottom, picture.height),
      })),
      scaled: new Map(),
    };
  });
}

/** How much of a picture colours cover, and how much of it what a token does not see covers. */
const TINTED = 0.82;
const UNSEEN = 0.94;

/** Colours with the same opacity. */
const tint = (table: ArrayLike<number>, alpha: number) =>
  Uint32Array.from(table, (word) => ((word & 0xffffff) | (Math.round(255 * alpha) << 24)) >>> 0);

/** A picture at a size: the mean of the pixels under each pixel. */
function scaledTo(plate: Plate, across: number, down: number): Uint8Array | undefined {
  const { picture, pixels, scaled } = plate;
  if (!picture || !pixels) return undefined;
  const key = `${across} ${down}`;
  const known = scaled.get(key);
  if (known) return known;
  const [high = 1, wide = 1] = picture.pixels.shape;
  const out = new Uint8Array(across * down * 3);
  const span = (at: number, size: number, source: number) => {
    const from = Math.floor((at * source) / size);
    return [from, Math.max(from + 1, Math.floor(((at + 1) * source) / size))] as const;
  };
  for (let y = 0; y < down; y++) {
    const [top, bottom] = span(y, down, high);
    for (let x = 0; x < across; x++) {
      const [left, right] = span(x, across, wide);
      for (let channel = 0; channel < 3; channel++) {
        let sum = 0;
        for (let i = top; i < bottom; i++)
          for (let j = left; j < right; j++) sum += pixels[(i * wide + j) * 3 + channel] ?? 0;
        out[(y * across + x) * 3 + channel] = sum / ((bottom - top) * (right - left));
      }
    }
  }
  scaled.set(key, out);
  return out;
}

/** The value of a byte of a row whose largest value is known; NaN where masked. */
export function rowValue(byte: number, largest: number, signed: boolean): number {
  if (byte === 0) return Number.NaN;
  const root = signed ? (byte - 128) / 127 : (byte - 1) / 254;
  return Math.sign(root) * largest * root * root;
}

/** The order in which tokens are drawn: the strongest last, because each has a pixel at least. */
function ascending(spots: Spot[], row: Uint8Array, signed: boolean): Spot[] {
  const size = (spot: Spot) => {
    const byte = row[spot.position] ?? 0;
    return byte && signed ? 1 + Math.abs(byte - 128) : byte;
  };
  const buckets: Spot[][] = Array.from({ length: 257 }, () => []);
  for (const spot of spots) buckets[size(spot)]?.push(spot);
  return buckets.flat();
}

/** Draw the row of a head as a `size` x `size` square at `offset` of rows of `stride` pixels. */
export function drawRow(
  pixels: Uint32Array,
  stride: number,
  offset: number,
  size: number,
  { values, count, largest, plates }: PaintedRows,
  head: number,
  { scale, end, signed, ground }: { scale: Scale; end: number; signed: boolean; ground: number },
): void {
  for (let y = 0; y < size; y++)
    pixels.fill(ground, offset + y * stride, offset + y * stride + size);
  const row = values.subarray(head * count, (head + 1) * count);
  const level = levelOf(scale, end, signed);
  const levels = Uint8Array.from({ length: 256 }, (_, byte) =>
    byte ? level(rowValue(byte, largest[head] ?? 0, signed)) : 0,
  );
  for (const plate of plates) {
    const left = Math.round(plate.left * size);
    const top = Math.round(plate.top * size);
    const across = Math.max(1, Math.round((plate.left + plate.width) * size) - left);
    const down = Math.max(1, Math.round((plate.top + plate.height) * size) - top);
    const cover = new Uint32Array(across * down).fill(plate.unseen);
    for (const spot of ascending(plate.spots, row, signed)) {
      const byte = row[spot.position] ?? 0;
      const word = byte ? (plate.table[levels[byte] ?? 0] ?? 0) : plate.unseen;
      const x0 = Math.min(across - 1, Math.round(spot.left * across));
      const x1 = clamp(Math.round(spot.right * across), x0 + 1, across);
      const y0 = Math.min(down - 1, Math.round(spot.top * down));
      const y1 = clamp(Math.round(spot.bottom * down), y0 + 1, down);
      for (let y = y0; y < y1; y++) cover.fill(word, y * across + x0, y * across + x1);
    }
    const under = scaledTo(plate, across, down);
    for (let y = 0; y < down; y++)
      for (let x = 0; x < across; x++) {
        const at = y * across + x;
        const to = offset + (top + y) * stride + left + x;
        const word = cover[at] ?? 0;
        pixels[to] = under ? over(word, under, 3 * at) : word;
      }
  }
}

/**
 * A colour over a pixel of a picture. The picture repeats in every cell, so it is a faint grey: its
 * bright parts must not look like weights, and the same weight must look the same everywhere.
 */
function over(word: number, under: Uint8Array, at: number): number {
  const [red = 0, green = 0, blue = 0] = under.subarray(at, at + 3);
  return onGrey(word, 0.2126 * red + 0.7152 * green + 0.0722 * blue);
}

const bars = new WeakMap<Uint32Array, Map<number, Raster>>();

/** The scale of painted rows, with a tick at the even share. */
export function rowsBar(
  { plates: [plate], even }: PaintedRows,
  scale: Scale,
  end: number | null,
): Raster | undefined {
  if (!plate) return undefined;
  const share = even !== undefined && end ? transfer(scale)(Math.min(1, even / end)) : -1;
  const tick = share < 0 ? -9 : Math.round(255 * share);
  const known = bars.get(plate.table) ?? new Map<number, Raster>();
  const table = plate.picture ? plate.table.map((word) => onGrey(word)) : plate.table;
  const bar = known.get(tick) ?? tickedBar([table], tick);
  bars.set(plate.table, known.set(tick, bar));
  return bar;
}
