import { clamp } from "../shared/clamp.js";
import type { Look } from "../shared/mount.js";
import { placed, svgElement } from "../shared/svg.js";
import { hangingIn, type Widths, type WordRow } from "./arcs_layout.js";
import { annotatedArcs, BARS, MARK_ROOM, predictedArcs } from "./paint.js";
import { type Scene, sharesOf } from "./scene.js";

/** Space between the name of a relation and the corners of its arc. */
const CLEAR = 8;

/** Name of a relation on its arc. It moves with the visible part of the arc. */
export interface MovingName {
  node: Element;
  low: number;
  high: number;
  half: number;
}

/** Center the names of relations on the visible parts of their arcs. */
export function placeNames(names: MovingName[], scroller: HTMLElement | undefined): void {
  const left = scroller?.scrollLeft ?? 0;
  const room = scroller?.clientWidth || Number.POSITIVE_INFINITY;
  for (const { node, low, high, half } of names) {
    const from = clamp(left + half, low, high);
    const to = clamp(left + room - half, low, high);
    node.setAttribute("transform", `translate(${((from + to) / 2).toFixed(1)})`);
  }
}

/** Draw the annotated arcs and return the names on them. */
export function drawAbove(
  svg: SVGSVGElement,
  row: WordRow,
  scene: Scene,
  widths: Widths,
  look: Look,
): MovingName[] {
  svg.replaceChildren();
  return annotatedArcs(row, scene, widths, look.theme).flatMap((arc) => {
    const node = placed(svg, arc).querySelector("[data-relation]");
    const dependent = arc.attributes["data-dependent"];
    const placedArc = row.arcs.find((each) => each.dependent === dependent);
    if (!node || !placedArc) return [];
    const half = widths.relation(placedArc.relation) / 2 + CLEAR;
    const [start = 0, end = 0] = [placedArc.x0, placedArc.x1].sort((a, b) => a - b);
    return [{ node, low: start + half, high: end - half, half }];
  });
}

/** Draw the predicted arcs and return the bar under each word. */
export function drawBelow(
  svg: SVGSVGElement,
  row: WordRow,
  scene: Scene,
  widths: Widths,
  look: Look,
): SVGRectElement[] {
  svg.replaceChildren();
  if (!scene.answers) return [];
  const bars = row.centers.map((center) =>
    svgElement(svg, "rect", {
      class: "attnw-arcs-bar",
      x: center - 7,
      y: MARK_ROOM,
      width: 14,
      height: 0,
    }),
  );
  const arcs = hangingIn(scene.tree, row, scene.shown, widths);
  for (const arc of predictedArcs(arcs, look.theme)) placed(svg, arc);
  return bars;
}

/** Fade all arcs except those of the active word; bars show the shares of its weights. */
export function standOut(
  stage: HTMLElement | undefined,
  bars: SVGRectElement[],
  scene: Scene,
  word: number | undefined,
): void {
  for (const arc of stage?.querySelectorAll<SVGElement>("[data-dependent]") ?? []) {
    const { governor, dependent } = arc.dataset;
    arc.classList.toggle("attnw-arcs-own", [governor, dependent].includes(String(word)));
  }
  const shares = word === undefined ? [] : sharesOf(scene, word);
  for (const [i, bar] of bars.entries()) {
    const height = BARS * (shares[i] ?? 0);
    bar.setAttribute("height", height > 0 ? Math.max(0.5, height).toFixed(1) : "0");
  }
}
