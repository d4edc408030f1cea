import { barTexts, colourBar } from "../shared/colour_bar.js";
import { element, listening } from "../shared/dom.js";
import type { Look } from "../shared/mount.js";
import { counted } from "../shared/numbers.js";
import { fresh } from "../shared/pen.js";
import { MATRICES, type Matrices, matricesOf, paintMatrices, pairAt } from "./distances_paint.js";
import type { Scene } from "./scene.js";
import { DISTANCES, edges } from "./structural_probe_answerer.js";

interface Actions {
  /** The words of the cell under the pointer; empty outside the cells. */
  point(row?: number, col?: number): void;
  pin(word: number): void;
}

/** The two matrices of a structural probe, linked with the words; hidden for anything else. */
export function distancesFigure(parent: HTMLElement, signal: AbortSignal, actions: Actions) {
  const box = element(parent, "div", { class: "attnw-arcs-matrices", hidden: true });
  const canvas = element(element(box, "div", { class: "attnw-drawn" }), "canvas", { role: "img" });
  const legend = element(box, "div", { class: "attnw-arcs-distances" });
  const bar = colourBar(legend);
  element(legend, "span", { class: "attnw-muted" }, DISTANCES);
  const on = listening(signal);
  let matrices: Matrices | undefined;

  const under = ({ clientX, clientY }: MouseEvent) => {
    const { left, top } = canvas.getBoundingClientRect();
    return matrices && pairAt(matrices.layout, clientX - left, clientY - top);
  };
  on(canvas, "pointermove", (event) => actions.point(...(under(event) ?? [])));
  on(canvas, "pointerleave", () => actions.point());
  on(canvas, "click", (event) => {
    const [row] = under(event) ?? [];
    if (row !== undefined) actions.pin(row);
  });

  return {
    draw(scene: Scene, look: Look): void {
      matrices = matricesOf(scene, look);
      box.hidden = !matrices;
      if (!matrices) return;
      canvas.setAttribute(
        "aria-label",
        `${MATRICES.join(" and ")} between ${counted(matrices.layout.m, "word")}`,
      );
      bar(look.theme, barTexts("linear", matrices.most, edges));
    },
    /** Frame the rows and columns of a word, and its cells with another one. */
    paint(look: Look, word?: number, other?: number): void {
      if (!matrices) return;
      const pen = fresh(canvas, matrices.layout.width, matrices.layout.height);
      if (pen) paintMatrices(pen, matrices, look, word, other);
    },
  };
}
