import { element } from "../model/dom.js";
import { ALL } from "../model/relation_types.js";
import { svgElement } from "../model/svg.js";
import { hasRelation, type Predicted, type Reading, type Tree } from "./arcs_data.js";
import {
  arcPath,
  arrowPath,
  depth,
  type PlacedArc,
  predictedPath,
  type TreeLayout,
  treeLayout,
} from "./arcs_layout.js";
import { AXIS_LABEL_SIZE, labelFont, type Measure, measureOn } from "./labels.js";

export const WORD_SIZE = 14;
const BARS = 22;
const MARKS = 18;
/** Between a label and the bends of its arc. */
const CLEAR = 8;
/** A quarter of the strength is always left: an arc that is drawn can be seen. */
const FAINTEST = 0.25;

export interface ArcsScene {
  tree: Tree;
  spaces: boolean[];
  reading: Reading | undefined;
  relation: string;
  threshold: number;
  font: string;
  /** What the figures are called. */
  names: { annotated: string; predicted: string };
}

/** One word that is pointed at, and how much it and every other word have to do with each other. */
export interface Active {
  word: number;
  pinned: boolean;
  weights: number[];
}

export interface FigureActions {
  point(word: number | undefined): void;
  pin(word: number): void;
  chooseRelation(relation: string): void;
}

/** The arcs that are drawn: of the relation, from the threshold on. */
export const drawnArcs = ({ tree, reading, relation, threshold }: ArcsScene): Predicted[] =>
  (reading?.predicted ?? []).filter(
    ({ dependent, weight }) =>
      weight >= threshold && hasRelation(relation, tree.relations[dependent] ?? ""),
  );

const opacity = (weight: number) =>
  (FAINTEST + (1 - FAINTEST) * Math.sqrt(Math.min(1, weight))).toFixed(3);

/** Words in a row, annotated arcs above, predicted ones below; wider sentences scroll. */
export function arcsFigure(parent: HTMLElement, signal: AbortSignal, actions: FigureActions) {
  const scroller = element(parent, "div", { class: "attnw-arcs-scroll" });
  const stage = element(scroller, "div", { class: "attnw-arcs-stage" });
  const above = svgElement(stage, "svg", { class: "attnw-arcs-above", role: "img" });
  const words = element(stage, "div", {
    ...{ class: "attnw-arcs-words", role: "listbox", tabindex: 0 },
    ...{ "aria-orientation": "horizontal", "aria-label": "words; question mark lists the keys" },
  });
  const below = svgElement(stage, "svg", { class: "attnw-arcs-below", role: "img" });
  // Two widgets can share a page, and this module's scope may or may not be shared between them.
  const prefix = `attnw-${Math.random().toString(36).slice(2)}`;
  const ruler = parent.ownerDocument.createElement("canvas");

  let layout: TreeLayout | undefined;
  let laidOut: Tree | undefined;
  let laidOutIn = "";
  let spans: HTMLElement[] = [];
  let bars: SVGRectElement[] = [];
  let labels: { node: SVGTextElement; low: number; high: number; half: number }[] = [];
  let measureLabel: Measure = () => 0;
  let arcs: { governor: number; dependent: number; node: SVGElement }[] = [];

  function arrange({ tree, font, spaces }: ArcsScene): TreeLayout {
    if (layout && tree === laidOut && font === laidOutIn) return layout;
    [laidOut, laidOutIn] = [tree, font];
    // A canvas measures in the font that was set last.
    const measureWord = measureOn(ruler, labelFont(font, false, WORD_SIZE));
    const widest = tree.words.map(measureWord);
    measureLabel = measureOn(ruler, labelFont(font, false, AXIS_LABEL_SIZE));
    layout = treeLayout(tree, widest, measureLabel);
    stage.style.width = `${Math.ceil(layout.width)}px`;
    words.replaceChildren();
    let end = 0;
    spans = tree.words.map((word, i) => {
      const [centre, width] = [layout?.centres[i] ?? 0, layout?.widths[i] ?? 0];
      const span = element(words, "span", { role: "option", id: `${prefix}-${i}` }, word);
      span.dataset.word = String(i);
      span.style.width = `${width}px`;
      span.style.marginLeft = `${centre - width / 2 - end}px`;
      end = centre + width / 2;
      // Copied text has the spaces that were written; on the page they have no width.
      if (spaces[i] !== false) words.append(" ");
      return span;
    });
    scroller.scrollLeft = 0;
    return layout;
  }

  function drawAbove({ tree, relation, names }: ArcsScene, at: TreeLayout): void {
    above.replaceChildren();
    labels = [];
    const [width, y] = [Math.ceil(at.width), at.height];
    for (const [name, value] of Object.entries({ width, height: y, "aria-label": names.annotated }))
      above.setAttribute(name, String(value));
    if (tree.root >= 0) {
      const kind = relation === ALL ? "" : "attnw-arcs-other";
      const group = svgElement(above, "g", { class: kind });
      svgElement(group, "path", { d: `M${at.rootX} 18V${y - 2}` });
      svgElement(group, "path", { d: arrowPath(at.rootX, y, 1), class: "attnw-arcs-head" });
      if (relation === ALL) svgElement(group, "text", { x: at.rootX, y: 12 }, "root");
      arcs.push({ governor: tree.root, dependent: tree.root, node: group });
    }
    const isShown = (arc: PlacedArc) => hasRelation(relation, arc.relation);
    for (const arc of [...at.arcs].sort((a, b) => Number(isShown(a)) - Number(isShown(b)))) {
      const shown = isShown(arc);
      const group = svgElement(above, "g", { class: shown ? "" : "attnw-arcs-other" });
      svgElement(group, "path", { d: arcPath(arc, y - 2) });
      svgElement(group, "path", { d: arrowPath(arc.x1, y, 1), class: "attnw-arcs-head" });
      arcs.push({ governor: arc.governor, dependent: arc.dependent, node: group });
      if (!shown) continue;
      const label = svgElement(group, "text", { y: y - arc.height + 4 }, arc.relation);
      label.dataset.relation = arc.relation;
      const half = measureLabel(arc.relation) / 2 + CLEAR;
      const [low, high] = [Math.min(arc.x0, arc.x1) + half, Math.max(arc.x0, arc.x1) - half];
      labels.push({ node: label, low, high, half });
    }
    placeLabels();
  }

  /** Labels stand in the middle of the part of their arc that is in sight. */
  function placeLabels(): void {
    const [left, room] = [scroller.scrollLeft, scroller.clientWidth || Number.POSITIVE_INFINITY];
    for (const { node, low, high, half } of labels) {
      const from = Math.max(low, Math.min(high, left + half));
      const to = Math.max(low, Math.min(high, left + room - half));
      node.setAttribute("x", ((from + to) / 2).toFixed(1));
    }
  }

  function drawBelow(scene: ArcsScene, at: TreeLayout): void {
    below.replaceChildren();
    bars = [];
    if (!scene.reading) {
      below.setAttribute("height", "0");
      return;
    }
    const drawn = drawnArcs(scene);
    const y = MARKS;
    const height = Math.ceil(y + Math.max(BARS, ...drawn.map(depth)) + 4);
    const size = { width: Math.ceil(at.width), height, "aria-label": scene.names.predicted };
    for (const [name, value] of Object.entries(size)) below.setAttribute(name, String(value));
    bars = at.centres.map((centre) =>
      svgElement(below, "rect", {
        ...{ class: "attnw-arcs-bar", x: centre - 7, y, width: 14, height: 0 },
      }),
    );
    // The strongest last, on top of the others.
    for (const arc of [...drawn].sort((a, b) => a.weight - b.weight)) {
      const kind = arc.right ? "attnw-right" : "attnw-wrong";
      const group = svgElement(below, "g", { class: kind });
      const x = at.centres[arc.dependent] ?? 0;
      const strength = { "stroke-opacity": opacity(arc.weight) };
      svgElement(group, "path", { d: predictedPath(arc, at.centres, y + 2), ...strength });
      const head = { d: arrowPath(x, y - 2, -1), class: "attnw-arcs-head" };
      svgElement(group, "path", { ...head, "fill-opacity": opacity(arc.weight) });
      const top = 1;
      const d = arc.right ? `M${x - 4} ${top + 4}l3 3l5 -6` : `M${x - 3} ${top + 1}l6 6m0 -6l-6 6`;
      svgElement(group, "path", { d, class: "attnw-arcs-mark" });
      arcs.push({ governor: arc.governor, dependent: arc.dependent, node: group });
    }
  }

  const wordOf = (event: Event) => {
    const span = (event.target as Element).closest?.<HTMLElement>("[data-word]");
    return span ? Number(span.dataset.word) : undefined;
  };
  const on = (node: Element, type: string, listener: (event: Event) => void) =>
    node.addEventListener(type, listener, { signal });
  on(words, "pointerover", (event) => {
    const word = wordOf(event);
    if (word !== undefined) actions.point(word);
  });
  on(scroller, "scroll", placeLabels);
  on(stage, "pointerleave", () => actions.point(undefined));
  on(words, "click", (event) => {
    const word = wordOf(event);
    // Selecting text is no click.
    if (word === undefined || words.ownerDocument.getSelection()?.type === "Range") return;
    actions.pin(word);
  });
  on(above, "click", (event) => {
    const { relation } = (event.target as SVGElement).dataset;
    if (relation) actions.chooseRelation(relation);
  });

  return {
    words,
    scroller,
    draw(scene: ArcsScene): void {
      const at = arrange(scene);
      arcs = [];
      drawAbove(scene, at);
      drawBelow(scene, at);
    },
    /** Mark the word pointed at: its arcs stay, the others fade, and every word shows its weight. */
    activate(active: Active | undefined): void {
      stage.classList.toggle("attnw-arcs-pointed", active !== undefined);
      for (const { governor, dependent, node } of arcs)
        node.classList.toggle(
          "attnw-arcs-own",
          governor === active?.word || dependent === active?.word,
        );
      for (const [i, span] of spans.entries()) {
        span.classList.toggle("attnw-arcs-active", i === active?.word);
        span.setAttribute("aria-selected", String(i === active?.word && active.pinned));
      }
      const id = active && spans[active.word]?.id;
      if (id) words.setAttribute("aria-activedescendant", id);
      else words.removeAttribute("aria-activedescendant");
      for (const [i, bar] of bars.entries()) {
        const height = BARS * (active?.weights[i] ?? 0);
        bar.setAttribute("height", height > 0 ? Math.max(0.5, height).toFixed(1) : "0");
      }
    },
    reveal(word: number): void {
      const [centre, width] = [layout?.centres[word] ?? 0, layout?.widths[word] ?? 0];
      const [low, high] = [centre - width / 2 - 24, centre + width / 2 + 24];
      const room = scroller.clientWidth;
      scroller.scrollLeft = Math.max(Math.min(scroller.scrollLeft, low), high - room);
    },
  };
}
