import { decodedByte, type EmbeddedMaps, valueAt, wire } from "../shared/page/embedded_maps.js";
import type { WirePlaces } from "../shared/places/place_types.js";
import type { Model, Side } from "../shared/types.js";
import { asFloat32 } from "../shared/wire.js";
import type { GridState, WireRow } from "./state.js";

/** A token whose row or column is painted; null for the mean over all queries. */
interface PaintedToken {
  side: Side;
  of: number | null;
}

/** The token that thumbnails paint, by the rule of the kernel; undefined for maps. */
export function paintedToken(
  model: Model<GridState>,
  places: WirePlaces | undefined,
  { query, key }: EmbeddedMaps["axes"],
): PaintedToken | undefined {
  const media = model.get("_media");
  if (!places?.key || !media) return undefined;
  const isOnPicture = asFloat32(places.key).some(
    (medium, i) => i % 5 === 0 && medium < media.pictures.length,
  );
  const wish = model.get("thumbnail") ?? (isOnPicture ? "places" : "maps");
  if (wish === "maps") return undefined;
  const last = (side: Side, count: number) =>
    model
      .get("tokens")
      .filter(([of, at]) => of === side && at < count)
      .at(-1)?.[1];
  const locked = last("query", query.text.length);
  if (locked !== undefined) return { side: "query", of: locked };
  const column = places.query ? last("key", key.text.length) : undefined;
  return column === undefined ? { side: "query", of: places.start } : { side: "key", of: column };
}

/** The mean row of a head's map as bytes, and its largest value; masked cells count as 0. */
function meanRow(maps: EmbeddedMaps, head: number) {
  const [, , queries, keys] = maps.shape;
  const mean = new Float32Array(keys);
  const seen = new Uint8Array(keys);
  for (let i = 0; i < queries * keys; i++) {
    const value = valueAt(maps, head, i);
    if (Number.isNaN(value)) continue;
    seen[i % keys] = 1;
    mean[i % keys] = (mean[i % keys] ?? 0) + value / queries;
  }
  const largest = mean.reduce((a, b) => Math.max(a, b), 0);
  const bytes = Uint8Array.from(mean, (value, i) =>
    seen[i] ? 1 + Math.round(254 * Math.sqrt(largest > 0 ? value / largest : 0)) : 0,
  );
  return { bytes, largest };
}

/**
 * The row or the column of a token in the maps of all heads, and the strongest link of each. Rows
 * are painted with 8 bits, as thumbnails of a kernel are; weights of the links have those of the
 * page.
 */
export function rowOf(maps: EmbeddedMaps, { side, of }: PaintedToken, timesKeys: boolean) {
  const { values, maxima, shape, axes } = maps;
  const [layers, heads, queries, keys] = shape;
  const count = side === "query" ? keys : queries;
  const rows = new Uint8Array(layers * heads * count);
  const largest = new Float32Array(layers * heads);
  const most = new Float32Array(layers * heads);
  const strongest = new Int32Array(layers * heads * 2).fill(-1);
  const { placed } = axes[side === "query" ? "key" : "query"];
  for (let head = 0; head < layers * heads; head++) {
    const map = values.subarray(head * queries * keys, (head + 1) * queries * keys);
    const row = rows.subarray(head * count, (head + 1) * count);
    largest[head] = maxima[head] ?? 0;
    if (of === null) {
      const mean = meanRow(maps, head);
      row.set(mean.bytes);
      largest[head] = mean.largest;
    } else if (side === "query") row.set(map.subarray(of * keys, (of + 1) * keys));
    else for (let i = 0; i < queries; i++) row[i] = map[i * keys + of] ?? 0;
    const times = timesKeys ? row.filter((byte) => byte > 0).length : 1;
    largest[head] = (largest[head] ?? 0) * times;
    let best = -1;
    for (const [i, byte] of row.entries())
      if (byte && placed?.[i] && byte > (row[best] ?? 0)) best = i;
    if (best < 0) continue;
    const cell = side === "query" ? (of ?? 0) * keys + best : best * keys + (of ?? 0);
    most[head] =
      of === null
        ? decodedByte(row[best] ?? 0, largest[head] ?? 0)
        : times * valueAt(maps, head, cell);
    strongest.set(side === "query" ? [of ?? -1, best] : [best, of ?? -1], 2 * head);
  }
  const row: WireRow = {
    side,
    of,
    values: wire(rows, [layers, heads, count]),
    largest: wire(largest, [layers, heads]),
  };
  return {
    row,
    values: wire(new Uint8Array(), [layers, heads, 0, 0]),
    maxima: wire(most, [layers, heads]),
    strongest: wire(strongest, [layers, heads, 2]),
  };
}
