import { html, nothing } from "lit-html";
import { createRef, ref } from "lit-html/directives/ref.js";
import type { Look } from "../shared/mount.js";
import { counted } from "../shared/numbers.js";
import { fresh } from "../shared/pen.js";
import type { Theme } from "../shared/theme.js";
import {
  AFTER_NUMBER,
  clusterColor,
  layoutPassage,
  type PassageLayout,
  type Piece,
  paintMarks,
  topOf,
} from "./passage.js";
import { type Mention, mentionLabel, type Scene } from "./scene.js";

/** Space outside of a line for marks of its first and last word. */
const BLEED = 4;

/**
 * Return the text of a window as positioned words over a canvas with the marks. Each mention has a
 * numbered button before it.
 */
export function passageFigure(choose: (mention: number) => void) {
  const marks = createRef<HTMLCanvasElement>();
  const text = createRef<HTMLElement>();
  let layout: PassageLayout | undefined;
  /** Rendered text, and the positions of its words. */
  let written = "";
  let writtenAt = "";
  /** Selectable mentions of each word, innermost first. */
  let over: Mention[][] = [];
  let marked: Mention | undefined;
  /** Mention whose button Tab focuses, set by keyboard. */
  let cursor: number | undefined;
  /** Mention whose button gets the focus back after the text is rendered again. */
  let refocused: number | undefined;

  const chipOf = (mention: number) =>
    text.value?.querySelector<HTMLButtonElement>(`[data-mention="${mention}"]`);

  function click({ target }: Event): void {
    const hit = (target as Element).closest<HTMLElement>("[data-mention], [data-word]");
    const { mention, word } = hit?.dataset ?? {};
    // Repeated clicks on nested mentions select them from the inside out.
    const here = over[Number(word)] ?? [];
    const next =
      here[(here.findIndex(({ mention }) => mention === marked?.mention) + 1) % here.length];
    if (mention) choose(Number(mention));
    else if (next) choose(next.mention);
  }

  /** Return the mention whose button has the focus. */
  function focused(): number | undefined {
    const root = text.value?.getRootNode() as Document | ShadowRoot | undefined;
    const { mention } = (root?.activeElement as HTMLElement | null)?.dataset ?? {};
    return mention && text.value?.contains(root?.activeElement ?? null)
      ? Number(mention)
      : undefined;
  }

  return {
    contains: (node: EventTarget | null) => text.value?.contains(node as Node) ?? false,
    focused,
    focus(mention: number): void {
      cursor = mention;
      chipOf(mention)?.focus();
    },
    reveal(mention: number): void {
      chipOf(mention)?.scrollIntoView?.({ block: "nearest" });
    },
    /** Lay out the text and return the layout. */
    arrange(scene: Scene, { width, font, ruler }: Look): PassageLayout {
      const { document, start, words, mentions } = scene.drawn;
      layout = layoutPassage(words, mentions, { room: width, font, ruler });
      marked = scene.marked;
      // A change of the head keeps the text, the text selection and the focus.
      const next = JSON.stringify([document, start, words, mentions]);
      const places = JSON.stringify(layout.pieces);
      if (next === written && places === writtenAt) return layout;
      const had = focused();
      refocused = had === undefined || next === written ? had : scene.asked[0]?.mention;
      cursor = undefined;
      over = words.map((_, word) =>
        scene.asked
          .filter((mention) => mention.words.includes(word))
          .sort((a, b) => a.words.length - b.words.length),
      );
      written = next;
      writtenAt = places;
      return layout;
    },
    view(scene: Scene, { theme }: Look) {
      const at = layout;
      if (!at) return nothing;
      const name =
        `${counted(scene.drawn.words.length, "word")} with ` +
        `${counted(scene.asked.length, "mention")} that corefer`;
      const lines = linesOf(at.pieces);
      const reached = cursor ?? marked?.mention ?? at.pieces.flatMap(numbersOf)[0];
      const words = { reached, theme, isAsked: (word: number) => Boolean(over[word]?.length) };
      return html`<div class="attnw-coref-stage attnw-drawn"
        .style=${`width: ${at.width}px; height: ${at.height}px`}
        ><canvas aria-hidden="true" class="attnw-coref-marks" ${ref(marks)}></canvas
        ><div class="attnw-coref-text" role="group" aria-label=${name}
          dir=${at.rightToLeft ? "rtl" : "ltr"} @click=${click} ${ref(text)}
          >${lines.map((pieces, i) =>
            lineView(scene, pieces, lines[i + 1]?.[0], topOf(at, pieces[0]?.line ?? 0), words),
          )}</div
        ></div>`;
    },
    paint(scene: Scene, { theme, font }: Look): void {
      if (refocused !== undefined) this.focus(refocused);
      refocused = undefined;
      if (!layout || !marks.value) return;
      const pen = fresh(marks.value, layout.width + 2 * BLEED, layout.height);
      pen?.translate(BLEED, 0);
      if (pen) paintMarks(pen, scene, { theme, font, at: layout });
    },
  };
}

/** Values shared by the words of all lines. */
interface WordsView {
  theme: Theme;
  /** Mention whose button Tab focuses. */
  reached: number | undefined;
  /** Return whether a mention with this word can be selected. */
  isAsked(word: number): boolean;
}

/** Return the words of one line. `next` is the first piece of the next line. */
function lineView(
  scene: Scene,
  pieces: Piece[],
  next: Piece | undefined,
  top: number,
  { theme, reached, isAsked }: WordsView,
) {
  const views = pieces.map((piece, i) => {
    const before = pieces[i - 1];
    const space =
      before && piece.spaced
        ? html`<span .style=${`width: ${piece.outer - before.end}px`}>${" "}</span>`
        : nothing;
    return html`${space}${chipViews(scene, piece, reached, theme)}<span data-word=${piece.word}
      data-marks=${marksOf(scene, piece.word) || nothing}
      class=${isAsked(piece.word) ? "attnw-coref-asked" : nothing}
      .style=${`width: ${piece.end - piece.start}px`}>${piece.text}</span>`;
  });
  // The space at the end of a line has no position, but is there to be copied.
  return html`<span class="attnw-coref-row" .style=${`top: ${top}px`}
    >${views}${next?.spaced ? " " : nothing}</span>`;
}

/** Return the numbered buttons before a word. Tab focuses only one button of the text. */
function chipViews(scene: Scene, { numbers }: Piece, reached: number | undefined, theme: Theme) {
  return numbers.map(({ mention, start, end }) => {
    const color = clusterColor(theme, mention.cluster);
    const number = String(mention.cluster);
    // The accessible name starts with the visible text, for users of voice control.
    return html`<button type="button" class="attnw-coref-chip" data-mention=${mention.mention}
      aria-label=${`${number} ${mentionLabel(scene, mention)}`}
      aria-pressed=${mention.mention === scene.marked?.mention}
      tabindex=${mention.mention === reached ? 0 : -1}
      .style=${`width: ${end - start + AFTER_NUMBER}px; color: ${color}`}>${number}</button>`;
  });
}

/** Return the marks of a word as an attribute, for tests and for the style sheets of hosts. */
function marksOf({ own, marked }: Scene, word: number): string {
  const chosen = own?.choice;
  const isAntecedent = own?.antecedents.some(({ words }) => words.includes(word));
  return [
    isAntecedent ? "antecedent" : "",
    marked?.words.includes(word) ? "own" : "",
    chosen?.word === word ? (chosen.right ? "right" : "wrong") : "",
  ]
    .filter(Boolean)
    .join(" ");
}

const numbersOf = ({ numbers }: Piece) => numbers.map(({ mention }) => mention.mention);

/** Return the pieces of each line. */
function linesOf(pieces: Piece[]): Piece[][] {
  const lines: Piece[][] = [];
  for (const piece of pieces)
    if (piece.line === lines.at(-1)?.[0]?.line) lines.at(-1)?.push(piece);
    else lines.push([piece]);
  return lines;
}
