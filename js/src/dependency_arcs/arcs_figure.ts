import { html, nothing } from "lit-html";
import { createRef, ref } from "lit-html/directives/ref.js";
import { FAINT } from "../shared/arc.js";
import { elementIds } from "../shared/element_ids.js";
import type { Look } from "../shared/mount.js";
import { drawAbove, drawBelow, type MovingName, placeNames, standOut } from "./arcs_drawing.js";
import { EDGE, hangingIn, rowsOf, type Widths, type WordRow, widthsIn } from "./arcs_layout.js";
import { hangingHeight, LINE } from "./paint.js";
import { figureNames, type Scene } from "./scene.js";

/** Space to the left and right of a word that is scrolled into view. */
const ASIDE = 24;

interface FigureActions {
  point(word: number | undefined): void;
  pin(word: number): void;
  chooseRelation(relation: string): void;
  focus(byKeyboard: boolean): void;
  blur(): void;
}

/** Word whose arcs are highlighted, and whether it is held. */
interface Active {
  word: number | undefined;
  isHeld: boolean;
}

/**
 * Return the figure of words in one row with annotated arcs above and predicted arcs below. Wide
 * sentences scroll.
 */
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
  let room = 0;
  let names: MovingName[] = [];
  let bars: SVGRectElement[] = [];
  /** Whether the next drawing scrolls to the start of the sentence, and the word to scroll to. */
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
    // Selecting text is not a click.
    if (word === undefined || words.value?.ownerDocument.getSelection()?.type === "Range") return;
    actions.pin(word);
  }
  function clickArc(event: Event): void {
    const name = (event.target as Element).closest<SVGElement>("[data-relation]");
    if (name?.dataset.relation) actions.chooseRelation(name.dataset.relation);
  }
  const onFocus = () => actions.focus(words.value?.matches(":focus-visible") ?? false);

  const namesInSight = () => placeNames(names, scroller.value);

  function scroll(): void {
    if (!scroller.value) return;
    if (isFresh) scroller.value.scrollLeft = 0;
    isFresh = false;
    if (target === undefined) return;
    const center = row?.centers[target] ?? 0;
    const half = (row?.widths[target] ?? 0) / 2 + ASIDE;
    const { clientWidth, scrollLeft } = scroller.value;
    scroller.value.scrollLeft = Math.max(
      Math.min(scrollLeft, center - half),
      center + half - clientWidth,
    );
    target = undefined;
  }

  /**
   * Return the words at the positions that their arcs need. Copied text has the original spaces.
   */
  function wordViews({ tree, drawn }: Scene, { word, isHeld }: Active) {
    let end = 0;
    return tree.words.map((text, i) => {
      const center = row?.centers[i] ?? 0;
      const width = row?.widths[i] ?? 0;
      const style = `width: ${width}px; margin-left: ${center - width / 2 - end}px`;
      end = center + width / 2;
      return html`<span role="option" id=${idOf(i)} data-word=${i} .style=${style}
        class=${i === word ? "attnw-arcs-active" : ""} aria-selected=${i === word && isHeld}
        >${text}</span>${drawn.spaces[i] === false ? "" : " "}`;
    });
  }

  return {
    words: () => words.value,
    /** Scroll to a word at the next drawing. */
    reveal(word: number): void {
      target = word;
    },
    /** Lay out a scene. */
    arrange(scene: Scene, { font, ruler, width }: Look): void {
      room = width;
      const now = JSON.stringify([scene.tree, scene.drawn.spaces, font]);
      if (now === laidOut) return;
      laidOut = now;
      widths = widthsIn(ruler, font);
      row = rowsOf(scene.tree, widths, Number.POSITIVE_INFINITY)[0];
      isFresh = true;
    },
    view(scene: Scene, active: Active) {
      const name = figureNames(scene);
      // If a sentence is only slightly too long, leave out the free space after it: a scroll bar
      // would hide more than it shows.
      const needed = Math.ceil(row?.width ?? 0);
      const width = needed > room && needed <= room + EDGE ? room : needed;
      const arcs = row && widths ? hangingIn(scene.tree, row, scene.shown, widths) : [];
      const { word } = active;
      const line = `height: ${LINE}px; line-height: ${LINE}px`;
      const pointed = word === undefined ? "" : " attnw-arcs-pointed";
      return html`<div class="attnw-arcs-scroll" @scroll=${namesInSight} ${ref(scroller)}>
        <div class=${`attnw-arcs-stage attnw-drawn${pointed}`}
          .style=${`width: ${width}px; --attnw-arcs-faint: ${FAINT}`}
          @pointerleave=${() => actions.point(undefined)} ${ref(stage)}
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
      names = drawAbove(above.value, row, scene, widths, look);
      namesInSight();
      bars = drawBelow(below.value, row, scene, widths, look);
    },
    /** Highlight the active word, after every drawing. */
    mark(scene: Scene, word: number | undefined): void {
      standOut(stage.value, bars, scene, word);
      scroll();
    },
  };
}
