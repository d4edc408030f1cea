import kernels from "virtual:figures/page";
import { fixedOf } from "../shared/fixed_options.js";
import type { HeadsState } from "../shared/head_types.js";
import type { TokenSize } from "../shared/labels.js";
import { localModel } from "../shared/page/local_model.js";
import type { Held, Limits, PageFigure } from "../shared/page/page_data.js";
import type { RelationsState } from "../shared/relation_types.js";
import type { Head, HeadLabel, Model, SharedState } from "../shared/types.js";

/** Traits with the same name in every figure. */
export const SHARED = [
  "selected",
  "layer",
  "tokens",
  "hidden",
  "quantity",
  "unit",
  "scale",
  "token_size",
  "relation",
  "direction",
  "disabled",
  "method",
  "scaled_links",
  "labels",
] as const;
type Shared = SharedState & RelationsState & { token_size: TokenSize; scaled_links: unknown[] };

/** Model of the page, and the values that it accepts from linked models. */
export interface Linked extends Limits {
  model: Model<HeadsState>;
}

/** Return the part of a linked figure's value that a figure accepts, like `fitting` in Python. */
export function fitting(name: string, value: unknown, { shapes, relations }: Limits): unknown {
  const has = ([layer, head, stack]: Head) => {
    const [layers, heads] = shapes[stack] ?? [0, 0];
    return layer < layers && head < heads;
  };
  if (name === "selected" || name === "disabled") return (value as Head[]).filter(has);
  if (name === "labels") return (value as HeadLabel[]).filter(([head]) => has(head));
  if (name === "layer") {
    const layers = Math.max(...Object.values(shapes).map(([count]) => count));
    return Math.min(value as number, layers - 1);
  }
  if (name === "relation" && relations && !relations.includes(value as string)) return relations[0];
  return value;
}

/** Name of the circle of links: all figures of a page are linked. */
const CIRCLE = "page";

/** Let models follow each other in all shared traits, like `attnwidget.link` in Python. */
export function link(linked: Linked[]): void {
  // A model may accept fewer heads than another model has, so do not report its change back.
  let busy = false;
  const all = linked.map(({ model, ...limits }) => ({
    model: model as unknown as Model<Shared>,
    limits,
  }));
  for (const { model } of all) model.set("_circle", CIRCLE);
  for (const from of all)
    for (const name of SHARED)
      from.model.on(`change:${name}`, () => {
        if (busy) return;
        busy = true;
        for (const { model, limits } of all)
          if (model !== from.model && model.get(name) !== undefined && !fixedOf(model)[name])
            model.set(name, fitting(name, from.model.get(name), limits) as never);
        busy = false;
      });
}

/** Return a figure's model, and the values that it accepts from linked figures. */
export function pageModel(figure: PageFigure, held: Held): Linked {
  const kernel = kernels[figure.name];
  const model = kernel ? kernel(figure, held) : localModel(figure.state);
  return { model, shapes: figure.shapes, relations: figure.relations };
}
