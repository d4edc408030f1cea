import { html, nothing, svg } from "lit-html";
import { createRef, ref } from "lit-html/directives/ref.js";
import { arcShapes } from "../../shared/arc.js";
import { clamp } from "../../shared/clamp.js";
import type { Look } from "../../shared/mount.js";
import type { Pointed } from "../../shared/pointed.js";
import { placed } from "../../shared/svg.js";
import type { Side } from "../../shared/types.js";
import { planFor } from "../arrangement.js";
import type { LockedLink } from "../link/link_state.js";
import { placeControl } from "../link/place_control.js";
import { arcPath, arcsOf, type Mark, marksOf } from "./arcs.js";
import { drawnNeeds } from "./drawn_needs.js";
import { type Box, type SentenceSize, sentenceSize } from "./layout.js";
import { type Reading, rowsOf } from "./reading.js";
import { needMarks, sizeWithNeeds, type WordNeeds } from "./word_needs.js";
import { gapBefore, type WordActions, wordKey, wordView } from "./word_view.js";
import { unbroken, type Word } from "./words.js";

const PENCIL = svg`<path d="M2 14l1-4 8-8 3 3-8 8z" fill="none" stroke="currentColor"
  stroke-width="1.4" stroke-linejoin="round"></path>`;

/** Largest number of lines of a text that does not scroll, by the layout of the page. */
const MOST_LINES = { one: 9, two: 6 };
/** Space above a message after scrolling to it. */
const ABOVE = 8;

/**
 * Return the sentence as an interface: pointing at a word shows where it attends, a click locks it,
 * and a second word makes a pair. It is a toolbar with arrow keys. `edit`: Edit the text.
 */
export function sentencePanel(actions: WordActions & { edit(): void }, drawNow: () => void) {
  const box = createRef<HTMLElement>();
  const arcs = createRef<SVGSVGElement>();
  /** Word of the keyboard cursor. */
  let focused: Pointed | undefined;
  let size: SentenceSize | undefined;
  /** Bars at the words instead of arcs, and the height of 100 %. */
  let shownNeeds: { needs: WordNeeds; scale: number } | undefined;
  /** Whether the control of a link is at its arc, for which only one line has room. */
  let isAtArc = false;
  /** Locked word that was scrolled to last, and the chat that was scrolled to its end. */
  let inSight: string | undefined;
  let chat = "";

  const nodeOf = (at: Pointed) =>
    box.value?.querySelector<HTMLElement>(`[data-word="${wordKey(at)}"]`) ?? undefined;

  function boxOf(side: Side, index: number): Box | undefined {
    const node = nodeOf({ side, index });
    if (!node) return undefined;
    const { offsetLeft: x, offsetTop: y, offsetWidth: width, offsetHeight: height } = node;
    return { x, y, width, height };
  }

  /** Scroll a long text to its locked word, and a new chat to its end, where the answer is. */
  function bringIntoSight({ from, isLocked, axes, words }: Reading): void {
    const { roles, text } = axes.query;
    const isNew = roles !== undefined && roles !== null && text.join(" ") !== chat;
    if (isNew) chat = text.join(" ");
    const key = isLocked && from !== undefined ? wordKey({ side: "query", index: from }) : inSight;
    const isOther = key !== inSight;
    inSight = key;
    const at = isOther ? from : isNew ? words.query.at(-1)?.index : undefined;
    const word = at === undefined ? undefined : boxOf("query", at);
    if (word && box.value) scrollTo(box.value, word);
  }

  /** Return a button for each message of a long chat, which scrolls to the message. */
  function rolesView({ words: { query } }: Reading, scrolls: boolean) {
    const begun = query.filter(({ role }) => role);
    if (begun.length < 2 || !scrolls) return nothing;
    const go = (index: number) => {
      const word = boxOf("query", index);
      if (word && box.value) box.value.scrollTop = word.y - ABOVE;
    };
    return html`<div class="attnw-ex-roles" role="group" aria-label="messages">${begun.map(
      ({ role, index }) => html`<button type="button" class="attnw-ex-quiet"
        title="scroll to this message" @click=${() => go(index)}>${role}</button>`,
    )}</div>`;
  }

  function press(event: KeyboardEvent, reading: Reading): void {
    const all = inOrder(reading);
    const at = all.findIndex((place) => focused && wordKey(place) === wordKey(focused));
    const isRtl = box.value && getComputedStyle(box.value).direction === "rtl";
    const next = all[reachedBy(event.key, at, all.length - 1, isRtl ? -1 : 1) ?? -1];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    focused = next;
    drawNow();
    nodeOf(next)?.focus();
  }

  function rowsView(reading: Reading, { theme }: Look) {
    const marks = shownNeeds ? new Map<number, Mark>() : marksOf(reading);
    const { from, isOneText } = reading;
    const [first] = inOrder(reading);
    const reached = focused ?? (from === undefined ? first : queryAt(from));
    const rowOf = ([side, row]: [Side, Word[]]) => {
      const name = isOneText ? "" : names[side];
      const viewOf = (word: Word) => {
        const isReached = reached?.side === side && reached.index === word.index;
        const mark = marks.get(word.index);
        return wordView(reading, { side, word, mark, theme, isReached }, actions, (place) => {
          focused = place;
        });
      };
      // A line may break at the space before the first word of a group.
      const views = unbroken(row).map((group) =>
        group.length === 1
          ? group.map(viewOf)
          : html`${group[0] && gapBefore(group[0])}<span class="attnw-ex-together"
              >${group.map((word, i) => viewOf(i ? word : { ...word, before: "" }))}</span>`,
      );
      return html`<div class="attnw-ex-words" dir="auto">${
        name && html`<span class="attnw-ex-row-name">${name}</span>`
      }${views}</div>`;
    };
    const names = { key: "looked at", query: "looks" };
    return rowsOf(reading).map(rowOf);
  }

  return {
    /**
     * Return the sentence, or the texts of encoder and decoder. `needs`: Words that the answer
     * needs, as bars instead of arcs. `control`: Control of the link between the locked words.
     */
    view(reading: Reading, needs: WordNeeds | undefined, look: Look, control: unknown = nothing) {
      const rows = rowsOf(reading);
      const all = rows.flatMap(([, row]) => row);
      size = sentenceSize(all, look.width, look.font, look.ruler, rows.length < 2);
      const barred = needs && sizeWithNeeds(size, needs);
      shownNeeds = needs && barred && { needs, scale: barred.scale };
      if (barred) size = barred.size;
      const { font, head, leading } = size;
      const foot = barred ? `; padding-bottom: ${barred.foot}px` : "";
      const style = `font-size: ${font}px; padding-top: ${head}px; line-height: ${leading}${foot}`;
      // A scroll bar that saves less than two lines would hide as much as it saves.
      const scrolls = size.lines > MOST_LINES[planFor(look.width)];
      isAtArc = size.hasArcs && size.lines === 1 && !needs;
      const arced = isAtArc ? "attnw-ex-arced attnw-ex-one-line" : "attnw-ex-arced";
      const kind = scrolls ? "attnw-ex-scrolling" : size.hasArcs || needs ? arced : "";
      const asked = needs?.isMasked ? "attnw-ex-asked" : "";
      return html`<div class=${`attnw-ex-sentence ${kind} ${asked}`}>
        ${rolesView(reading, scrolls)}
        <div class="attnw-ex-toolbar" role="toolbar" style=${style}
          aria-label="the text: arrow keys move between words, Enter locks one"
          @keydown=${(event: KeyboardEvent) => press(event, reading)}
          @pointerleave=${() => actions.point(null)}
          @focusout=${() => actions.point(null)} ${ref(box)}>
          <svg class="attnw-ex-arcs" aria-hidden="true" ${ref(arcs)}></svg>
          ${rowsView(reading, look)}
        </div>
        ${control}
        <button type="button" class="attnw-ex-edit" title="edit the text" aria-label="edit the text"
          @click=${actions.edit}><svg width="15" height="15" viewBox="0 0 16 16" aria-hidden="true"
          >${PENCIL}</svg></button>
      </div>`;
    },

    /** Draw the arcs, when the words are on the page. */
    paint(reading: Reading | undefined, { theme }: Look, link?: LockedLink): void {
      const drawing = arcs.value;
      if (!drawing) return;
      drawing.replaceChildren();
      if (!reading) return;
      bringIntoSight(reading);
      if (shownNeeds) {
        const { needs, scale } = shownNeeds;
        const marks = needMarks(needs, (entry) => boxOf("query", entry), scale, theme);
        for (const shape of drawnNeeds(marks)) placed(drawing, shape);
        return;
      }
      if (!size?.hasArcs) return;
      const { isOneText } = reading;
      const boxAt = (side: Side, at: number) => boxOf(isOneText ? "query" : side, at);
      const shapes = arcsOf(reading, boxAt, size.lines === 1, theme).flatMap(({ path, look }) =>
        arcShapes(path, look),
      );
      for (const shape of shapes) placed(drawing, shape);
      const ends = link && [boxOf("query", link.from), boxAt("key", link.to)];
      const [from, to] = ends ?? [];
      const control = drawing.closest(".attnw-ex-sentence")?.querySelector(".attnw-ex-cut");
      if (control instanceof HTMLElement && from && to && isAtArc)
        placeControl(control, [from, to], arcPath(from, to, true));
    },
  };
}

const queryAt = (index: number): Pointed => ({ side: "query", index });

/** Return all words in the order of the page. */
const inOrder = (reading: Reading): Pointed[] =>
  rowsOf(reading).flatMap(([side, row]) => row.map(({ index }) => ({ side, index })));

/**
 * Return the index from 0 to `last` that a key moves to; undefined for other keys. `right` is 1 if
 * the next word is to the right, and -1 if it is to the left.
 */
function reachedBy(key: string, at: number, last: number, right: 1 | -1): number | undefined {
  if (key === "Home") return 0;
  if (key === "End") return last;
  const step = { ArrowRight: right, ArrowLeft: -right }[key];
  return step === undefined ? undefined : clamp(Math.max(0, at) + step, 0, last);
}

/** Center a word in the list if it is out of sight. */
function scrollTo(list: HTMLElement, { y, height }: Box): void {
  const above = y - list.scrollTop;
  if (above < 0 || above + height > list.clientHeight)
    list.scrollTop = y + height - list.clientHeight / 2;
}
