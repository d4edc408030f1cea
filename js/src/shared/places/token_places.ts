import type { Axes, Side } from "../types.js";
import { asFloat32, type WireArray } from "../wire.js";
import { placeLevels } from "./place_levels.js";
import type { WirePlaces } from "./place_types.js";

/** Region of a token: pixels of a picture, or seconds and hertz of a sound. */
export interface TokenPlace {
  medium: number;
  left: number;
  top: number;
  right: number;
  bottom: number;
}

type Places = (TokenPlace | undefined)[];

/** Regions of both axes, with one entry per token. */
export interface AxesPlaces extends Record<Side, Places> {
  start: number | null;
  /** Whether a query is labeled with the token that its row predicts, which is the next one. */
  writes: boolean;
  /** Whether both axes have the same tokens, so that each token is a query and a key. */
  isOneText: boolean;
  /** Level of each token: 0 for the smallest boxes, 1 for a picture below its tiles. */
  levels: Record<Side, Uint8Array>;
}

function places(wire: WireArray | null, count: number): Places {
  if (!wire) return Array.from({ length: count }, () => undefined);
  const numbers = asFloat32(wire);
  return Array.from({ length: count }, (_, i) => {
    const [medium = Number.NaN, left = 0, top = 0, right = 0, bottom = 0] = numbers.subarray(
      5 * i,
      5 * i + 5,
    );
    return Number.isNaN(medium) ? undefined : { medium, left, top, right, bottom };
  });
}

const isSame = (a: TokenPlace | undefined, b: TokenPlace | undefined) =>
  String(a && Object.values(a)) === String(b && Object.values(b));

const known = new WeakMap<WirePlaces, { axes: Axes; made: AxesPlaces }>();

/**
 * Return the regions of the tokens on these axes, or undefined while the kernel has not sent them.
 */
export function placesOf({ _places: wire }: { _places?: WirePlaces | null }, axes: Axes) {
  if (!wire || wire.stack !== axes.stack || wire.unit !== axes.unit) return undefined;
  const fits = (array: WireArray | null, side: Side) =>
    !array || array.shape[0] === axes[side].text.length;
  if (!fits(wire.query, "query") || !fits(wire.key, "key")) return undefined;
  const before = known.get(wire);
  if (before?.axes === axes) return before.made;
  const query = places(wire.query, axes.query.text.length);
  const key = places(wire.key, axes.key.text.length);
  const made: AxesPlaces = {
    start: wire.start,
    writes: wire.writes ?? false,
    query,
    key,
    isOneText:
      wire.query !== null &&
      query.length === key.length &&
      axes.query.text.every((text, i) => text === axes.key.text[i]) &&
      query.every((place, i) => isSame(place, key[i])),
    levels: { query: placeLevels(query), key: placeLevels(key) },
  };
  known.set(wire, { axes, made });
  return made;
}
