import { element } from "../model/dom.js";
import type { HeadsState, MapState, Metrics, StripState } from "../model/head_types.js";
import type { GridState, Model, RenderContext, ViewState } from "../model/types.js";
import { type Joined, join } from "../standalone/joined.js";
import { localModel } from "../standalone/local_model.js";
import { type EmbeddedMaps, headMap, thumbnails } from "../standalone/maps.js";
import { bytesOf, revive } from "../standalone/revive.js";

interface PageData {
  grid: GridState;
  view: ViewState;
  /** Only where the page has such a figure. */
  map?: MapState;
  strip?: StripState;
  metrics: Metrics[];
  maps: (Omit<EmbeddedMaps, "values"> & { values: string })[];
}

const SECTIONS = [
  ["head_map", "map"],
  ["head_grid", "grid"],
  ["metric_strip", "strip"],
  ["head_view", "view"],
] as const;

type Widget = () => { render(context: RenderContext<HeadsState>): void };

/** A widget's module, from the text that the page carries: the same one that a notebook gets. */
async function widget(name: string): Promise<Widget> {
  const text = document.getElementById(`attnw-${name}`)?.textContent ?? "";
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const { default: made } = await import(url);
  URL.revokeObjectURL(url);
  return made;
}

/** The page plays the kernel: it answers each change from what is embedded. */
function models(data: PageData): Record<string, Joined> {
  const maps = data.maps.map((m) => ({ ...m, values: bytesOf(m.values) }));
  const find = (stack: string, unit: string) =>
    maps.find((m) => m.axes.stack === stack && m.axes.unit === unit);
  const metricsOf = (stack: string | undefined) =>
    data.metrics.find((metrics) => metrics.stack === stack) ?? null;
  const grid = localModel<GridState>({ ...data.grid, _metrics: null, _thumbnails: null });
  const view = localModel<ViewState>({ ...data.view, _map: null });

  const drawGrid = () => {
    const found = find(grid.get("stack"), grid.get("unit"));
    if (!found) return;
    grid.set("_metrics", metricsOf(grid.get("stack")));
    grid.set("_axes", found.axes);
    grid.set("_thumbnails", thumbnails(found, grid.get("hidden")));
  };
  const drawView = () => {
    const head = view.get("selected").at(-1);
    const found = head && find(head[2], view.get("unit"));
    if (!found) return view.set("_map", null);
    view.set("_axes", found.axes);
    view.set("_map", headMap(found, head));
  };
  for (const name of ["stack", "unit", "hidden"]) grid.on(`change:${name}`, drawGrid);
  for (const name of ["selected", "unit"]) view.on(`change:${name}`, drawView);
  grid.on("change:selected", () => {
    const last = grid.get("selected").at(-1);
    if (last) grid.set("stack", last[2]);
  });
  drawGrid();
  drawView();
  const all: Record<string, Joined> = { grid: joined(grid), view: joined(view) };
  if (data.map) all.map = joined(localModel(data.map), data.map._heads?.stack);
  if (data.strip) {
    const strip = localModel<StripState>({ ...data.strip, _metrics: null });
    const drawStrip = () => strip.set("_metrics", metricsOf(strip.get("selected").at(-1)?.[2]));
    strip.on("change:selected", drawStrip);
    drawStrip();
    all.strip = joined(strip, ...data.metrics.map(({ stack }) => stack));
  }
  return all;
}

const joined = <T extends HeadsState>(model: Model<T>, ...stacks: (string | undefined)[]) => ({
  model: model as unknown as Model<HeadsState>,
  stacks: stacks.length ? stacks.filter((stack) => stack !== undefined) : undefined,
});

async function start(main: HTMLElement, data: PageData): Promise<void> {
  const all = models(data);
  join(Object.values(all));
  const { signal } = new AbortController();
  for (const [name, key] of SECTIONS) {
    const model = all[key]?.model;
    if (!model) continue;
    const el = element(main, "section", {});
    (await widget(name))().render({ model, el, signal });
  }
}

const main = document.querySelector("main");
const source = document.getElementById("attnw-data")?.textContent;
if (main && source) start(main, revive(JSON.parse(source)) as PageData);
