import { html, nothing, render, svg } from "lit-html";
import { createRef, ref } from "lit-html/directives/ref.js";
import { styleMap } from "lit-html/directives/style-map.js";
import { inkOf, lineColour } from "../../shared/ink.js";
import type { Look } from "../../shared/mount.js";
import { percentText } from "../../shared/percent_text.js";
import type { Pointed } from "../../shared/pointed.js";
import type { Side } from "../../shared/types.js";
import { arcsOf, marksOf, numberOf } from "./arcs.js";
import { type Box, type SentenceSize, sentenceSize } from "./layout.js";
import type { Reading } from "./reading.js";
import { shownText, type Word } from "./words.js";

export interface SentenceActions {
  /** The pointer, or the keyboard, is on a word, or on none. */
  point(pointed: Pointed | null): void;
  /** A word is clicked. */
  choose(pointed: Pointed): void;
  /** A special token, or the first word of a causal model, is clicked: hide or show them. */
  toggleResting(): void;
  drawNow(): void;
}

const PENCIL = svg`<path d="M2 14l1-4 8-8 3 3-8 8z" fill="none" stroke="currentColor"
  stroke-width="1.4" stroke-linejoin="round"></path>`;

/**
 * The sentence as the interface: pointing at a word shows where it looks, a click keeps it, and a
 * second word asks about the pair. One row of a toolbar with arrow keys.
 */
export function sentencePanel(actions: SentenceActions) {
  const box = createRef<HTMLElement>();
  const arcs = createRef<SVGSVGElement>();
  /** The word that the keyboard is on. */
  let focused: Pointed | undefined;
  let size: SentenceSize | undefined;
  /** The locked word that was last brought into sight. */
  let inSight: string | undefined;

  const key = ({ side, index }: Pointed) => `${side}-${index}`;
  const nodeOf = (at: Pointed) =>
    box.value?.querySelector<HTMLElement>(`[data-word="${key(at)}"]`) ?? undefined;

  function boxOf(side: Side, index: number): Box | undefined {
    const node = nodeOf({ side, index });
    if (!node) return undefined;
    const { offsetLeft: x, offsetTop: y, offsetWidth: width, offsetHeight: height } = node;
    return { x, y, width, height };
  }

  /** Scroll a long text to its locked word, such as the last token of a chat. */
  function bringIntoSight({ from, isLocked }: Reading): void {
    if (from === undefined || !isLocked) return;
    const place: Pointed = { side: "query", index: from };
    if (key(place) === inSight) return;
    inSight = key(place);
    const word = boxOf("query", from);
    const list = box.value;
    if (!word || !list) return;
    const above = word.y - list.scrollTop;
    if (above < 0 || above + word.height > list.clientHeight)
      list.scrollTop = word.y + word.height - list.clientHeight / 2;
  }

  /** All words in the order of the page: keys before queries, of two texts. */
  function order(reading: Reading): Pointed[] {
    const of = (side: Side) => reading.words[side].map(({ index }) => ({ side, index }));
    return reading.isOneText ? of("query") : [...of("key"), ...of("query")];
  }

  function pressed(event: KeyboardEvent, reading: Reading): void {
    const all = order(reading);
    const at = all.findIndex((place) => focused && key(place) === key(focused));
    const isRtl = box.value && getComputedStyle(box.value).direction === "rtl";
    const step = { ArrowRight: isRtl ? -1 : 1, ArrowLeft: isRtl ? 1 : -1 }[event.key];
    const to =
      event.key === "Home"
        ? 0
        : event.key === "End"
          ? all.length - 1
          : step !== undefined
            ? Math.max(0, Math.min(all.length - 1, Math.max(0, at) + step))
            : -1;
    const next = all[to];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    focused = next;
    actions.drawNow();
    nodeOf(next)?.focus();
  }

  function wordView(reading: Reading, look: Look, side: Side, word: Word) {
    const { from, to, isOneText, looks, isOff, axes } = reading;
    const { index, text, kind, before, role } = word;
    const place: Pointed = { side, index };
    const looksAt = isOneText || side === "key";
    const mark = looksAt ? marksOfNow.get(index) : undefined;
    const isFrom = (isOneText || side === "query") && index === from;
    const isTo = looksAt && index === to && !(isOneText && index === from);
    const isMasked = looksAt && looks !== undefined && Number.isNaN(looks.row[index] ?? 0);
    const isHidden = reading.hidden.includes(axes[side].special[index] ?? "");
    const ink = mark?.weight && !isFrom ? inkOf(look.theme, mark.weight) : undefined;
    const number = mark?.isNumbered && !isOff ? percentText(numberOf(reading, index)) : "";
    const first = order(reading)[0];
    const now = focused ?? (from === undefined ? first : { side: "query" as const, index: from });
    const classes = [
      "attnw-ex-word",
      kind === "chip" ? "attnw-ex-chip" : "",
      kind === "template" || kind === "place" ? "attnw-ex-folded" : "",
      kind === "first" && isHidden ? "attnw-ex-rest" : "",
      isHidden ? "attnw-ex-hidden" : "",
      isFrom ? "attnw-ex-from" : "",
      isTo ? "attnw-ex-to" : "",
      isMasked && !isFrom ? "attnw-ex-masked" : "",
    ];
    const rests = kind === "chip" || (kind === "first" && isHidden);
    const name = [
      text + (number && ` ${number}`),
      kind === "template" ? "of the chat template" : "",
      isFrom ? "looks" : "",
      number && "looked at",
      rests ? `${isHidden ? "show" : "hide"} resting places` : "",
    ];
    const style = ink ? { backgroundColor: ink.ground, color: ink.letters } : {};
    const gap = before.includes("\n") ? html`<br>` : before ? " " : nothing;
    const label = role ? html`<span class="attnw-ex-row-name">${role}</span>` : nothing;
    return html`${gap}${label}<button type="button" class=${classes.filter(Boolean).join(" ")}
      data-word=${key(place)} tabindex=${now && key(now) === key(place) ? 0 : -1}
      aria-pressed=${isFrom || isTo} aria-label=${name.filter(Boolean).join(", ")}
      style=${styleMap(style)} title=${kind === "template" || kind === "place" ? text : nothing}
      @pointerenter=${({ pointerType }: PointerEvent) =>
        pointerType !== "touch" && actions.point(place)}
      @focus=${() => {
        focused = place;
        if (nodeOf(place)?.matches(":focus-visible")) actions.point(place);
      }}
      @click=${() => (rests ? actions.toggleResting() : actions.choose(place))}
      >${shownText(word)}<i
        aria-hidden="true"
        dir="ltr"
        class=${isTo ? "attnw-ex-strong" : ""}
        ?hidden=${!number}
        > ${number}</i></button>`;
  }

  let marksOfNow = new Map<number, { weight: number; isNumbered: boolean }>();

  function rowView(reading: Reading, look: Look, side: Side, name: string) {
    return html`<div class="attnw-ex-words" dir="auto">${
      name && html`<span class="attnw-ex-row-name">${name}</span>`
    }${reading.words[side].map((word) => wordView(reading, look, side, word))}</div>`;
  }

  return {
    /** The sentence, or the texts of encoder and decoder. */
    view(reading: Reading, look: Look, edit: () => void) {
      const { words, isOneText } = reading;
      const all = isOneText ? words.query : [...words.key, ...words.query];
      size = sentenceSize(all, look.width, look.font, look.ruler);
      marksOfNow = marksOf(reading);
      const style = {
        fontSize: `${size.font}px`,
        paddingTop: `${size.head}px`,
        lineHeight: String(size.leading),
      };
      const classes = ["attnw-ex-sentence", size.hasArcs ? "attnw-ex-arced" : ""];
      return html`<div class=${classes.join(" ")}>
        <div class="attnw-ex-toolbar" role="toolbar" style=${styleMap(style)}
          aria-label="the text: arrow keys move between words, Enter locks one"
          @keydown=${(event: KeyboardEvent) => pressed(event, reading)}
          @pointerleave=${() => actions.point(null)}
          @focusout=${() => actions.point(null)} ${ref(box)}>
          <svg class="attnw-ex-arcs" aria-hidden="true" ${ref(arcs)}></svg>
          ${
            isOneText
              ? rowView(reading, look, "query", "")
              : [
                  rowView(reading, look, "key", "looked at"),
                  rowView(reading, look, "query", "looks"),
                ]
          }
        </div>
        <button type="button" class="attnw-ex-edit" title="edit the text" aria-label="edit the text"
          @click=${edit}><svg width="15" height="15" viewBox="0 0 16 16" aria-hidden="true"
          >${PENCIL}</svg></button>
      </div>`;
    },

    /** Draw the arcs, once the words stand on the page. */
    paint(reading: Reading | undefined, { theme }: Look): void {
      const { value: place } = arcs;
      if (!place) return;
      if (reading) bringIntoSight(reading);
      const curves =
        reading && size?.hasArcs
          ? arcsOf(
              reading,
              (side, at) => boxOf(reading.isOneText ? "query" : side, at),
              size.lines === 1 && reading.isOneText,
            )
          : [];
      const path = ([start, ...rest]: [number, number][]) =>
        `M${start}C${rest.map((point) => point.join(",")).join(" ")}`;
      render(
        curves.map(
          ({ points, width, opacity }) => svg`<path d=${path(points)} fill="none"
            stroke=${lineColour(theme)} stroke-width=${width.toFixed(2)} stroke-linecap="round"
            opacity=${opacity}></path>`,
        ),
        place as unknown as HTMLElement,
      );
    },

    /** Put the keyboard on a word. */
    focus: (at: Pointed) => nodeOf(at)?.focus(),
    contains: (node: EventTarget | null) =>
      node instanceof Node && Boolean(box.value?.contains(node)),
  };
}
