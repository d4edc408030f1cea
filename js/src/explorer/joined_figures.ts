import { WATCHED as OF_GRID } from "../head_grid/state.js";
import { WATCHED as OF_VIEW } from "../head_view/state.js";
import { WATCHED as OF_PREDICTIONS, type PredictionState } from "../prediction_view/state.js";
import { snapshot } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import type {
  ExplorerState,
  GridModel,
  Host,
  PredictionModel,
  ViewModel,
} from "./explorer_types.js";

/** Models of the figures whose data the explorer reads. */
export interface Figures {
  grid: GridModel;
  view: ViewModel;
  predictions: PredictionModel;
}
type Name = keyof Figures;

const TRAITS: { [N in Name]: string[] } = {
  grid: OF_GRID,
  view: OF_VIEW,
  predictions: [...OF_PREDICTIONS, "tokens", "unit", "_needs_asked", "_needs"],
};

/**
 * Return the models of the figures whose data the explorer reads, when the host has them. `changed`
 * is called for every change of a trait that a figure draws.
 */
export function joinedFigures(
  model: Model<ExplorerState>,
  host: Host,
  signal: AbortSignal,
  changed: (name: Name) => void,
) {
  const models: Partial<Figures> = {};
  const references: Partial<Record<Name, string>> = {};

  function join(name: Name): void {
    const reference = model.get(name);
    if (reference === null || references[name] === reference) return;
    references[name] = reference;
    void host.getModel(reference).then((figure) => {
      if (signal.aborted || references[name] !== reference) return;
      const joined = figure as Model<object>;
      models[name] = figure as never;
      const tell = () => changed(name);
      const events = TRAITS[name].map((trait) => `change:${trait}`);
      for (const event of events) joined.on(event, tell);
      signal.addEventListener("abort", () => {
        for (const event of events) joined.off(event, tell);
      });
      tell();
    });
  }

  return {
    models,
    /** Connect to the figures that exist by now. */
    update(): void {
      for (const name of Object.keys(TRAITS) as Name[]) join(name);
    },
    grid: () => models.grid && snapshot(models.grid, OF_GRID),
    view: () => models.view && snapshot(models.view, OF_VIEW),
    predictions: () =>
      models.predictions &&
      snapshot(models.predictions, TRAITS.predictions as (keyof PredictionState)[]),
  };
}
