import { clamp } from "../clamp.js";
import type { TokenPlace } from "./token_places.js";

/** Cells a side in which covered parts of a medium are marked. */
const CELLS = 256;
/** A run of places that others cover to this share is a further level. */
const COVERED = 0.25;
/** Places of a box at which it is tested: clear of its edges. */
const SAMPLES = [1 / 6, 1 / 2, 5 / 6];

type Numbered = TokenPlace & { token: number };

/** Neighboring tokens in the order of reading: a tile, or the whole picture. */
function runsOf(places: (TokenPlace | undefined)[]): Numbered[][] {
  const runs: Numbered[][] = [];
  let last: TokenPlace | undefined;
  for (const [token, place] of places.entries()) {
    if (!place) continue;
    const goesOn =
      last !== undefined && last.medium === place.medium && !(place.top < last.top - 1e-3);
    if (!goesOn) runs.push([]);
    runs.at(-1)?.push({ ...place, token });
    last = place;
  }
  return runs;
}

const areaOf = ({ left, top, right, bottom }: TokenPlace) =>
  (right - left) * (Number.isNaN(bottom - top) ? 1 : bottom - top);

function middle(run: Numbered[]): number {
  const areas = run.map(areaOf).sort((a, b) => a - b);
  return areas[areas.length >> 1] ?? 0;
}

/**
 * Levels of overlapping places: 0 for the smallest boxes, for example tiles, and 1 for the whole
 * picture below the tiles.
 */
export function placeLevels(places: (TokenPlace | undefined)[]): Uint8Array {
  const levels = new Uint8Array(places.length);
  const runs = runsOf(places)
    .map((run) => ({ run, area: middle(run) }))
    .sort((a, b) => a.area - b.area);
  const media = new Map<number, { right: number; bottom: number; taken: Uint8Array[] }>();
  for (const { medium, right, bottom } of places.flatMap((place) => place ?? [])) {
    const known = media.get(medium) ?? { right: 0, bottom: 0, taken: [] };
    known.right = Math.max(known.right, right);
    known.bottom = Math.max(known.bottom, bottom || 0);
    media.set(medium, known);
  }
  for (const { run } of runs) {
    const medium = media.get(run[0]?.medium ?? -1);
    if (!medium) continue;
    const column = (x: number) => at(x, medium.right);
    const row = (y: number) => at(y, medium.bottom);
    const samples = run.flatMap(({ left, top, right, bottom }) =>
      SAMPLES.flatMap((across) =>
        SAMPLES.map(
          (down) =>
            row(top + down * (bottom - top)) * CELLS + column(left + across * (right - left)),
        ),
      ),
    );
    let level = 0;
    const isCovered = (taken: Uint8Array) =>
      samples.filter((cell) => taken[cell]).length > COVERED * samples.length;
    while (medium.taken[level] && isCovered(medium.taken[level] as Uint8Array)) level++;
    medium.taken[level] ??= new Uint8Array(CELLS * CELLS);
    const taken = medium.taken[level] as Uint8Array;
    for (const { token, left, top, right, bottom } of run) {
      levels[token] = level;
      for (let y = row(top); y <= row(bottom - (bottom - top) / 1e3); y++)
        taken.fill(
          1,
          y * CELLS + column(left),
          y * CELLS + column(right - (right - left) / 1e3) + 1,
        );
    }
  }
  return levels;
}

/** The cell of a place along a side that ends at `end`; all frequencies are one cell. */
const at = (x: number, end: number) =>
  Number.isNaN(x) || !(end > 0) ? 0 : clamp(Math.floor((CELLS * x) / end), 0, CELLS - 1);
