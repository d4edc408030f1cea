import type { TokenSize } from "../shared/labels.js";
import type { WireMedia, WirePlaces } from "../shared/places/place_types.js";
import type { SharedState, Side } from "../shared/types.js";
import type { WireArray } from "../shared/wire.js";
import type { Arrangement, Maps, OfTwoMaps } from "./several/map_types.js";
import type { BlockMaps, Sentences, Tile, TileRow } from "./source/tile_types.js";

/** The steps in which a model wrote a text. */
export interface Steps {
  /** The query of the first step: the last token of the prompt. */
  first: number;
  count: number;
  /** The probability of the chosen token, per step; empty if the model cannot be asked. */
  chosen: number[];
  /** The likeliest other tokens with their probabilities, per step. */
  rivals: [text: string, probability: number][][];
  /** Why there are no probabilities, or "". */
  problem: string;
}

/** When the decoder of a speech model looks for each word that it writes. */
export interface Staircase {
  stack: string;
  layer: number;
  head: number;
  unit: string;
  /** Seconds of a step of the time. */
  step: number;
  /** For each word, the query that wrote its first token. */
  rows: number[];
  words: string[];
  /** float32 [words, steps]: the weight within each step of the time. */
  values: WireArray;
}

/** The traits of `HeadView`. */
export interface ViewState extends SharedState {
  mode: "lines" | "matrix" | "places";
  sentences: Sentences;
  token_size: TokenSize;
  /** Tokens of lines in two columns, or in two rows. */
  /**
   * The part of a matrix that is in sight, [query from, query to, key from, key to) on the full
   * axes; null shows all.
   */
  window: [number, number, number, number] | null;
  _highlighted: { query: number[]; key: number[] };
  arrangement: Arrangement;
  of: "selected" | "layer";
  /**
   * The heads, or the two inputs, that are drawn together; of a long input always, in blocks. Null
   * where `_tile` has the whole map of the only head.
   */
  _maps: Maps | BlockMaps | null;
  /** The whole map of the last selected head, or what is in sight of `_maps` in blocks. */
  _tile: Tile | null;
  /** The row of the locked query in a long input, or the row that is painted on a picture. */
  _row: TileRow | null;
  /** What the maps are compared with; null for nothing. */
  versus: "intact" | "other" | null;
  /** Which maps of a comparison are drawn. */
  comparison_part: OfTwoMaps;
  /** What the two are called; empty while nothing is compared. */
  _compared: string[];
  /** A search: `n` counts them, -1 goes backwards; and its answer. */
  _search: { n?: number; text?: string; side?: Side; step?: 1 | -1 };
  /** The steps of a generated text; null for other texts. */
  _steps: Steps | null;
  /** Whether the shown stack can be drawn on pictures or sounds. */
  _has_places?: boolean;
  /** Where tokens come from, and the pictures and sounds; null in other modes. */
  _places?: WirePlaces | null;
  _media?: WireMedia | null;
  _staircase?: Staircase | null;
  _search_answer: { n?: number; count?: number; at?: number; nth?: number };
}

/** Those that are drawn. */
export const WATCHED: (keyof ViewState)[] = [
  "selected",
  "layer",
  "tokens",
  "hidden",
  "quantity",
  "unit",
  "scale",
  "disabled",
  "labels",
  "mode",
  "sentences",
  "_highlighted",
  "token_size",
  "window",
  "_axes",
  "_stacks",
  "_source",
  "_quantities",
  "arrangement",
  "of",
  "_maps",
  "versus",
  "comparison_part",
  "_compared",
  "_tile",
  "_row",
  "_search",
  "_search_answer",
  "_steps",
  "_has_places",
  "_places",
  "_media",
  "_staircase",
];
