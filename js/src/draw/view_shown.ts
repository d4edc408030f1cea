import type { Axes, Head, Model, ViewState } from "../model/types.js";
import { asFloat32 } from "../model/wire.js";
import { maskName, rowSumRange } from "./visible_map.js";

/** A map with the axes it belongs to, as last seen to agree. */
export interface Shown {
  head: Head;
  quantity: string;
  unit: string;
  axes: Axes;
  values: Float32Array;
  exact: boolean;
  highlighted: ViewState["_highlighted"];
  rowSums: [number, number];
  mask: string;
  /** What it was made from: to know the next one from it. */
  source: unknown[];
}

/**
 * The map of the selected head; `last` while the kernel has not answered with one that agrees with selection and axes.
 */
export function shownMap(model: Model<ViewState>, head: Head, last: Shown | null) {
  const map = model.get("_map");
  const axes = model.get("_axes");
  const unit = model.get("unit");
  const quantity = model.get("quantity");
  const agrees =
    map?.layer === head[0] &&
    map.head === head[1] &&
    map.stack === head[2] &&
    map.unit === unit &&
    map.quantity === quantity &&
    axes?.stack === map.stack &&
    axes.unit === unit &&
    map.values.shape[0] === axes.query.text.length &&
    map.values.shape[1] === axes.key.text.length;
  if (!agrees) return { shown: last, busy: true };
  const highlighted = model.get("_highlighted");
  const source = [map, axes, highlighted];
  if (last && source.every((value, i) => value === last.source[i]))
    return { shown: last, busy: false };
  const kept = last && last.source[0] === map ? last : undefined;
  const values = kept?.values ?? asFloat32(map.values);
  const nKeys = axes.key.text.length;
  const shown: Shown = {
    head,
    quantity,
    unit,
    axes,
    values,
    exact: map.exact,
    highlighted,
    rowSums: kept?.rowSums ?? rowSumRange(values, nKeys),
    mask: kept?.mask ?? maskName(values, nKeys),
    source,
  };
  return { shown, busy: false };
}
