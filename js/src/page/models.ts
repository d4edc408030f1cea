import kernels from "virtual:figures/page";
import { localModel } from "../shared/page/local_model.js";
import type { Held, PageFigure } from "../shared/page/page_data.js";
import type { Linked } from "./linked_models.js";

/** A figure's model, and the values accepted from linked figures. */
export function pageModel(figure: PageFigure, held: Held): Linked {
  const kernel = kernels[figure.name];
  const model = kernel ? kernel(figure, held) : localModel(figure.state);
  return { model, shapes: figure.shapes, relations: figure.relations };
}
