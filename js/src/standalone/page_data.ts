import type { CoreferenceState, DrawnWindow } from "../draw/coreference_data.js";
import type { MapState, Metrics, StripState } from "../model/head_types.js";
import type { ArcsState, DrawnSentence, TableState } from "../model/relation_types.js";
import type { GridState, ViewState } from "../model/types.js";
import type { WireArray } from "../model/wire.js";
import type { EmbeddedMaps } from "./maps.js";

/** Bytes as base64 text. */
export type Text64 = string;

/** How often every head is right on every one of R relations. */
export interface EmbeddedAccuracies {
  relations: string[];
  /** int32 [L, H, 2, R]. */
  correct: WireArray;
  /** int32 [R], float32 [R], int32 [R]. */
  counts: WireArray;
  baseline: WireArray;
  offsets: WireArray;
}

/** A sentence of m words with what every head predicts for it. */
export interface HeldSentence {
  drawn: DrawnSentence;
  predicted: {
    /** uint16 [L, H, 2, m], from 1. */
    governors: Text64;
    /** float32 [L, H, 2, m]: the weight behind each, exact. */
    weights: Text64;
    /** uint8 [L, H, m, m] as in `EmbeddedMaps`, and the maximum of each map. */
    maps: Text64;
    maxima: number[];
  } | null;
}

export interface EmbeddedSentences {
  /** Index of the first sentence held. */
  first: number;
  stack: string;
  shape: [layers: number, heads: number];
  held: HeldSentence[];
  measured: EmbeddedAccuracies | null;
  /** Whether choosing a relation shows a sentence that has it, as in an explorer. */
  follows: boolean;
}

/** A window of E evaluated mentions with every head's choices. */
export interface HeldWindow {
  drawn: DrawnWindow;
  /** int16 [E, 2, L, H], words of the window; and float32 [E, 2, L, H]. */
  words: Text64;
  weights: Text64;
}

export interface EmbeddedDocuments {
  /** The documents held. */
  first: number;
  stop: number;
  shape: [layers: number, heads: number];
  held: HeldWindow[];
  /** [2, L, H]: mentions of the study that each head is right on. */
  correct: number[];
}

/** All that a page holds: each figure's state where it has that figure, and what its kernel answers from. */
export interface PageData {
  grid?: GridState;
  view?: ViewState;
  map?: MapState;
  strip?: StripState;
  table?: TableState;
  arcs?: ArcsState;
  coreference?: CoreferenceState;
  metrics: Record<string, Metrics[]>;
  /** What a figure's reader must know, by the figure's name. */
  remarks: Record<string, string>;
  maps?: (Omit<EmbeddedMaps, "values"> & { values: Text64 })[];
  sentences?: EmbeddedSentences;
  windows?: EmbeddedDocuments;
}
