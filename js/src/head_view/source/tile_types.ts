import type { Head, SharedState, Side } from "../../shared/types.js";
import type { MapPart } from "../../shared/window.js";
import type { WireArray } from "../../shared/wire.js";
import type { Cells, ChosenRow, Pair, QueryRow } from "./map_source.js";

/** Attention from and to the sentences of a pair; "ab" is from A to B. */
export type Sentences = "all" | "aa" | "ab" | "ba" | "bb";

/** From and to, as positions on the visible axes, and the weight. */
export type Link = [query: number, key: number, weight: number];

/**
 * Values of blocks of `step` queries and keys of several maps, [maps, rows, columns]; the first key
 * apart, [maps, rows], where it is. NaN where all is masked.
 */
interface Blocks {
  heads: Head[];
  step: number;
  values: WireArray;
  first: WireArray | null;
}

/**
 * The drawn maps of a stack where not every cell crosses: all that is shown of them, in blocks, and
 * the choices of what is shown.
 */
export interface BlockMaps extends Blocks, Pick<SharedState, "quantity" | "unit" | "hidden"> {
  complete: false;
  stack: string;
  sentences: Sentences;
  /** Visible ones. */
  n_query: number;
  n_key: number;
  /** The largest value of each map but for those to the first key. */
  maxima: number[];
  /** The strongest of each map. */
  links: Link[][];
  /** Shares of the visible rows' weight that go to hidden keys, and to the other sentence. */
  shares: [hidden: number, filtered: number];
}

/**
 * A part of the maps at a step of 1, or in smaller blocks. Where every cell crosses, it is the
 * whole map of the last selected head, between all tokens.
 */
export interface Tile extends Blocks {
  stack: string;
  quantity: string;
  unit: string;
  /** False where the values were rounded to bytes, as in a standalone page. */
  exact: boolean;
  /** The window that was asked for, and the positions in sight of it. */
  asked: MapPart | null;
  part: MapPart;
  queries: [number, number];
  keys: [number, number];
  /** The strongest in sight of each map, where lines are drawn. */
  links: Link[][] | null;
}

/**
 * The row of a query or the column of a key, of each map. With `links`, maxima of `step` keys and
 * the first key apart; without, every single value, to be painted on pictures.
 */
export interface TileRow {
  heads: Head[];
  side: Side;
  /** The position of the token; null for the mean over all queries. */
  at: number | null;
  step: number;
  values: WireArray;
  first: number[] | null;
  links: [key: number, weight: number][][] | null;
}

/** The loaded parts of a map. */
export interface MapParts {
  /** Whether the overview has every single cell, so that nothing else is needed. */
  isComplete: boolean;
  overview: Cells;
  tile?: { cells: Cells; tile: Tile } | undefined;
  row?: QueryRow | undefined;
  /** The row or column that is painted on pictures. */
  chosen?: ChosenRow | undefined;
  /** The strongest of all that is shown, and those in sight; none of a complete map. */
  strongest: Pair[];
  links: Pair[];
}
