import type { MapPart } from "../../shared/window.js";
import { type Cells, touched } from "./map_source.js";
import { sourceOf } from "./source_of.js";
import type { VisibleMap } from "./visible_map.js";

/** Return the largest absolute value of cells inside a part of the map. */
function farthest(cells: Cells, part: MapPart): number {
  const [top, bottom, left, right] = touched(cells, part);
  let most = 0;
  for (let r = top; r < bottom; r++)
    for (let c = left; c < right; c++) {
      const size = Math.abs(cells.values[r * cells.cols + c] ?? 0);
      if (size > most) most = size;
    }
  return most;
}

/**
 * Return the largest known value inside a part of a map, without a first key in a separate column.
 */
function largestIn(map: VisibleMap, [top, bottom, left, right]: MapPart): number {
  const source = sourceOf(map);
  const part: MapPart = [top, bottom, source.overview.first ? Math.max(1, left) : left, right];
  return Math.max(...source.cells(part).map((cells) => farthest(cells, part)));
}

/**
 * Return a map whose color scale ends at the largest visible value. Heads that are drawn together
 * share the scale, and a difference has its own. Without a visible value, the map stays unchanged.
 */
export function scaledToSight(map: VisibleMap, part: MapPart): VisibleMap {
  const shared = largestIn(map.most ?? map, part);
  const scaled = (of: VisibleMap): VisibleMap => {
    const maximum = of.signed ? largestIn(of, part) : shared;
    return maximum > 0 ? { ...of, maximum, maximumOfAll: of.maximum } : of;
  };
  const result = { ...scaled(map) };
  if (map.members) result.members = map.members.map(scaled);
  if (map.most) result.most = scaled(map.most);
  return result;
}
