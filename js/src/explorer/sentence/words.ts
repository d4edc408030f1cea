import { spelledOf } from "../../shared/labels.js";
import { CLOSING, OPENING } from "../../shared/punctuation.js";
import type { Axis } from "../../shared/types.js";

/** Entry of an axis as a word of the sentence. */
export interface Word {
  /** Index on the axis. */
  index: number;
  text: string;
  /** Text before the word: empty, spaces, or line breaks. */
  before: string;
  /**
   * Kind of the entry. A special token is a "chip". The first token of a causal model is "first" if
   * it is a word of the text. A token of a chat template is "template", and a part of a picture or
   * a sound is "place".
   */
  kind: "word" | "chip" | "first" | "template" | "place";
  /** Role of the chat message whose line starts here. */
  role?: string;
}

/** Roles of tokens from a chat template, and of the model's own messages. */
const TEMPLATE = "template";
const ASSISTANT = "assistant";

/** Sign for a part of a picture or a sound, which is visible in the figure of a head. */
const PART = "▪";

/** Return the text of a word in the sentence. A token of a chat template is shortened to a dot. */
export const shownText = ({ kind, text }: Word): string =>
  kind === TEMPLATE ? "·" : kind === "place" ? PART : text;

/** Letters of scripts without spaces between words, where a line may break at any letter. */
const UNSPACED = new RegExp(
  `[${["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"]
    .map((script) => `\\p{Script=${script}}`)
    .join("")}]`,
  "u",
);
const LETTER = /[\p{L}\p{N}]/u;
/** Largest number of letters kept in one line. */
const MOST_TOGETHER = 24;

/**
 * Return whether two neighbors must stay in one line: pieces of a word, or punctuation next to its
 * word.
 */
function areTogether(one: Word, next: Word): boolean {
  if (next.before !== "" || [one, next].some(({ kind }) => !["word", "first"].includes(kind)))
    return false;
  if (CLOSING.test(next.text) || OPENING.test(one.text)) return true;
  const [last, first] = [one.text.at(-1) ?? "", next.text.at(0) ?? ""];
  return [last, first].every((sign) => LETTER.test(sign) && !UNSPACED.test(sign));
}

/** Return the words in groups between which a line may break. */
export function unbroken(words: readonly Word[]): Word[][] {
  const groups: Word[][] = [];
  for (const word of words) {
    const group = groups.at(-1);
    const last = group?.at(-1);
    const length = [...(group ?? []), word].reduce((sum, { text }) => sum + text.length, 0);
    if (group && last && areTogether(last, word) && length <= MOST_TOGETHER) group.push(word);
    else groups.push([word]);
  }
  return groups;
}

/** Largest number of words of a sentence. Longer texts are read in the text box. */
const MOST_WORDS = 700;

/**
 * Number of parts of a picture or sound above which the sentence leaves them out, because they
 * would be a wall of signs.
 */
const MOST_PARTS = 100;

/** Return the words of the sentence. */
export function inSentence(words: readonly Word[]): Word[] {
  const others = words.filter(({ kind }) => kind !== "place");
  return words.length - others.length > MOST_PARTS ? others : [...words];
}

/** Return whether there are words, and few enough for a sentence. */
export const fitsSentence = ({ query, key }: Record<"query" | "key", readonly Word[]>): boolean =>
  inSentence(query).length > 0 && Math.max(query.length, key.length) <= MOST_WORDS;
/** Spelling of special tokens, which also matches the first token of models without [CLS]. */
const MARKED = /^(<.*>|\[.*\])$/u;
const SPACED = /^[Ġ▁ ]/u;
const PIECE = /^##(?=.)/u;
/**
 * Largest number of characters between two tokens, for example characters that a vocabulary drops.
 */
const MOST_BETWEEN = 3;

/**
 * Normalize letters as vocabularies compare them, without case and accents, and return their
 * positions in the text.
 */
function folded(text: string): { letters: string; places: number[] } {
  let letters = "";
  const places: number[] = [];
  let place = 0;
  for (const sign of text) {
    const plain = sign
      .normalize("NFD")
      .replace(/\p{Mn}/gu, "")
      .toLowerCase();
    letters += plain;
    for (let i = 0; i < plain.length; i++) places.push(place);
    place += sign.length;
  }
  places.push(text.length);
  return { letters, places };
}

/**
 * Return the start and end of the next entry in the letters of the text; undefined if it is not
 * there.
 */
function find(letters: string, wanted: string, from: number): [number, number] | undefined {
  if (!wanted) return undefined;
  const start = letters.indexOf(wanted, from);
  if (start < 0) return undefined;
  const between = letters.slice(from, start).replace(/\s/gu, "");
  return between.length <= MOST_BETWEEN ? [start, start + wanted.length] : undefined;
}

/** Return the space before an entry that is not in the text, for example a generated word. */
function usualSpace(axis: Axis, index: number, hasMarks: boolean): string {
  const raw = axis.raw[index] ?? "";
  const text = axis.text[index] ?? "";
  const last = axis.special[index - 1];
  // A chip has its own padding, but the first token of a causal model can be a word.
  const isChip = last && (last !== "first" || MARKED.test(axis.text[index - 1] ?? ""));
  if (index === 0 || isChip || PIECE.test(raw)) return "";
  if (hasMarks) return SPACED.test(raw) || axis.special[index] ? " " : "";
  return CLOSING.test(text.trim()) ? "" : " ";
}

/**
 * Return the entries of an axis as words of a sentence, spelled and spaced as in its texts. An
 * entry that is not in the texts keeps its own spelling.
 */
export function wordsOf(axis: Axis, texts: readonly (string | null | undefined)[]): Word[] {
  const words = withParts(plainWords(axis, texts), axis);
  return axis.roles ? wordsOfChat(words, axis) : words;
}

/** Replace parts of a picture or a sound with signs without spaces. */
function withParts(words: Word[], axis: Axis): Word[] {
  const { placed, special } = axis;
  if (!placed) return words;
  // The padding after a sound or a picture consists of many tokens without text, so treat it as
  // parts.
  const isPart = (i: number) => placed[i] || special[i] === "padding";
  return words.map((word) => {
    const follows = isPart(word.index - 1);
    if (!isPart(word.index)) return follows ? { ...word, before: word.before || " " } : word;
    return { ...word, kind: "place", before: follows ? "" : word.before };
  });
}

/**
 * Return the words of a chat. Every message has its own line, which starts with its role. The token
 * before an answer that is not generated yet starts the line of the answer.
 */
function wordsOfChat(words: readonly Word[], axis: Axis): Word[] {
  const roleOf = ({ index }: Word) => axis.roles?.[index] ?? TEMPLATE;
  const first = words.find((word) => roleOf(word) !== TEMPLATE);
  const said = words.findLast((word) => roleOf(word) !== TEMPLATE);
  const answered = words.at(-1) === said || (said && roleOf(said) === ASSISTANT);
  let turn: number | null | undefined;
  return words.map((word, place) => {
    if (!answered && first && place > 0 && place === words.length - 1)
      return { ...word, kind: "template", before: "\n", role: ASSISTANT };
    // The template before the first message is in the line of this message.
    const role = place === 0 && first ? roleOf(first) : undefined;
    if (roleOf(word) === TEMPLATE) {
      // The first token stays a chip, which hides or shows the special tokens.
      return place === 0 ? { ...word, role } : { ...word, kind: "template", before: "" };
    }
    const before = turn;
    turn = axis.turns?.[word.index];
    if (turn === before) return word;
    if (word === first) return { ...word, role, before: place === 0 ? "" : " " };
    return { ...word, role: roleOf(word), before: "\n" };
  });
}

function plainWords(axis: Axis, texts: readonly (string | null | undefined)[]): Word[] {
  const whole = texts.filter(Boolean).join("\n");
  const { letters, places } = folded(whole);
  const hasMarks = axis.raw.some((raw) => SPACED.test(raw));
  let from = 0;
  // A second text starts after the first one, not on a new line.
  const joint = texts[0]?.length ?? 0;
  return axis.text.map((entry, index) => {
    const special = axis.special[index] ?? "";
    const isMarked = special !== "" && (special !== "first" || MARKED.test(entry));
    // The text of a chat contains the special tokens of its template.
    const mark = isMarked && find(letters, folded(axis.raw[index] ?? "").letters, from);
    if (mark) from = mark[1];
    const wanted = folded(entry.trim().replace(PIECE, "")).letters;
    const found = isMarked ? undefined : find(letters, wanted, from);
    if (!found) {
      const text = spelledOf(axis, index).replace(PIECE, "").trim();
      const isChip = isMarked || (special === "first" && MARKED.test(text));
      const kind = isChip ? "chip" : special === "first" ? "first" : "word";
      return { index, text, before: isChip ? "" : usualSpace(axis, index, hasMarks), kind };
    }
    const [start, end] = found;
    const [begin = 0, stop = 0] = [places[start], places[end]];
    const before = whole.slice(places[from] ?? 0, begin).replace(/[^\s]+/gu, "");
    const isJoint = (places[from] ?? 0) <= joint && begin > joint && texts.length > 1;
    from = end;
    return {
      index,
      text: whole.slice(begin, stop) || entry,
      before: isJoint ? " " : before,
      kind: special === "first" ? "first" : "word",
    };
  });
}

/**
 * Return whether an entry has letters or digits and is not a special token, such as "[BOS]" before
 * the text of a causal model.
 */
export function isWord(axis: Axis, index: number): boolean {
  const [text, special] = [axis.text[index] ?? "", axis.special[index] ?? ""];
  const isOfText = special === "" || (special === "first" && !MARKED.test(text));
  return isOfText && /[\p{L}\p{N}]/u.test(text);
}
