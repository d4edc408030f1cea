import { pageModel as coreferenceView } from "../coreference_view/page.js";
import { pageModel as dependencyArcs } from "../dependency_arcs/page.js";
import { pageModel as headGrid } from "../head_grid/page.js";
import { pageModel as headView } from "../head_view/page.js";
import { pageModel as metricStrip } from "../metric_strip/page.js";
import type { Linked } from "../shared/page/link.js";
import { localModel } from "../shared/page/local_model.js";
import type { Held, Kernel, PageFigure } from "../shared/page/page_data.js";
import { pageModel as tokenLens } from "../token_lens/page.js";

const of = <S, Own>(kernel: Kernel<S, Own>) => kernel as unknown as Kernel;
/** The local kernels, by the name of the figure; figures without an entry get no answers. */
const KERNELS: Record<string, Kernel> = {
  coreference_view: of(coreferenceView),
  dependency_arcs: of(dependencyArcs),
  head_grid: of(headGrid),
  head_view: of(headView),
  metric_strip: of(metricStrip),
  token_lens: of(tokenLens),
};

/** A figure's model, and the values that it accepts from other figures. */
export function pageModel(figure: PageFigure, held: Held): Linked {
  const kernel = KERNELS[figure.name];
  const model = kernel ? kernel(figure, held) : localModel(figure.state);
  return { model, shapes: figure.shapes, relations: figure.relations };
}
