import { html, nothing } from "lit-html";
import { createRef, ref } from "lit-html/directives/ref.js";
import { barTexts } from "../shared/color_bar.js";
import { barView } from "../shared/color_bar_view.js";
import type { Look } from "../shared/mount.js";
import { counted } from "../shared/numbers.js";
import { fresh } from "../shared/pen.js";
import { MATRICES, type Matrices, matricesOf, paintMatrices, pairAt } from "./distances_paint.js";
import type { Scene } from "./scene.js";
import { DISTANCES, edges } from "./structural_probe_answerer.js";

interface Actions {
  /** Handle a move of the pointer to a cell; called without words outside the cells. */
  point(row?: number, col?: number): void;
  pin(word: number): void;
}

/**
 * Return the two matrices of a structural probe, linked with the words; hidden for other answerers.
 */
export function distancesFigure(actions: Actions) {
  const canvas = createRef<HTMLCanvasElement>();
  let matrices: Matrices | undefined;

  const under = ({ clientX, clientY }: MouseEvent) => {
    if (!matrices || !canvas.value) return undefined;
    const { left, top } = canvas.value.getBoundingClientRect();
    return pairAt(matrices.layout, clientX - left, clientY - top);
  };
  const point = (event: MouseEvent) => actions.point(...(under(event) ?? []));
  const leave = () => actions.point();
  function click(event: MouseEvent): void {
    const [row] = under(event) ?? [];
    if (row !== undefined) actions.pin(row);
  }

  return {
    arrange(scene: Scene, look: Look): void {
      matrices = matricesOf(scene, look);
    },
    view({ theme }: Look) {
      const name = matrices
        ? `${MATRICES.join(" and ")} between ${counted(matrices.layout.m, "word")}`
        : nothing;
      const bar = matrices && barView(theme, barTexts("linear", matrices.most, edges));
      return html`<div class="attnw-arcs-matrices" ?hidden=${!matrices}>
        <div class="attnw-drawn"><canvas role="img" aria-label=${name} @pointermove=${point}
          @pointerleave=${leave} @click=${click} ${ref(canvas)}></canvas></div>
        <div class="attnw-arcs-distances">${bar}<span class="attnw-muted">${DISTANCES}</span></div>
      </div>`;
    },
    /** Frame the row and column of a word, and its cells with a second word. */
    paint(look: Look, word?: number, other?: number): void {
      if (!matrices || !canvas.value) return;
      const pen = fresh(canvas.value, matrices.layout.width, matrices.layout.height);
      if (pen) paintMatrices(pen, matrices, look, word, other);
    },
  };
}
