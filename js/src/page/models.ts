import { pageModel as coreferenceView } from "../coreference_view/page.js";
import { pageModel as dependencyArcs } from "../dependency_arcs/page.js";
import { pageModel as headGrid } from "../head_grid/page.js";
import { pageModel as headView } from "../head_view/page.js";
import { pageModel as metricStrip } from "../metric_strip/page.js";
import { pageModel as tokenLens } from "../token_lens/page.js";
import type { Linked } from "./link.js";
import { localModel } from "./local_model.js";
import type { Held, Kernel, PageData } from "./page_data.js";
import { bytesOf } from "./revive.js";

const of = <S, Own>(kernel: Kernel<S, Own>) => kernel as unknown as Kernel;
/** What plays the kernel's part, by the figure's name; of any other nothing is left to answer. */
const KERNELS: Record<string, Kernel> = {
  coreference_view: of(coreferenceView),
  dependency_arcs: of(dependencyArcs),
  head_grid: of(headGrid),
  head_view: of(headView),
  metric_strip: of(metricStrip),
  token_lens: of(tokenLens),
};

/** The models of a page's figures, in their order. */
export function models({ figures, held }: PageData): Linked[] {
  const read = (stored?: PageData["held"]["maps"]) =>
    stored?.map((of) => ({ ...of, values: bytesOf(of.values) })) ?? [];
  const maps = held.maps && read(held.maps);
  const second = held.second && read(held.second);
  const two = held.two && ([read(held.two[0]), read(held.two[1])] as Held["two"]);
  return figures.map((figure) => {
    const kernel = KERNELS[figure.name];
    const model = kernel
      ? kernel(figure, { ...held, maps, second, two })
      : localModel(figure.state);
    return { model, shapes: figure.shapes, relations: figure.relations };
  });
}
