import { html, render } from "lit-html";
import { createRef, ref } from "lit-html/directives/ref.js";
import { element } from "../../shared/dom.js";
import { fresh } from "../../shared/pen.js";
import type { Head } from "../../shared/types.js";
import { linesFigure } from "../lines/lines_figure.js";
import { matrixFigure } from "../matrix/matrix_figure.js";
import type { Figure, Scene } from "../scene.js";
import {
  arrangeBeside,
  type HeadPanel,
  paintNames,
  type SideBySide,
  TITLE,
} from "./heads_side_by_side.js";

type PanelFigures = Record<"lines" | "matrix", Figure>;

/**
 * Create a figure of several heads side by side, each drawn like a single head. Pointing and
 * locking apply to all of them.
 */
export function besideFigure(
  parent: DocumentFragment,
  signal: AbortSignal,
  onlyThis: (head: Head) => void,
): Figure {
  const box = element(parent, "div", { class: "attnw-figure attnw-beside" });
  const names = createRef<HTMLCanvasElement>();
  const places: PanelFigures[] = [];
  let shown: Figure[] = [];
  let beside: SideBySide | undefined;
  let top = 0;

  function placeOf(index: number): PanelFigures {
    const apart = box.ownerDocument.createDocumentFragment();
    places[index] ??= { lines: linesFigure(apart), matrix: matrixFigure(apart) };
    return places[index];
  }

  /** Return the figure of a head, with a button on its name. */
  function panelView({ name, x, y, middle }: HeadPanel, index: number, several: Scene["several"]) {
    const { lines, matrix } = placeOf(index);
    const label = `only ${name}`;
    const clicked = () => several?.heads[index] && onlyThis(several.heads[index]);
    // A comparison of two attentions cannot be reduced to one of them, so it has no such button.
    return html`<div class="attnw-panel" .style=${`transform: translate(${x}px, ${y}px)`}>
      <button type="button" class="attnw-name" title=${label} aria-label=${label}
        ?hidden=${Boolean(several?.names)} .style=${`left: ${middle}px; height: ${TITLE}px`}
        @click=${clicked}></button>
      ${lines.element}${matrix.element}
    </div>`;
  }

  // Columns of tokens scroll together, and the widget then draws the visible part.
  const scrolled = (event: Event) => {
    const from = event.target as HTMLElement;
    if (from === box || from.scrollTop === top) return;
    top = from.scrollTop;
    for (const { lines } of places) if (lines.element !== from) lines.element.scrollTop = top;
    box.dispatchEvent(new Event("scroll"));
  };
  box.addEventListener("scroll", scrolled, { signal, capture: true });

  const under = (clientX: number, clientY: number) =>
    shown.find(({ element: node }) => {
      const { left, right, top, bottom } = node.getBoundingClientRect();
      return clientX >= left && clientX <= right && clientY >= top && clientY <= bottom;
    });

  return {
    element: box,
    draw(scene) {
      beside = arrangeBeside(scene, top);
      const { width, height, panels } = beside;
      box.style.width = `${width}px`;
      box.style.height = `${height}px`;
      const { mode } = scene.state;
      shown = panels.map((_, i) => {
        const place = placeOf(i);
        place.lines.element.hidden = mode !== "lines";
        place.matrix.element.hidden = mode !== "matrix";
        return mode === "matrix" ? place.matrix : place.lines;
      });
      const content = html`<canvas class="attnw-names" aria-hidden="true" ${ref(names)}></canvas>
        ${panels.map((panel, i) => panelView(panel, i, scene.several))}`;
      render(content, box);
      const pen = names.value && fresh(names.value, width, height);
      if (pen) paintNames(pen, beside, scene);
      for (const [i, { scene: part }] of panels.entries()) shown[i]?.draw(part);
    },
    hit: (clientX, clientY) => under(clientX, clientY)?.hit(clientX, clientY) ?? {},
    plot: (at) => (at ? under(at.clientX, at.clientY) : shown[0])?.plot?.(at),
    reveal(target, toMiddle) {
      shown[0]?.reveal(target, toMiddle);
    },
    isCut: (scene, side, text) => {
      const [panel] = beside?.panels ?? [];
      return (panel && shown[0]?.isCut({ ...panel.scene, font: scene.font }, side, text)) ?? false;
    },
    notes: () => [...new Set(shown.flatMap((figure) => figure.notes()))],
  };
}
