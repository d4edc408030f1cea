import { type Caption, caption, type Table } from "../shared/caption.js";
import { shortName } from "../shared/head_names.js";
import type { Ruler } from "../shared/labels.js";
import { counted } from "../shared/numbers.js";
import type { Head, SharedState, Side } from "../shared/types.js";

/** What a link selects: a head, tokens with their names, or both. */
export interface Target {
  head: Head | null;
  tokens: [Side, number, string][];
}

/** The traits of `LinkedText`. */
export interface TextState extends SharedState {
  _links: { head: Head | null; tokens: Record<SharedState["unit"], Target["tokens"]> }[];
  /** Pieces of each paragraph: a text, and the number of its link. */
  _paragraphs: [text: string, link: number | null][][];
}

export const WATCHED: (keyof TextState)[] = [
  "selected",
  "tokens",
  "unit",
  "labels",
  "_links",
  "_paragraphs",
  "_source",
  "_stacks",
];

export const FIGURE = "Text with links to heads";
export const SIZE = 15;
export const LINE = 24;
/** Between two paragraphs. */
export const SPACE = 8;

/** What each link selects, between tokens or between words. */
export const targetsOf = ({ _links, unit }: TextState): Target[] =>
  _links.map(({ head, tokens }) => ({ head, tokens: tokens[unit] }));

/** Whether all that a link selects is selected now. */
export function isShown({ selected, tokens }: TextState, { head, tokens: own }: Target): boolean {
  const last = selected.at(-1);
  const isHead = !head || (last !== undefined && String(last) === String(head));
  const isLocked = ([side, index]: Target["tokens"][number]) =>
    tokens.some((locked) => locked[0] === side && locked[1] === index);
  return isHead && own.every(isLocked);
}

/** What a link selects, in words. */
export function targetWords({ labels }: TextState, { head, tokens }: Target): string {
  const parts = tokens.map(([side, , name]) => `${side === "query" ? "from" : "to"} ${name}`);
  return [head ? shortName(head, { labels }) : "", parts.join(" ")].filter(Boolean).join(", ");
}

/** A word of a line, or the words of a link. */
interface PlacedWords {
  text: string;
  x: number;
  link: number | null;
}

/** The words in lines of at most `room` pixels, with the top of each line. */
export function linesOf(state: TextState, room: number, measure: ReturnType<Ruler>) {
  const lines: { y: number; words: PlacedWords[] }[] = [];
  const space = measure(" ");
  let y = 0;
  for (const paragraph of state._paragraphs) {
    let words: PlacedWords[] = [];
    let x = 0;
    const end = () => {
      lines.push({ y, words });
      words = [];
      x = 0;
      y += LINE;
    };
    // Words of two pieces may touch, as a link and the comma after it.
    let touches = true;
    for (const [text, link] of paragraph)
      for (const part of text.split(/(\s+)/)) {
        if (!part.trim()) {
          touches = touches && !part;
          continue;
        }
        const width = measure(part);
        if (x > 0 && !touches && x + space + width > room) end();
        const gap = touches || x === 0 ? 0 : space;
        // The words of a link in a line are one piece, with one line below them.
        const last = words.at(-1);
        if (last && link !== null && last.link === link) last.text += touches ? part : ` ${part}`;
        else words.push({ text: part, x: x + gap, link });
        x += gap + width;
        touches = true;
      }
    end();
    y += SPACE;
  }
  return { lines, height: Math.max(0, y - SPACE) };
}

export const captionOf = (state: TextState): Caption =>
  caption(FIGURE, {
    model: state._source.model,
    quantity: counted(state._links.length, "link"),
    notes: [state._source.note],
  });

/** The words of the links, with the selected heads and tokens. */
export function tableOf(state: TextState): Table {
  const words = new Map<number, string>();
  for (const [text, link] of state._paragraphs.flat()) if (link !== null) words.set(link, text);
  return {
    columns: ["words", "selects"],
    rows: targetsOf(state).map((target, i) => [words.get(i) ?? "", targetWords(state, target)]),
  };
}
