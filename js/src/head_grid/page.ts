import type { Metrics } from "../shared/head_types.js";
import { DamagedError } from "../shared/page/damage.js";
import { cellsOf, type EmbeddedMaps, mapsIn, valueAt, wire } from "../shared/page/embedded_maps.js";
import { localModel } from "../shared/page/local_model.js";
import type { Kernel } from "../shared/page/page_data.js";
import type { WirePlaces } from "../shared/places/place_types.js";
import type { Axes, Head, Side } from "../shared/types.js";
import { asFloat32, asInt32, type WireArray } from "../shared/wire.js";
import type { GridState, Rows, Thumbnails } from "./state.js";

/**
 * Values for the painted rows or columns of n tokens, for all heads. The maps have the rows
 * themselves.
 */
interface PaintedAnswers {
  /** float32 [n, L, H]: value that byte 255 encodes. */
  largest: WireArray;
  /** float32 [n, L, H]: value of the strongest link to a token with a region. */
  maxima: WireArray;
  /** int32 [n, L, H]: token at the other end of this link. */
  others: WireArray;
}

/** Thumbnails of a stack in one unit, as drawn when the page was saved. */
export interface DrawnThumbnails {
  axes: Axes;
  /** Thumbnails without a locked token, if they paint the row of the locked token. */
  thumbnails: Thumbnails;
  placed_on: GridState["_placed_on"];
  places: WirePlaces | null;
  /** Sides of locked tokens for which the cells can answer. */
  rows: Side[];
  /** Values for each side; null if no token is painted, or always the same token. */
  painted: Partial<Record<Side, PaintedAnswers>> | null;
}

interface Own {
  /** Metrics for each stack, and for each checkpoint if the grid shows a training. */
  metrics: Metrics[];
}

/** Create the model of a grid that shows the page's thumbnails, metrics and rows. */
export const pageModel: Kernel<GridState, Own> = ({ state, own }, held) => {
  const drawn = (held.thumbnails ?? []) as DrawnThumbnails[];
  const model = localModel<GridState>({
    ...state,
    _metrics: null,
    _thumbnails: null,
    _places: null,
    _rows: null,
  });

  const last = (side: Side, { axes }: DrawnThumbnails) =>
    model
      .get("tokens")
      .filter(([of, at]) => of === side && at < axes[side].text.length)
      .at(-1)?.[1];

  /** Return whether the thumbnails are of the requested kind: painted rows, or maps. */
  const isWanted = ({ thumbnails, placed_on }: DrawnThumbnails) => {
    const wish = model.get("thumbnail") ?? (placed_on === "pictures" ? "places" : "maps");
    return Boolean(thumbnails.row) === (wish === "places");
  };

  function measure(): void {
    const label = model.get("step") ?? model.get("_steps")?.at(-1);
    const shown = own.metrics.find(
      (of) => of.stack === model.get("stack") && (of.step === undefined || of.step === label),
    );
    model.set("_metrics", shown ?? null);
  }

  function draw(): void {
    const [shown] = drawn
      .filter(
        ({ thumbnails }) =>
          thumbnails.stack === model.get("stack") &&
          thumbnails.unit === model.get("unit") &&
          (!model.get("_compared")?.length ||
            thumbnails.comparison_part === model.get("comparison_part")),
      )
      .sort((a, b) => Number(isWanted(b)) - Number(isWanted(a)));
    if (!shown) throw new DamagedError("its thumbnails are missing");
    measure();
    const maps = mapsOf(shown);
    if (shown.rows.length && !maps) throw new DamagedError("its maps are missing");
    const { stack, unit, quantity } = shown.thumbnails;
    model.set("_axes", shown.axes);
    model.set("_places", shown.places);
    model.set("_placed_on", shown.placed_on);
    const query = last("query", shown);
    const key = last("key", shown);
    const side = query === undefined ? "key" : "query";
    const of = query ?? key;
    const painted = of === undefined ? undefined : shown.painted?.[side];
    model.set(
      "_thumbnails",
      maps && painted && of !== undefined
        ? paintedThumbnails(shown.thumbnails, maps, painted, side, of)
        : shown.thumbnails,
    );
    // Painted thumbnails already have the row of a single locked token.
    const answers = !shown.thumbnails.row || (query !== undefined && key !== undefined);
    const isThere = maps && of !== undefined && answers && shown.rows.includes(side);
    const off = model.get("disabled").filter(([, , name]) => name === stack);
    const rows: Rows | null = isThere
      ? { stack, unit, quantity, side, of, values: rowsOf(maps, side, of, off) }
      : null;
    model.set("_rows", rows);
  }

  const mapsOf = ({ thumbnails: { stack, unit, quantity } }: DrawnThumbnails) =>
    held.maps && mapsIn(held.maps, stack, unit, quantity);

  for (const name of ["stack", "unit", "comparison_part", "thumbnail", "tokens"])
    model.on(`change:${name}`, draw);
  model.on("change:step", measure);
  // As in the kernel, a new metric starts without a filter, whose range belonged to the old metric.
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

/** Return a query's row, or a key's column, for all heads; heads that are off have zeros. */
function rowsOf(maps: EmbeddedMaps, side: Side, of: number, off: Head[]): WireArray {
  const [layers, heads] = maps.shape;
  const cells = cellsOf(maps, side, of);
  const isOff = new Set(off.map(([layer, head]) => layer * heads + head));
  const values = Array.from({ length: layers * heads }, (_, head) =>
    cells.map((cell) => (isOff.has(head) ? 0 : valueAt(maps, head, cell))),
  );
  return wire(Float32Array.from(values.flat()), [layers, heads, cells.length]);
}

/** Return thumbnails that paint the row or the column of a locked token. */
function paintedThumbnails(
  thumbnails: Thumbnails,
  maps: EmbeddedMaps,
  painted: PaintedAnswers,
  side: Side,
  of: number,
): Thumbnails {
  const [layers, heads, queries, keys] = maps.shape;
  const count = layers * heads;
  const cells = cellsOf(maps, side, of);
  const bytes = Array.from({ length: count }, (_, head) =>
    cells.map((cell) => maps.values[head * queries * keys + cell] ?? 0),
  );
  const part = <T extends Float32Array | Int32Array>(array: T) =>
    array.slice(of * count, (of + 1) * count) as T;
  const others = part(asInt32(painted.others));
  const pairs = [...others].flatMap((other) => (side === "query" ? [of, other] : [other, of]));
  return {
    ...thumbnails,
    maxima: wire(part(asFloat32(painted.maxima)), [layers, heads]),
    strongest: wire(Int32Array.from(pairs), [layers, heads, 2]),
    row: {
      side,
      of,
      values: wire(Uint8Array.from(bytes.flat()), [layers, heads, cells.length]),
      largest: wire(part(asFloat32(painted.largest)), [layers, heads]),
    },
  };
}
