import { remembered } from "../../shared/remembered.js";
import { type Head, sameHead } from "../../shared/types.js";
import { asFloat32 } from "../../shared/wire.js";
import { type Maps, mapAt } from "../several/map_types.js";
import type { ViewState } from "../state.js";
import type { Tile } from "./tile_types.js";

type Held = Pick<ViewState, "_tile" | "_maps" | "_axes" | "quantity" | "unit">;

const valuesOf = remembered((tile: Tile) => asFloat32(tile.values));

/** Return whether maps match the state's quantity, unit and axes. */
function fits(maps: Maps | Tile, { _axes: axes, quantity, unit }: Held): boolean {
  const [, queries, keys] = maps.values.shape;
  return (
    maps.quantity === quantity &&
    maps.unit === unit &&
    axes?.stack === maps.stack &&
    axes.unit === unit &&
    queries === axes.query.text.length &&
    keys === axes.key.text.length
  );
}

/** Return the tile if it is the complete map of a head; undefined if tiles are parts of maps. */
export const completeTile = ({ _tile: tile, _maps: maps }: Pick<Held, "_tile" | "_maps">) =>
  maps?.complete === false ? undefined : (tile ?? undefined);

/**
 * Return the complete map of the last selected head, row by row; undefined while the page has
 * another map.
 */
export function ownMap(state: Held, head: Head): Float32Array | undefined {
  const tile = completeTile(state);
  if (!tile?.heads.some((other) => sameHead(other, head))) return undefined;
  return fits(tile, state) ? valuesOf(tile) : undefined;
}

/**
 * Return the complete maps of heads that are drawn together, row by row; undefined while one is
 * missing. One head in a comparison of two attentions has two maps.
 */
export function mapsTogether(state: Held, heads: Head[]): Float32Array[] | undefined {
  const { _maps: maps } = state;
  if (!maps?.complete || !fits(maps, state)) return undefined;
  const isTwice = heads.length === 2 && sameHead(heads[0] as Head, heads[1] as Head);
  const placeOf = (head: Head, i: number) =>
    isTwice && maps.heads.length === 2
      ? sameHead(head, maps.heads[i] as Head)
        ? i
        : -1
      : maps.heads.findIndex((other) => sameHead(other, head));
  const places = heads.map(placeOf);
  return places.includes(-1) ? undefined : places.map((place) => mapAt(maps, place));
}
