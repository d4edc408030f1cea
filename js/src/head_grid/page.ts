import type { Metrics } from "../shared/head_types.js";
import {
  decodedByte,
  type EmbeddedMaps,
  mapsIn,
  valueAt,
  wire,
} from "../shared/page/embedded_maps.js";
import { localModel } from "../shared/page/local_model.js";
import type { Kernel } from "../shared/page/page_data.js";
import type { WirePlaces } from "../shared/places/place_types.js";
import type { Head } from "../shared/types.js";
import { asFloat32, asUint8, type WireArray } from "../shared/wire.js";
import { paintedToken, rowOf } from "./page_row.js";
import type { GridState, Rows, Thumbnails } from "./state.js";

interface Own {
  metrics: Metrics[];
  /** How far heads are from the intact ones, by stack; none where no head is off. */
  changes: { stack: string; values: WireArray }[];
  /** The difference from the intact model that was shown: it is not computed here. */
  difference: Thumbnails | null;
  /** Where the tokens of each stack come from, between tokens and between words. */
  places?: WirePlaces[];
}

/** A grid that draws its thumbnails from the maps that the page holds. */
export const pageModel: Kernel<GridState, Own> = ({ state, own }, held) => {
  const model = localModel<GridState>({
    ...state,
    _metrics: null,
    _thumbnails: null,
    _places: null,
    _rows: null,
  });
  const measure = () => {
    const label = model.get("step") ?? model.get("_steps")?.at(-1);
    const shown = own.metrics.find(
      (of) => of.stack === model.get("stack") && (of.step === undefined || of.step === label),
    );
    model.set("_metrics", shown ?? null);
  };
  const draw = () => {
    const stack = model.get("stack");
    const heldMaps = mapsIn(held.maps ?? [], stack, model.get("unit"), model.get("quantity"));
    if (!heldMaps) return;
    measure();
    const now = {
      stack,
      unit: model.get("unit"),
      quantity: model.get("quantity"),
      hidden: model.get("hidden"),
    };
    const { difference } = own;
    const places = own.places?.find((of) => of.stack === stack && of.unit === now.unit);
    model.set("_places", places ?? null);
    // Pictures are on the page if the thumbnails were painted when the page was made.
    if (!model.get("_media")) model.set("_placed_on", "");
    const isHeld =
      difference &&
      Object.entries(now).every(
        ([name, is]) => String(is) === String(difference[name as keyof typeof now]),
      );
    const versus = model.get("versus");
    const edited = { disabled: model.get("disabled"), method: model.get("method"), versus };
    const changes = own.changes.find((of) => of.stack === stack)?.values ?? null;
    const of_two = model.get("of_two");
    const other =
      of_two === "second" ? mapsIn(held.second ?? [], stack, now.unit, now.quantity) : undefined;
    model.set("_axes", (other ?? heldMaps).axes);
    const timesKeys = model.get("times_keys") && now.quantity === "weights";
    const differs = versus && isHeld && of_two === "difference";
    const off = other ? [] : edited.disabled.filter(([, , name]) => name === stack);
    const shown = other ?? heldMaps;
    const isOfBoth = String(shown.axes.key.text) === String(heldMaps.axes.key.text);
    const token = isOfBoth ? paintedToken(model, places, shown.axes) : undefined;
    const ofOne = () => {
      const cells = token
        ? withEmptyRows(paintedOf(shown, token, now, timesKeys), off)
        : withoutInk(thumbnails(shown, now.hidden, timesKeys), off);
      return { ...cells, signed: false, common: null };
    };
    const made = differs ? difference : ofOne();
    model.set("_thumbnails", { ...made, ...edited, of_two, changes });
    answer();
  };
  /** Rows of a locked word; thumbnails that paint them have them, unless two words are locked. */
  function answer(): void {
    const stack = model.get("stack");
    const maps = mapsIn(held.maps ?? [], stack, model.get("unit"), model.get("quantity"));
    const isCompared = model.get("_compared")?.length;
    const off = model.get("disabled").filter(([, , name]) => name === stack);
    const rows = maps && !isCompared ? answersOf(maps, model.get("tokens"), off) : null;
    model.set(
      "_rows",
      model.get("_thumbnails")?.row && !rows?.isPair ? null : (rows?.rows ?? null),
    );
  }
  const drawn = [
    "thumbnail",
    "stack",
    "unit",
    "hidden",
    "quantity",
    "versus",
    "of_two",
    "times_keys",
  ];
  for (const name of drawn) model.on(`change:${name}`, draw);
  model.on("change:tokens", () => {
    if (model.get("_thumbnails")?.row) draw();
    else answer();
  });
  model.on("change:step", measure);
  // As in the kernel, another metric starts without a range: it was one of the metric before.
  let metric = model.get("metric");
  model.on("change:metric", () => {
    if (metric !== null) model.set("filter", null);
    metric = model.get("metric");
  });
  model.on("change:selected", () => {
    const last = model.get("selected").at(-1);
    if (last) model.set("stack", last[2]);
  });
  draw();
  return model;
};

/** Thumbnails that paint the row of a token. */
const paintedOf = (
  maps: EmbeddedMaps,
  token: NonNullable<ReturnType<typeof paintedToken>>,
  of: Pick<Thumbnails, "stack" | "unit" | "quantity" | "hidden">,
  timesKeys: boolean,
) => ({ ...rowOf(maps, token, timesKeys), ...of, times_keys: timesKeys });

/** More numbers than these are not kept, as in a kernel. */
const MOST_NUMBERS = 2 ** 20;

/** What every head does for the locked query, else for the locked key; null without one. */
function answersOf(maps: EmbeddedMaps, tokens: GridState["tokens"], off: Head[]) {
  const { axes, quantity } = maps;
  const [layers, heads, queries, keys] = maps.shape;
  const last = (side: string, count: number) =>
    tokens.filter(([of, at]) => of === side && at < count).at(-1)?.[1];
  const query = last("query", queries);
  const key = last("key", keys);
  const side = query === undefined ? "key" : "query";
  const of = query ?? key;
  const count = side === "query" ? keys : queries;
  if (of === undefined || layers * heads * count > MOST_NUMBERS) return null;
  const values = Float32Array.from({ length: layers * heads * count }, (_, i) => {
    const other = i % count;
    const cell = side === "query" ? of * keys + other : other * keys + of;
    return valueAt(maps, Math.floor(i / count), cell);
  });
  for (const [layer, head] of off) {
    const at = (layer * heads + head) * count;
    values.fill(0, at, at + count);
  }
  const { stack, unit } = axes;
  const rows: Rows = {
    stack,
    unit,
    quantity,
    side,
    of,
    values: wire(values, [layers, heads, count]),
  };
  return { rows, isPair: query !== undefined && key !== undefined };
}

/** Painted rows that are 0 in heads that are off. */
function withEmptyRows<T extends ReturnType<typeof paintedOf>>(drawn: T, off: Head[]): T {
  const [, heads = 0, count = 0] = drawn.row.values.shape;
  const values = asUint8(drawn.row.values);
  const maxima = asFloat32(drawn.maxima);
  for (const [layer, head] of off) {
    const at = layer * heads + head;
    const row = values.subarray(at * count, (at + 1) * count);
    row.set(row.map((byte) => Math.min(1, byte)));
    maxima[at] = 0;
  }
  return drawn;
}

/** Thumbnails with nothing in the cells of heads that are off. */
function withoutInk(drawn: Thumbnails, off: Head[]): Thumbnails {
  const [, heads = 0, height = 0, width = 0] = drawn.values.shape;
  const values = asUint8(drawn.values);
  const maxima = asFloat32(drawn.maxima);
  for (const [layer, head] of off) {
    const at = layer * heads + head;
    values.fill(0, at * height * width, (at + 1) * height * width);
    maxima[at] = 0;
  }
  return drawn;
}

/** Cells of a thumbnail along an axis, at most. */
const SIDE = 64;

/** One side of a thumbnail: the visible tokens, and the tokens of each cell. */
interface Side {
  kept: number[];
  cells: [from: number, end: number][];
}

/** Where SIDE does not divide a length, neighbouring cells share their border. */
function sideOf(special: string[], hidden: string[]): Side {
  const kept = [...special.keys()].filter((i) => !hidden.includes(special[i] ?? ""));
  const length = kept.length;
  const count = Math.min(kept.length, SIDE);
  const cells = Array.from({ length: count }, (_, cell): [number, number] => [
    Math.floor((cell * length) / count),
    Math.ceil(((cell + 1) * length) / count),
  ]);
  return { kept, cells };
}

/**
 * The largest byte under each cell, and the first place of the largest of all. Bytes stand for
 * roots of weights, and `timesKeys` multiplies each weight by the keys that its query sees.
 */
function pooled(map: Uint8Array, keys: number, rows: Side, columns: Side, timesKeys: boolean) {
  const width = columns.cells.length;
  const wide = new Float32Array(rows.kept.length * width);
  let top = -1;
  let place = [-1, -1];
  for (const [i, row] of rows.kept.entries()) {
    const factor = timesKeys ? Math.sqrt(keysSeen(map, keys, row)) : 1;
    for (const [x, [from, end]] of columns.cells.entries()) {
      let most = 0;
      for (let j = from; j < end; j++) {
        const column = columns.kept[j] ?? 0;
        const held = map[row * keys + column] ?? 0;
        // Byte 1 is a weight of 0, and 0 is a masked one.
        const byte = held ? 1 + factor * (held - 1) : 0;
        if (byte > most) most = byte;
        if (byte > top) {
          top = byte;
          place = [row, column];
        }
      }
      wide[i * width + x] = most;
    }
  }
  const bytes = new Float32Array(rows.cells.length * width);
  for (const [y, [from, end]] of rows.cells.entries())
    for (let i = from; i < end; i++)
      for (let x = 0; x < width; x++) {
        const at = y * width + x;
        const byte = wide[i * width + x] ?? 0;
        if (byte > (bytes[at] ?? 0)) bytes[at] = byte;
      }
  return { bytes, top, place };
}

/** The number of keys that a query sees. */
function keysSeen(map: Uint8Array, keys: number, row: number): number {
  let seen = 0;
  for (let i = row * keys; i < (row + 1) * keys; i++) if (map[i]) seen++;
  return seen;
}

/**
 * Thumbnails of all heads, as the kernel makes them: hidden tokens out, then the maximum under each
 * cell.
 */
export function thumbnails(maps: EmbeddedMaps, hidden: string[], timesKeys = false): Thumbnails {
  const [layers, heads, queries, keys] = maps.shape;
  const rows = sideOf(maps.axes.query.special, hidden);
  const columns = sideOf(maps.axes.key.special, hidden);
  const isEmpty = !rows.kept.length || !columns.kept.length;
  const [height, width] = isEmpty ? [0, 0] : [rows.cells.length, columns.cells.length];
  const count = layers * heads;
  const values = new Uint8Array(count * height * width);
  const maxima = new Float32Array(count);
  const strongest = new Int32Array(count * 2).fill(-1);
  for (let head = 0; head < count && !isEmpty; head++) {
    const map = maps.values.subarray(head * queries * keys, (head + 1) * queries * keys);
    const { bytes, top, place } = pooled(map, keys, rows, columns, timesKeys);
    strongest.set(place, 2 * head);
    maxima[head] = top > 0 ? decodedByte(top, maps.maxima[head] ?? 0) : 0;
    const levels = Uint8Array.from(bytes, (byte) =>
      byte > 1 ? Math.round((255 * (byte - 1)) / (top - 1)) : 0,
    );
    values.set(levels, head * height * width);
  }
  return {
    stack: maps.axes.stack,
    quantity: maps.quantity,
    unit: maps.axes.unit,
    hidden,
    times_keys: timesKeys,
    values: wire(values, [layers, heads, height, width]),
    maxima: wire(maxima, [layers, heads]),
    strongest: wire(strongest, [layers, heads, 2]),
  };
}
