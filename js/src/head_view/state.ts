import type { TokenSize } from "../shared/labels.js";
import type { WireMedia, WirePlaces } from "../shared/places/place_types.js";
import type { SharedState, Side } from "../shared/types.js";
import type { WireArray } from "../shared/wire.js";
import type { Arrangement, Maps, OfTwoMaps } from "./several/map_types.js";
import type { BlockMaps, Sentences, Tile, TileRow } from "./source/tile_types.js";

/** Generation steps of a text. */
export interface Steps {
  /** Query of the first step, which is the last token of the prompt. */
  first: number;
  count: number;
  /** Probability of the generated token, per step; empty if the model is not available. */
  chosen: number[];
  /** Most probable other tokens with their probabilities, per step. */
  rivals: [text: string, probability: number][][];
  /** Reason why there are no probabilities, or "". */
  problem: string;
}

/** Weights of a speech model's decoder over time, for each word that it writes. */
export interface Staircase {
  stack: string;
  layer: number;
  head: number;
  unit: string;
  /** Duration of a time step in seconds. */
  step: number;
  /** Query that wrote the first token of each word. */
  rows: number[];
  words: string[];
  /** float32 [words, steps]: weight within each time step. */
  values: WireArray;
}

/** Traits of `HeadView`. */
export interface ViewState extends SharedState {
  mode: "lines" | "matrix" | "places";
  sentences: Sentences;
  token_size: TokenSize;
  /**
   * Visible part of a matrix, [query from, query to, key from, key to) on the complete axes; null
   * shows all.
   */
  window: [number, number, number, number] | null;
  _highlighted: { query: number[]; key: number[] };
  arrangement: Arrangement;
  shown_heads: "selected" | "layer";
  /**
   * Maps of the heads, or of the two inputs, that are drawn together. For a long input, always
   * present and in blocks. Null if `_tile` has the complete map of the only head.
   */
  _maps: Maps | BlockMaps | null;
  /** Complete map of the last selected head, or the visible part of `_maps` in blocks. */
  _tile: Tile | null;
  /** Row of the locked query in a long input, or the row that is painted on a picture. */
  _row: TileRow | null;
  /** Attention that the maps are compared with; null for none. */
  versus: "intact" | "other" | null;
  /** Drawn maps of a comparison. */
  comparison_part: OfTwoMaps;
  /** Names of the two compared attentions; empty if there is no comparison. */
  _compared: string[];
  /** Search request: `n` counts requests, and a `step` of -1 searches backward. */
  _search: { n?: number; text?: string; side?: Side; step?: 1 | -1 };
  /** Steps of a generated text; null for other texts. */
  _steps: Steps | null;
  /** Whether the shown stack can be drawn on pictures or sounds. */
  _has_places?: boolean;
  /** Regions of the tokens, and the pictures and sounds; null in other modes. */
  _places?: WirePlaces | null;
  _media?: WireMedia | null;
  _staircase?: Staircase | null;
  _search_answer: { n?: number; count?: number; at?: number; nth?: number };
}

/** Traits whose changes redraw the figure. */
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
  "shown_heads",
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
