import type { HeadsState } from "../model/head_types.js";
import type { Model } from "../model/types.js";
import { arcsModel } from "./arcs.js";
import { asHeads, gridModel, stripModel, viewModel } from "./attention.js";
import { coreferenceModel } from "./coreference.js";
import type { Joined } from "./joined.js";
import { localModel } from "./local_model.js";
import type { PageData } from "./page_data.js";
import { bytesOf } from "./revive.js";

/** The models of a page's figures, by name; what a kernel would answer, each answers from what the page holds. */
export function models(data: PageData): Record<string, Joined> {
  const { grid, view, map, strip, table, arcs, coreference, sentences, windows } = data;
  const maps = (data.maps ?? []).map((of) => ({ ...of, values: bytesOf(of.values) }));
  const metrics = (name: string) => data.metrics[name] ?? [];
  const all: Record<string, Joined> = {};
  const add = <T extends HeadsState>(
    name: string,
    model: Model<T>,
    limits: Omit<Joined, "model"> = {},
  ) => {
    all[name] = { model: asHeads(model), ...limits };
  };
  if (grid) add("grid", gridModel(grid, maps, metrics("grid")));
  if (view) add("view", viewModel(view, maps));
  if (map) add("map", localModel(map), map._heads ? { stacks: [map._heads.stack] } : {});
  if (strip) {
    const stacks = metrics("strip").map(({ stack }) => stack);
    add("strip", stripModel(strip, metrics("strip")), { stacks });
  }
  if (table) {
    const { stack = "self", relations = [] } = table._numbers ?? {};
    add("table", localModel(table), { stacks: [stack], relations });
  }
  if (arcs && sentences) {
    const { relations } = arcs._source;
    add("arcs", arcsModel(arcs, sentences), { stacks: [sentences.stack], relations });
  }
  if (coreference && windows)
    add("coreference", coreferenceModel(coreference, windows), { stacks: ["self"] });
  return all;
}
