import type { Head, SharedState, Side } from "../../shared/types.js";
import type { MapPart } from "../../shared/window.js";
import type { WireArray } from "../../shared/wire.js";
import type { Cells, ChosenRow, Pair, QueryRow } from "./map_source.js";

/** Filter of attention between the sentences of a pair; "ab" is from A to B. */
export type Sentences = "all" | "aa" | "ab" | "ba" | "bb";

/** Query and key as positions on the visible axes, and the weight. */
export type Link = [query: number, key: number, weight: number];

/**
 * Values of several maps in blocks of `step` queries and keys, [maps, rows, columns], and of the
 * first key if it is separate, [maps, rows]. NaN where a complete block is masked.
 */
interface Blocks {
  heads: Head[];
  step: number;
  values: WireArray;
  first: WireArray | null;
}

/**
 * Maps of a stack whose cells are not all sent: overviews in blocks, with the options that selected
 * the visible tokens.
 */
export interface BlockMaps extends Blocks, Pick<SharedState, "quantity" | "unit" | "hidden"> {
  complete: false;
  stack: string;
  sentences: Sentences;
  /** Numbers of visible queries and keys. */
  n_query: number;
  n_key: number;
  /** Largest value of each map, without the weights to the first key. */
  maxima: number[];
  /** Strongest links of each map. */
  links: Link[][];
  /** Shares of the visible rows' weight on hidden keys and on the other sentence. */
  shares: [hidden: number, filtered: number];
}

/**
 * Part of the maps with a step of 1 or in smaller blocks. If every cell is sent, it is the complete
 * map of the last selected head, between all tokens.
 */
export interface Tile extends Blocks {
  stack: string;
  quantity: string;
  unit: string;
  /** Whether values are exact; false if they were rounded to bytes, as in a standalone page. */
  exact: boolean;
  /** Requested window, and its visible positions. */
  asked: MapPart | null;
  part: MapPart;
  queries: [number, number];
  keys: [number, number];
  /** Strongest visible links of each map, if lines are drawn. */
  links: Link[][] | null;
}

/**
 * Row of a query or column of a key, for each map. With `links`, it has maxima of `step` keys and a
 * separate first key. Otherwise it has every value, to be painted on pictures.
 */
export interface TileRow {
  heads: Head[];
  side: Side;
  /** Position of the token; null for the mean over all queries. */
  at: number | null;
  step: number;
  values: WireArray;
  first: number[] | null;
  links: [key: number, weight: number][][] | null;
}

/** Loaded parts of a map. */
export interface MapParts {
  /** Whether the overview has every cell, so that nothing else is needed. */
  isComplete: boolean;
  overview: Cells;
  tile?: { cells: Cells; tile: Tile } | undefined;
  row?: QueryRow | undefined;
  /** Row or column that is painted on pictures. */
  chosen?: ChosenRow | undefined;
  /** Strongest links of the visible tokens and of the visible part; empty for a complete map. */
  strongest: Pair[];
  links: Pair[];
}
