import type { HeadsState, Metrics, StripState } from "../model/head_types.js";
import type { GridState, Model, ViewState } from "../model/types.js";
import { localModel } from "./local_model.js";
import { type EmbeddedMaps, headMap, thumbnails } from "./maps.js";

const find = (maps: EmbeddedMaps[], stack: string, unit: string, quantity: string) =>
  maps.find(
    ({ axes, quantity: of }) => axes.stack === stack && axes.unit === unit && of === quantity,
  );
const metricsOf = (metrics: Metrics[], stack: string | undefined) =>
  metrics.find((of) => of.stack === stack) ?? null;

/** A grid that draws its thumbnails from the maps that the page holds. */
export function gridModel(
  state: GridState,
  maps: EmbeddedMaps[],
  metrics: Metrics[],
): Model<GridState> {
  const model = localModel<GridState>({ ...state, _metrics: null, _thumbnails: null });
  const draw = () => {
    const found = find(maps, model.get("stack"), model.get("unit"), model.get("quantity"));
    if (!found) return;
    model.set("_metrics", metricsOf(metrics, model.get("stack")));
    model.set("_axes", found.axes);
    model.set("_thumbnails", thumbnails(found, model.get("hidden")));
  };
  for (const name of ["stack", "unit", "hidden", "quantity"]) model.on(`change:${name}`, draw);
  // As in the kernel, another metric starts without a range: it was one of the metric before.
  let metric = model.get("metric");
  model.on("change:metric", () => {
    if (metric !== null) model.set("filter", null);
    metric = model.get("metric");
  });
  model.on("change:selected", () => {
    const last = model.get("selected").at(-1);
    if (last) model.set("stack", last[2]);
  });
  draw();
  return model;
}

/** A view of the maps that the page holds; where that is one head's, no other can be chosen. */
export function viewModel(state: ViewState, maps: EmbeddedMaps[]): Model<ViewState> {
  const highlighted = { query: [], key: [] };
  const model = localModel<ViewState>({ ...state, _highlighted: highlighted, _map: null });
  const only = maps[0]?.only;
  const draw = () => {
    if (only) {
      model.set("selected", [only]);
      model.set("layer", only[0]);
    }
    const head = model.get("selected").at(-1);
    const found = head && find(maps, head[2], model.get("unit"), model.get("quantity"));
    if (!found) return model.set("_map", null);
    model.set("_axes", found.axes);
    model.set("_highlighted", found.highlighted ?? highlighted);
    model.set("_map", headMap(found, head));
  };
  for (const name of ["selected", "layer", "unit", "quantity"]) model.on(`change:${name}`, draw);
  draw();
  return model;
}

/** The strip of metrics, of the stack of the head that is shown. */
export function stripModel(state: StripState, metrics: Metrics[]): Model<StripState> {
  const model = localModel<StripState>({ ...state, _metrics: null });
  const draw = () => model.set("_metrics", metricsOf(metrics, model.get("selected").at(-1)?.[2]));
  model.on("change:selected", draw);
  draw();
  return model;
}

export const asHeads = <T extends HeadsState>(model: Model<T>) =>
  model as unknown as Model<HeadsState>;
