import { labelOf, quoted } from "../shared/labels.js";
import { figures } from "../shared/numbers.js";
import { type Print, printer } from "../shared/quantity.js";
import { remembered } from "../shared/remembered.js";
import type { Axis, Side } from "../shared/types.js";
import { asFloat32 } from "../shared/wire.js";
import type { Link, LongHead, Part, Row, Tile } from "./long_types.js";
import type { Place } from "./long_window.js";
import type { Ground } from "./scene.js";
import type { ViewState } from "./state.js";

/**
 * Maxima of blocks with where they are: the block of row r and column c begins at q0 + r step and
 * k0 + c step.
 */
export interface Cells {
  q0: number;
  k0: number;
  step: number;
  rows: number;
  cols: number;
  values: Float32Array;
  first: Float32Array;
}

/** One block, or one cell at a step of 1. */
export interface Block extends Place {
  step: number;
  weight: number;
}

/** All that a figure of a long input draws. */
export interface LongScene extends Omit<Ground, "active" | "dense"> {
  state: ViewState;
  head: LongHead;
  overview: Cells;
  tile: Cells | null;
  /** Of the tile, where each of its cells is a pair of tokens. */
  axes: Record<Side, Axis> | null;
  links: Tile["links"];
  row: Row | null;
  /** In sight. */
  part: Part;
  /** The weight at the end of the colour scale. */
  maximum: number;
  print: Print;
  locked: Record<Side, number | undefined>;
  /** The block under the pointer or the cursor. */
  active: Block | undefined;
  /** Which of the links, in lines. */
  link: number | undefined;
}

const of = (blocks: LongHead | Tile, q0: number, k0: number): Cells => {
  const [rows = 0, cols = 0] = blocks.values.shape;
  return {
    q0,
    k0,
    step: blocks.step,
    rows,
    cols,
    values: asFloat32(blocks.values),
    first: asFloat32(blocks.first),
  };
};

/** Prints weights, also small ones: many keys leave little to each. */
const printed: Print = (value, largest) =>
  largest === undefined && value > 0 ? figures(value) : exact(value, largest);
const exact = printer(true, "weights");

/** Reads what crossed from the kernel once, however often it is drawn. */
export const reader = () => ({
  overview: remembered((head: LongHead) => of(head, 0, 0)),
  tile: remembered((tile: Tile | null) => tile && of(tile, tile.queries[0], tile.keys[0])),
  maximum: remembered(maximumInSight),
});

/**
 * The largest weight of a zoomed window, without the first key; 0 without a window. The tile of the
 * last request decides, so that colours stay while the window moves.
 */
function maximumInSight(tile: Tile | null): number {
  if (!tile?.window) return 0;
  const { values } = inSight(of(tile, tile.queries[0], tile.keys[0]), tile.window);
  return values.reduce((most, value) => Math.max(most, value || 0), 0);
}

export function longScene(
  ground: Omit<Ground, "active" | "dense">,
  state: ViewState,
  read: ReturnType<typeof reader>,
  part: Part,
  at: Pick<LongScene, "active" | "link">,
): LongScene {
  const head = state._long as LongHead;
  const tile = state._tile;
  const locked = (side: Side) => state.tokens.findLast(([where]) => where === side)?.[1];
  return {
    ...ground,
    state,
    head,
    part,
    row: state._row,
    axes: tile?.axes ?? null,
    links: tile?.links ?? null,
    overview: read.overview(head),
    tile: read.tile(tile),
    maximum: read.maximum(tile) || head.maximum,
    print: printed,
    locked: { query: locked("query"), key: locked("key") },
    ...at,
  };
}

/** The blocks that are in sight alone: a picture is drawn as large as all that it holds. */
export function inSight({ q0, k0, step, rows, cols, values, first }: Cells, part: Part): Cells {
  const within = (from: number, start: number, end: number, count: number): [number, number] => [
    Math.max(0, Math.floor((start - from) / step)),
    Math.min(count, Math.ceil((end - from) / step)),
  ];
  const [top, bottom] = within(q0, part[0], part[1], rows);
  const [left, right] = within(k0, part[2], part[3], cols);
  const height = Math.max(0, bottom - top);
  const width = Math.max(0, right - left);
  const kept = new Float32Array(height * width);
  for (let r = 0; r < height; r++)
    kept.set(values.subarray((top + r) * cols + left, (top + r) * cols + left + width), r * width);
  return {
    q0: q0 + top * step,
    k0: k0 + left * step,
    step,
    rows: height,
    cols: width,
    values: kept,
    first: first.subarray(top, top + height),
  };
}

/** The block of some cells that a place is in; nothing beside them. */
export function blockIn(cells: Cells, { query, key }: Place): Block | undefined {
  const { q0, k0, step, rows, cols, values } = cells;
  const r = Math.floor((query - q0) / step);
  const c = Math.floor((key - k0) / step);
  if (r < 0 || r >= rows || c < 0 || c >= cols) return undefined;
  return {
    query: q0 + r * step,
    key: k0 + c * step,
    step,
    weight: values[r * cols + c] ?? Number.NaN,
  };
}

/** The smallest block that is known of a place. */
export const blockAt = (
  { tile, overview }: Pick<LongScene, "tile" | "overview">,
  place: Place,
): Block | undefined => (tile && blockIn(tile, place)) ?? blockIn(overview, place);

/** A token with its place, as far as it is known. */
export function tokenAt({ axes, tile, head, row }: LongScene, side: Side, index: number): string {
  const start = side === "query" ? tile?.q0 : tile?.k0;
  const axis = axes?.[side];
  const at = index - (start ?? 0);
  if (axis && at in axis.text) return named(labelOf(axis, at), index);
  if (side === "key" && index === 0) return named(head.first_text, 0);
  if (side === "query" && index === row?.query) return named(row.text, index);
  return `${side} ${index}`;
}

/** A token as text names it: what it is, and where. */
export const named = (text: string, index: number): string =>
  `${quoted(text.trim() || "␣")} (${index})`;

/** The places of a block on one side, as text names them. */
const places = (from: number, step: number, count: number) =>
  `${from}–${Math.min(count, from + step) - 1}`;

/** A cell with its weight, or a block with the largest of its weights. */
export function described(scene: LongScene, { query, key, step, weight }: Block): string {
  const { head, print } = scene;
  if (step === 1)
    return `${tokenAt(scene, "query", query)} → ${tokenAt(scene, "key", key)} ${print(weight)}`;
  const known = Number.isNaN(weight) ? "masked" : `at most ${print(weight)}`;
  return (
    `queries ${places(query, step, head.n_query)} → keys ` +
    `${places(key, step, head.n_key)}: ${known}`
  );
}

/** The ends of a link, by what they are and where. */
export const linkLabel = ([query, key, , from, to]: Link): string =>
  `${named(from, query)} → ${named(to, key)}`;

/** One link with its weight. */
export const linkText = (scene: LongScene, link: Link): string =>
  `${linkLabel(link)} ${scene.print(link[2])}`;

/** The block a step away from another one, still on the map. */
export function blockBeside(scene: LongScene, from: Block, by: Place): Place {
  const { head, tile, overview, part } = scene;
  const step = (tile && blockIn(tile, { query: part[0], key: part[2] }) ? tile : overview).step;
  const moved = (at: number, way: number, count: number) =>
    Math.max(0, Math.min(count - 1, (Math.floor(at / step) + way) * step));
  return {
    query: moved(from.query, by.query, head.n_query),
    key: moved(from.key, by.key, head.n_key),
  };
}
