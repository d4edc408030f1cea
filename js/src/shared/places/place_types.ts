import type { WireArray } from "../wire.js";

/**
 * Where the tokens of both axes come from, float32 [tokens, 5]: the medium (pictures first, then
 * sounds), left, top, right and bottom, in pixels, or in seconds and hertz. NaN for a token without
 * a place; null for an axis without places.
 */
export interface WirePlaces {
  stack: string;
  unit: string;
  /** The query of the first row that is shown; null for the mean over all queries. */
  start: number | null;
  /** Whether queries are tokens of a decoder, each of which writes the next one. */
  writes?: boolean;
  query: WireArray | null;
  key: WireArray | null;
}

/** A picture as one file, with its size as the user gave it. */
interface WirePicture {
  width: number;
  height: number;
  /** Pixels of the file from left to right. */
  across: number;
  type: string;
  file: WireArray;
}

/** A sound: the largest and smallest sample of its parts [parts, 2], and a file to play. */
interface WireSound {
  seconds: number;
  /** Seconds that the file has. */
  played: number;
  waveform: WireArray;
  type: string;
  file: WireArray;
}

/** The pictures and sounds that the model read. */
export interface WireMedia {
  pictures: WirePicture[];
  sounds: WireSound[];
}
