import { element, listening } from "../../shared/dom.js";
import { fresh } from "../../shared/pen.js";
import type { Head } from "../../shared/types.js";
import { linesFigure } from "../lines/lines_figure.js";
import { matrixFigure } from "../matrix/matrix_figure.js";
import type { Figure } from "../scene.js";
import { arrangeBeside, type Beside, paintNames, TITLE } from "./heads_side_by_side.js";

interface Place {
  holder: HTMLElement;
  name: HTMLButtonElement;
  lines: Figure;
  matrix: Figure;
}

/**
 * Several heads side by side, each drawn like a single head; pointing and locking apply to all of
 * them.
 */
export function besideFigure(
  parent: HTMLElement,
  signal: AbortSignal,
  onlyThis: (head: Head) => void,
): Figure {
  const box = element(parent, "div", { class: "attnw-figure attnw-beside" });
  const names = element(box, "canvas", { class: "attnw-names", "aria-hidden": "true" });
  const places: Place[] = [];
  let heads: Head[] = [];
  let shown: Figure[] = [];
  let beside: Beside | undefined;
  let top = 0;

  function place(index: number): Place {
    const place = places[index];
    if (place) return place;
    const holder = element(box, "div", { class: "attnw-panel" });
    const name = element(holder, "button", { type: "button", class: "attnw-name" });
    const made = { holder, name, lines: linesFigure(holder), matrix: matrixFigure(holder) };
    listening(signal)(name, "click", () => heads[index] && onlyThis(heads[index]));
    places[index] = made;
    return made;
  }

  // Columns of tokens scroll together, and the widget draws what is then in sight.
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
      heads = scene.several?.heads ?? [];
      beside = arrangeBeside(scene, top);
      const { width, height, panels } = beside;
      box.style.width = `${width}px`;
      box.style.height = `${height}px`;
      const pen = fresh(names, width, height);
      if (pen) paintNames(pen, beside, scene);
      shown = panels.map((panel, i) => {
        const { holder, name, lines, matrix } = place(i);
        const label = `only ${panel.name}`;
        if (name.title !== label) name.title = label;
        name.setAttribute("aria-label", label);
        // A comparison of two attentions cannot be reduced to one side.
        name.hidden = Boolean(scene.several?.names);
        holder.style.transform = `translate(${panel.x}px, ${panel.y}px)`;
        name.style.left = `${panel.middle}px`;
        name.style.height = `${TITLE}px`;
        const isLines = scene.state.mode === "lines";
        lines.element.hidden = !isLines;
        matrix.element.hidden = isLines;
        return isLines ? lines : matrix;
      });
      for (const [i, { holder }] of places.entries()) holder.hidden = i >= panels.length;
      for (const [i, { scene: part }] of panels.entries()) shown[i]?.draw(part);
    },
    hit: (clientX, clientY) => under(clientX, clientY)?.hit(clientX, clientY) ?? {},
    plot: (at) => (at ? under(at.clientX, at.clientY) : shown[0])?.plot?.(at),
    reveal(target, amid) {
      shown[0]?.reveal(target, amid);
    },
    isCut: (scene, side, text) => {
      const [panel] = beside?.panels ?? [];
      return (panel && shown[0]?.isCut({ ...panel.scene, font: scene.font }, side, text)) ?? false;
    },
    notes: () => [...new Set(shown.flatMap((figure) => figure.notes()))],
  };
}
