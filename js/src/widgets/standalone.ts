import { element } from "../model/dom.js";
import type { GridState, Model, SharedState, ViewState } from "../model/types.js";
import { localModel } from "../standalone/local_model.js";
import { type EmbeddedMaps, headMap, thumbnails } from "../standalone/maps.js";
import grid from "./head_grid.js";
import view from "./head_view.js";

interface PageData {
  grid: GridState;
  view: ViewState;
  maps: (Omit<EmbeddedMaps, "values"> & { values: string })[];
}

const SHARED = ["selected", "layer", "tokens", "hidden", "quantity", "unit", "scale"] as const;

function follow(from: Model<SharedState>, to: Model<SharedState>): void {
  for (const name of SHARED) from.on(`change:${name}`, () => to.set(name, from.get(name)));
}

/** The page plays the kernel: it answers each change from the embedded maps. */
function start(main: HTMLElement, data: PageData): void {
  const maps = data.maps.map((m) => ({
    ...m,
    values: Uint8Array.from(atob(m.values), (c) => c.charCodeAt(0)),
  }));
  const find = (stack: string, unit: string) =>
    maps.find((m) => m.axes.stack === stack && m.axes.unit === unit);
  const gridModel = localModel<GridState>({ ...data.grid, _thumbnails: null });
  const viewModel = localModel<ViewState>({ ...data.view, _map: null });

  const drawGrid = () => {
    const found = find(gridModel.get("stack"), gridModel.get("unit"));
    if (!found) return;
    gridModel.set("_axes", found.axes);
    gridModel.set("_thumbnails", thumbnails(found, gridModel.get("hidden")));
  };
  const drawView = () => {
    const head = viewModel.get("selected").at(-1);
    const found = head && find(head[2], viewModel.get("unit"));
    if (!found) return viewModel.set("_map", null);
    viewModel.set("_axes", found.axes);
    viewModel.set("_map", headMap(found, head));
  };
  for (const name of ["stack", "unit", "hidden"]) gridModel.on(`change:${name}`, drawGrid);
  for (const name of ["selected", "unit"]) viewModel.on(`change:${name}`, drawView);
  gridModel.on("change:selected", () => {
    const last = gridModel.get("selected").at(-1);
    if (last) gridModel.set("stack", last[2]);
  });
  follow(gridModel as unknown as Model<SharedState>, viewModel as unknown as Model<SharedState>);
  follow(viewModel as unknown as Model<SharedState>, gridModel as unknown as Model<SharedState>);
  drawGrid();
  drawView();

  const { signal } = new AbortController();
  grid().render({ model: gridModel, el: element(main, "section", {}), signal });
  view().render({ model: viewModel, el: element(main, "section", {}), signal });
}

const main = document.querySelector("main");
const source = document.getElementById("attnw-data")?.textContent;
if (main && source) start(main, JSON.parse(source));
