import { remembered } from "../../shared/remembered.js";
import { type Head, sameHead } from "../../shared/types.js";
import { asFloat32 } from "../../shared/wire.js";
import { type Maps, mapAt } from "../several/map_types.js";
import type { ViewState } from "../state.js";
import type { Tile } from "./tile_types.js";

type Held = Pick<ViewState, "_tile" | "_maps" | "_axes" | "quantity" | "unit">;

const valuesOf = remembered((tile: Tile) => asFloat32(tile.values));

/** Whether maps are those of a choice, between the tokens of its axes. */
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

/** The tile that is a whole map, of whatever head; undefined where tiles are parts of maps. */
export const completeTile = ({ _tile: tile, _maps: maps }: Pick<Held, "_tile" | "_maps">) =>
  maps?.complete === false ? undefined : (tile ?? undefined);

/** The whole map of the last selected head, row by row; undefined while the page has another. */
export function ownMap(state: Held, head: Head): Float32Array | undefined {
  const tile = completeTile(state);
  if (!tile?.heads.some((other) => sameHead(other, head))) return undefined;
  return fits(tile, state) ? valuesOf(tile) : undefined;
}

/**
 * The whole maps of heads that are drawn together, row by row; undefined while the page lacks one.
 * Of one head in two attentions there are two.
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
