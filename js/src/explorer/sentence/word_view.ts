import { html, nothing } from "lit-html";
import { inkOf } from "../../shared/ink.js";
import { percentText } from "../../shared/percent_text.js";
import type { Pointed } from "../../shared/pointed.js";
import type { Theme } from "../../shared/theme.js";
import type { Side } from "../../shared/types.js";
import { type Mark, numberOf } from "./arcs.js";
import type { Reading } from "./reading.js";
import { shownText, type Word } from "./words.js";

/** Callbacks for words. */
export interface WordActions {
  /** Handle a move of the pointer or the keyboard cursor to a word, or away from all words. */
  point(pointed: Pointed | null): void;
  /** Handle a click on a word. */
  choose(pointed: Pointed): void;
  /** Hide or show special tokens, after a click on one or on the first word of a causal model. */
  toggleResting(): void;
}

/** Return the value of the attribute `data-word` of a word's element. */
export const wordKey = ({ side, index }: Pointed): string => `${side}-${index}`;

/** Return the space or the line break before a word. */
export const gapBefore = ({ before }: Word) =>
  before.includes("\n") ? html`<br>` : before ? " " : nothing;

/** Return the role of a word of one side in the reading. `mark`: Mark of the word. */
function partOf(reading: Reading, side: Side, { index, kind }: Word, mark: Mark | undefined) {
  const { from, to, isOneText, looks, isOff, axes } = reading;
  const looksAt = isOneText || side === "key";
  const isFrom = (isOneText || side === "query") && index === from;
  const isHidden = reading.hidden.includes(axes[side].special[index] ?? "");
  return {
    isFrom,
    isTo: looksAt && index === to && !(isOneText && index === from),
    isMasked: looksAt && looks !== undefined && Number.isNaN(looks.row[index] ?? 0),
    isHidden,
    /** Whether a click hides or shows the special tokens. */
    isResting: kind === "chip" || (kind === "first" && isHidden),
    number: looksAt && mark?.isNumbered && !isOff ? percentText(numberOf(reading, index)) : "",
    weight: looksAt && !isFrom ? (mark?.weight ?? 0) : 0,
  };
}
type WordPart = ReturnType<typeof partOf>;

const isFolded = ({ kind }: Word) => kind === "template" || kind === "place";

/** Return the classes "attnw-ex-word", "attnw-ex-from" and others that apply. */
function classesOf(word: Word, { isFrom, isTo, isMasked, isHidden }: WordPart): string {
  const kinds = {
    word: true,
    chip: word.kind === "chip",
    folded: isFolded(word),
    rest: word.kind === "first" && isHidden,
    hidden: isHidden,
    from: isFrom,
    to: isTo,
    masked: isMasked && !isFrom,
  };
  const names = Object.entries(kinds).flatMap(([name, holds]) => (holds ? name : []));
  return names.map((name) => `attnw-ex-${name}`).join(" ");
}

/** Return the accessible name of a word. */
function spokenName(word: Word, { number, isFrom, isHidden, isResting }: WordPart): string {
  const name = [
    word.text + (number && ` ${number}`),
    word.kind === "template" ? "of the chat template" : "",
    isFrom ? "looks" : "",
    number && "looked at",
    isResting ? `${isHidden ? "show" : "hide"} resting places` : "",
  ];
  return name.filter(Boolean).join(", ");
}

/**
 * Return a word as a button, with its weight as background color and number, after the space and
 * the role before it. `isReached`: Whether Tab focuses the word. `focused` is called when the word
 * gets the focus.
 */
export function wordView(
  reading: Reading,
  of: { side: Side; word: Word; mark: Mark | undefined; theme: Theme; isReached: boolean },
  actions: WordActions,
  focused: (at: Pointed) => void,
) {
  const { side, word, theme, isReached } = of;
  const place: Pointed = { side, index: word.index };
  const part = partOf(reading, side, word, of.mark);
  const { number, isTo, isFrom, isResting } = part;
  const ink = part.weight ? inkOf(theme, part.weight) : undefined;
  const role = word.role ? html`<span class="attnw-ex-row-name">${word.role}</span>` : nothing;
  // Use pointermove: a resting pointer triggers pointerenter when a word appears under it.
  const move = ({ pointerType }: PointerEvent) => pointerType !== "touch" && actions.point(place);
  const focus = ({ currentTarget }: FocusEvent) => {
    focused(place);
    if ((currentTarget as Element).matches(":focus-visible")) actions.point(place);
  };
  return html`${gapBefore(word)}${role}<button type="button" class=${classesOf(word, part)}
    data-word=${wordKey(place)} tabindex=${isReached ? 0 : -1}
    aria-pressed=${isFrom || isTo} aria-label=${spokenName(word, part)}
    style=${ink ? `background-color: ${ink.ground}; color: ${ink.letters}` : ""}
    title=${isFolded(word) ? word.text : nothing} @pointermove=${move} @focus=${focus}
    @click=${() => (isResting ? actions.toggleResting() : actions.choose(place))}
    >${shownText(word)}<i aria-hidden="true" dir="ltr" class=${isTo ? "attnw-ex-strong" : ""}
      ?hidden=${!number}> ${number}</i></button>`;
}
