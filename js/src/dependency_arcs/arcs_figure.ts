import { html, nothing } from "lit-html";
import { createRef, ref } from "lit-html/directives/ref.js";
import { elementIds } from "../shared/cell_cursor.js";
import type { Look } from "../shared/mount.js";
import { placed, svgElement } from "../shared/svg.js";
import { hangingIn, rowsOf, type Widths, type WordRow, widthsIn } from "./arcs_layout.js";
import { annotatedArcs, BARS, hangingHeight, LINE, MARK_ROOM, predictedArcs } from "./paint.js";
import { figureNames, type Scene, sharesOf } from "./scene.js";

/** Between the name of a relation and the bends of its arc. */
const CLEAR = 8;
/** Left and right of a word that is scrolled into sight. */
const ASIDE = 24;

interface FigureActions {
  point(word: number | undefined): void;
  pin(word: number): void;
  chooseRelation(relation: string): void;
  focus(byKeyboard: boolean): void;
  blur(): void;
}

/** The word whose arcs stand out, and whether it is held. */
interface Active {
  word: number | undefined;
  isHeld: boolean;
}

/** The name of a relation on its arc: it moves with the part of the arc that is in sight. */
interface MovingName {
  node: Element;
  low: number;
  high: number;
  half: number;
}

/** Words in one row, annotated arcs above, predicted arcs below; wide sentences scroll. */
export function arcsFigure(actions: FigureActions) {
  const idOf = elementIds();
  const scroller = createRef<HTMLElement>();
  const stage = createRef<HTMLElement>();
  const above = createRef<SVGSVGElement>();
  const words = createRef<HTMLElement>();
  const below = createRef<SVGSVGElement>();

  let row: WordRow | undefined;
  let widths: Widths | undefined;
  let laidOut = "";
  let names: MovingName[] = [];
  let bars: SVGRectElement[] = [];
  /** Whether the next drawing begins at the start of the sentence, and the word it scrolls to. */
  let isFresh = false;
  let target: number | undefined;

  const wordOf = (event: Event) => {
    const span = (event.target as Element).closest?.<HTMLElement>("[data-word]");
    return span ? Number(span.dataset.word) : undefined;
  };
  function over(event: Event): void {
    const word = wordOf(event);
    if (word !== undefined) actions.point(word);
  }
  function clickWord(event: Event): void {
    const word = wordOf(event);
    // Selecting text is no click.
    if (word === undefined || words.value?.ownerDocument.getSelection()?.type === "Range") return;
    actions.pin(word);
  }
  function clickArc(event: Event): void {
    const name = (event.target as Element).closest<SVGElement>("[data-relation]");
    if (name?.dataset.relation) actions.chooseRelation(name.dataset.relation);
  }
  const onFocus = () => actions.focus(words.value?.matches(":focus-visible") ?? false);

  /** Names of relations stand in the middle of the part of their arc that is in sight. */
  function placeNames(): void {
    const left = scroller.value?.scrollLeft ?? 0;
    const room = scroller.value?.clientWidth || Number.POSITIVE_INFINITY;
    for (const { node, low, high, half } of names) {
      const from = Math.max(low, Math.min(high, left + half));
      const to = Math.max(low, Math.min(high, left + room - half));
      node.setAttribute("transform", `translate(${((from + to) / 2).toFixed(1)})`);
    }
  }

  function fillAbove(
    svg: SVGSVGElement,
    at: WordRow,
    scene: Scene,
    measures: Widths,
    look: Look,
  ): void {
    svg.replaceChildren();
    names = annotatedArcs(at, scene, measures, look.theme).flatMap((arc) => {
      const node = placed(svg, arc).querySelector("[data-relation]");
      const dependent = arc.attributes["data-dependent"];
      const placedArc = at.arcs.find((each) => each.dependent === dependent);
      if (!node || !placedArc) return [];
      const half = measures.relation(placedArc.relation) / 2 + CLEAR;
      const [start = 0, end = 0] = [placedArc.x0, placedArc.x1].sort((a, b) => a - b);
      return [{ node, low: start + half, high: end - half, half }];
    });
    placeNames();
  }

  function fillBelow(
    svg: SVGSVGElement,
    at: WordRow,
    scene: Scene,
    measures: Widths,
    look: Look,
  ): void {
    svg.replaceChildren();
    if (!scene.answers) {
      bars = [];
      return;
    }
    bars = at.centres.map((centre) =>
      svgElement(svg, "rect", {
        class: "attnw-arcs-bar",
        x: centre - 7,
        y: MARK_ROOM,
        width: 14,
        height: 0,
      }),
    );
    const arcs = hangingIn(scene.tree, at, scene.shown, measures);
    for (const arc of predictedArcs(arcs, look.theme)) placed(svg, arc);
  }

  /** The arcs of the active word stay and all others fade; bars show the shares of its weights. */
  function activate(scene: Scene, word: number | undefined): void {
    for (const arc of stage.value?.querySelectorAll<SVGElement>("[data-dependent]") ?? []) {
      const { governor, dependent } = arc.dataset;
      arc.classList.toggle("attnw-arcs-own", [governor, dependent].includes(String(word)));
    }
    const shares = word === undefined ? [] : sharesOf(scene, word);
    for (const [i, bar] of bars.entries()) {
      const height = BARS * (shares[i] ?? 0);
      bar.setAttribute("height", height > 0 ? Math.max(0.5, height).toFixed(1) : "0");
    }
  }

  function scroll(): void {
    if (!scroller.value) return;
    if (isFresh) scroller.value.scrollLeft = 0;
    isFresh = false;
    if (target === undefined) return;
    const centre = row?.centres[target] ?? 0;
    const half = (row?.widths[target] ?? 0) / 2 + ASIDE;
    const { clientWidth, scrollLeft } = scroller.value;
    scroller.value.scrollLeft = Math.max(
      Math.min(scrollLeft, centre - half),
      centre + half - clientWidth,
    );
    target = undefined;
  }

  /** The words stand where their arcs need them; copied text has the spaces that were written. */
  function wordViews({ tree, drawn }: Scene, { word, isHeld }: Active) {
    let end = 0;
    return tree.words.map((text, i) => {
      const centre = row?.centres[i] ?? 0;
      const width = row?.widths[i] ?? 0;
      const style = `width: ${width}px; margin-left: ${centre - width / 2 - end}px`;
      end = centre + width / 2;
      return html`<span role="option" id=${idOf(i)} data-word=${i} .style=${style}
        class=${i === word ? "attnw-arcs-active" : ""} aria-selected=${i === word && isHeld}
        >${text}</span>${drawn.spaces[i] === false ? "" : " "}`;
    });
  }

  return {
    words: () => words.value,
    /** Scroll to a word with the next drawing. */
    reveal(word: number): void {
      target = word;
    },
    /** Lay a scene out. */
    arrange(scene: Scene, { font, ruler }: Look): void {
      const now = JSON.stringify([scene.tree, scene.drawn.spaces, font]);
      if (now === laidOut) return;
      laidOut = now;
      widths = widthsIn(ruler, font);
      row = rowsOf(scene.tree, widths, Number.POSITIVE_INFINITY)[0];
      isFresh = true;
    },
    view(scene: Scene, active: Active) {
      const name = figureNames(scene);
      const width = Math.ceil(row?.width ?? 0);
      const arcs = row && widths ? hangingIn(scene.tree, row, scene.shown, widths) : [];
      const { word } = active;
      const line = `height: ${LINE}px; line-height: ${LINE}px`;
      const pointed = word === undefined ? "" : " attnw-arcs-pointed";
      return html`<div class="attnw-arcs-scroll" @scroll=${placeNames} ${ref(scroller)}>
        <div class=${`attnw-arcs-stage attnw-drawn${pointed}`}
          .style=${`width: ${width}px`} @pointerleave=${() => actions.point(undefined)}
          ${ref(stage)}
          ><svg class="attnw-arcs-above" role="img" aria-label=${name.annotated} width=${width}
            height=${row?.height ?? 0} @click=${clickArc} ${ref(above)}></svg
          ><div class="attnw-arcs-words" role="listbox" tabindex="0"
            aria-orientation="horizontal" aria-label="words; question mark lists the keys"
            aria-activedescendant=${word === undefined ? nothing : idOf(word)} .style=${line}
            @pointerover=${over} @click=${clickWord} @focus=${onFocus} @blur=${actions.blur}
            ${ref(words)}>${wordViews(scene, active)}</div
          ><svg class="attnw-arcs-below" role="img" aria-label=${name.predicted} width=${width}
            height=${scene.answers ? hangingHeight(arcs) : 0} ${ref(below)}></svg></div>
      </div>`;
    },
    /** Draw the arcs of a new scene. */
    fill(scene: Scene, look: Look): void {
      if (!row || !widths || !above.value || !below.value) return;
      fillAbove(above.value, row, scene, widths, look);
      fillBelow(below.value, row, scene, widths, look);
    },
    /** Mark the active word; follows every drawing. */
    mark(scene: Scene, word: number | undefined): void {
      activate(scene, word);
      scroll();
    },
  };
}
