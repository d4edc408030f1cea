import type { Span } from "./lines_choose.js";
import type { VisibleMap } from "./visible_map.js";

/** A token (one side) or a pair (both), as positions on the visible axes. */
export interface Target {
  query?: number | undefined;
  key?: number | undefined;
}

export const isPair = (target: Target): target is { query: number; key: number } =>
  target.query !== undefined && target.key !== undefined;
export const isEmpty = (target: Target) => target.query === undefined && target.key === undefined;

export const weightAt = (map: VisibleMap, query: number, key: number) =>
  map.values[query * map.cols.length + key] ?? Number.NaN;

/** Rows and columns in sight, as positions on the visible axes. */
export interface InSight {
  query: Span;
  key: Span;
}

/** A place of the map: its row and column, which need not be whole. */
export type Place = Record<"query" | "key", number>;
