import { clamp } from "../clamp.js";
import type { TokenPlace } from "./token_places.js";

/** Number of cells per side of the grid that marks covered parts of a medium. */
const CELLS = 256;
/** Covered share from which a run of regions belongs to the next level. */
const COVERED = 0.25;
/** Sample positions inside a box, away from its edges. */
const SAMPLES = [1 / 6, 1 / 2, 5 / 6];

type Numbered = TokenPlace & { token: number };

/**
 * Return runs of neighboring tokens in reading order, for example a tile or the complete picture.
 */
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
 * Return the levels of overlapping regions: 0 for the smallest boxes, for example tiles, and 1 for
 * the complete picture below the tiles.
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

/**
 * Return the grid cell of a coordinate along a side that ends at `end`. A token that covers all
 * frequencies has cell 0.
 */
const at = (x: number, end: number) =>
  Number.isNaN(x) || !(end > 0) ? 0 : clamp(Math.floor((CELLS * x) / end), 0, CELLS - 1);
