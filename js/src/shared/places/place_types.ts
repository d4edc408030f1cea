import type { WireArray } from "../wire.js";

/**
 * Regions of the tokens of both axes, float32 [tokens, 5]: medium (pictures first, then sounds),
 * left, top, right and bottom, in pixels or in seconds and hertz. NaN for a token without a region;
 * null for an axis without regions.
 */
export interface WirePlaces {
  stack: string;
  unit: string;
  /** Query of the first row that is shown, or null for the mean over all queries. */
  start: number | null;
  /** Whether queries are decoder tokens, each of which predicts the next token. */
  writes?: boolean;
  query: WireArray | null;
  key: WireArray | null;
}

/** Picture as one file, with its original size. */
interface WirePicture {
  width: number;
  height: number;
  /** Width of the file in pixels. */
  across: number;
  type: string;
  file: WireArray;
}

/** Sound: the largest and smallest sample of each part [parts, 2], and a file to play. */
interface WireSound {
  seconds: number;
  /** Duration of the file in seconds. */
  played: number;
  waveform: WireArray;
  type: string;
  file: WireArray;
}

/** Pictures and sounds of the model's input. */
export interface WireMedia {
  pictures: WirePicture[];
  sounds: WireSound[];
}
