import { type Control, choice } from "../shared/controls.js";
import { ALL, DIRECTIONS, type Direction } from "../shared/relation_types.js";
import { save } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import type { Answerer } from "./answerer.js";
import type { ArcsState } from "./state.js";

/** Return the controls that select the arcs: relation, direction and layer. */
export function arcsControls(model: Model<ArcsState>, { directions, layers }: Answerer): Control[] {
  return [
    {
      kind: "choice",
      name: "relation",
      place: "bar",
      values: model.get("_source").relations ?? [],
      value: model.get("relation"),
      change: (relation) => save(model, { relation }),
      print: (relation) => (relation === ALL ? "all relations" : relation),
    },
    choice<Direction>({
      name: "direction",
      place: "bar",
      values: directions,
      value: model.get("direction") ?? DIRECTIONS[0],
      change: (direction) => save(model, { direction }),
    }),
    {
      kind: "choice",
      name: "layer",
      place: "bar",
      values: layers.map(String),
      value: String(model.get("layer")),
      change: (layer) => save(model, { layer: Number(layer) }),
    },
  ];
}
