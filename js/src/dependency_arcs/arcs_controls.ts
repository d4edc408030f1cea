import { type Control, choice } from "../shared/controls.js";
import { shareText } from "../shared/percent_text.js";
import { ALL, DIRECTIONS, type Direction } from "../shared/relation_types.js";
import { save } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import type { Answerer } from "./answerer.js";
import type { ArcsState } from "./state.js";

/** The controls that choose the arcs: relation, direction, layer and threshold. */
export function arcsControls(
  model: Model<ArcsState>,
  { directions, layers, weight }: Answerer,
): Control[] {
  const threshold = model.get("threshold");
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
    {
      kind: "range",
      name: "threshold",
      place: "bar",
      label: `${weight} from`,
      max: 1,
      step: 0.01,
      value: threshold,
      text: shareText(threshold),
      change: (chosen) => save(model, { threshold: chosen }),
      hidden: !weight,
    },
  ];
}
