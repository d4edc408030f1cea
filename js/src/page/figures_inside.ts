import type { HeadsState } from "../shared/head_types.js";
import type { PageFigure } from "../shared/page/page_data.js";
import type { Model, RenderContext } from "../shared/types.js";
import type { Linked } from "./linked_models.js";

/** Figure of the page with its model. */
export interface ModelledFigure {
  figure: PageFigure;
  linked: Linked;
}

/**
 * Host that gives a figure access to the figures in its panels; in a notebook, anywidget does this.
 */
export interface Host {
  getWidget(name: string): Promise<{ render(options: Place): void }>;
  getModel(name: string): Promise<unknown>;
}
type Place = Pick<RenderContext<HeadsState>, "el" | "signal">;
type Draw = (name: string, context: RenderContext<HeadsState>) => void;

/** Return the names of the figures in panels of other figures. */
export const namesInside = (figures: PageFigure[]): Set<string> =>
  new Set(figures.flatMap(({ children }) => Object.values(children ?? {})));

/** Return a host that finds figures by name; `draw` draws one. */
export function hostOf(figures: ModelledFigure[], draw: Draw): Host {
  async function modelOf(name: string): Promise<Model<HeadsState>> {
    const found = figures.find(({ figure }) => figure.name === name);
    if (!found) throw new Error("its data is damaged");
    return found.linked.model;
  }
  return {
    getModel: modelOf,
    async getWidget(name) {
      const model = await modelOf(name);
      return { render: ({ el, signal }) => draw(name, { model, el, signal }) };
    },
  };
}

/**
 * Let the cells of all heads answer after the user locks a word in any figure. In a notebook, the
 * kernel does this.
 */
export function answerLocks(figures: ModelledFigure[]): void {
  for (const { figure, linked } of figures) {
    const grid = figures.find((other) => other.figure.name === figure.children?.grid);
    const cells = grid?.linked.model as unknown as Model<{ cells: string }> | undefined;
    if (cells) linked.model.on("change:tokens", () => cells.set("cells", "answers"));
  }
}
