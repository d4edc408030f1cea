import type { MapState } from "../model/head_types.js";
import { headName, type Model, paperName } from "../model/types.js";
import type { Point } from "./map_points.js";

type Groups = { name: string }[];

/** What is written beside a head: its names and its behaviour. */
export function pointLabel({ head, group }: Point, groups: Groups): string {
  const behaviour = groups[group]?.name;
  return [headName(head), paperName(head), behaviour].filter(Boolean).join(" · ");
}

/** A head in words, for assistive technology. */
export function describePoint(point: Point, groups: Groups, selected: boolean): string {
  const [layer, head] = point.head;
  const behaviour = groups[point.group]?.name;
  return [`layer ${layer} head ${head}`, behaviour, selected && "selected"]
    .filter(Boolean)
    .join(", ");
}

/** The line under the figure: what is shown, and what its marks stand for. */
export function mapCaption(model: Model<MapState>, count: number): string {
  const { model: name, note } = model.get("_source");
  const heads = model.get("_heads");
  const stack = heads && heads.stack !== "self" ? heads.stack : "";
  const marks =
    model.get("color") === "layer"
      ? "numbers and colours: layers, from 0"
      : "colours and shapes: behaviours";
  return [name, stack, `${count} heads`, note, marks].filter(Boolean).join(" · ");
}

export const MAP_KEYS = [
  ["Arrow keys", "move to the nearest head in that direction"],
  ["Page Up / Page Down", "previous / next head, layer by layer"],
  ["Home / End", "first / last head"],
  ["Enter or Space, click", "select the head"],
  ["Shift + Enter, Shift + click", "add or remove the head"],
  ["drag", "select the heads in the rectangle, with Shift add them"],
  ["[ and ]", "step to the layer above / below"],
  ["Escape", "let go of the rectangle; else clear the selection"],
  ["?", "show or hide this list"],
] as const;
