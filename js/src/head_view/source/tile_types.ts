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

/** The maps of a long input as a whole, and what they were asked for with. */
export interface LongMaps extends Blocks, Pick<SharedState, "quantity" | "unit" | "hidden"> {
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

/** What a long input has no head of. */
export interface NoHead {
  heads: [];
}

/** The visible part with its surroundings; at a step of 1 the values themselves. */
export interface Tile extends Blocks {
  /** The window that was asked for, and the positions in sight of it. */
  asked: MapPart | null;
  part: MapPart;
  queries: [number, number];
  keys: [number, number];
  /** The strongest in sight of each map, where lines are drawn. */
  links: Link[][] | null;
}

/** One query's values to all keys, of each map, as maxima of `step` keys; the first key apart. */
export interface TileRow {
  heads: Head[];
  query: number;
  step: number;
  values: WireArray;
  first: number[] | null;
  links: [key: number, weight: number][][];
}

/** The row of a query or the column of a key, with every single value of each map [maps, n]. */
export interface ExactRow {
  heads: Head[];
  side: Side;
  /** The position of the token; null for the mean over all queries. */
  at: number | null;
  values: WireArray;
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
