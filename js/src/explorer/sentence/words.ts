import { spelledOf } from "../../shared/labels.js";
import { CLOSING, OPENING } from "../../shared/punctuation.js";
import type { Axis } from "../../shared/types.js";

/** One entry of an axis as it stands in the sentence. */
export interface Word {
  /** Its place on the axis. */
  index: number;
  text: string;
  /** What stands before it in the text: nothing, spaces, or line breaks. */
  before: string;
  /**
   * A special token is a "chip". The first token of a causal model on which attention rests is
   * "first" where it is a word of the text. A token of a chat template is "template", and a token
   * that is a part of a picture or a sound is "place".
   */
  kind: "word" | "chip" | "first" | "template" | "place";
  /** The role of a message of a chat whose line begins here. */
  role?: string;
}

/** The role of the tokens that a chat template writes, and of the model's own messages. */
const TEMPLATE = "template";
const ASSISTANT = "assistant";

/** The sign of a part of a picture or a sound, which is seen in the figure of a head. */
const PART = "▪";

/** What the sentence shows for a word: a token of a chat template is folded to a dot. */
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
/** Most letters that a line keeps together. */
const MOST_TOGETHER = 24;

/** Whether two neighbors stand in one line: pieces of a word, and a mark beside its word. */
function areTogether(one: Word, next: Word): boolean {
  if (next.before !== "" || [one, next].some(({ kind }) => !["word", "first"].includes(kind)))
    return false;
  if (CLOSING.test(next.text) || OPENING.test(one.text)) return true;
  const [last, first] = [one.text.at(-1) ?? "", next.text.at(0) ?? ""];
  return [last, first].every((sign) => LETTER.test(sign) && !UNSPACED.test(sign));
}

/** The words in groups between which a line may break. */
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

/** Sentences longer than this are read in the text box: nobody points at one word of thousands. */
const MOST_WORDS = 700;

/** More parts of a picture or a sound are a wall of signs: they are seen in the figure alone. */
const MOST_PARTS = 100;

/** The words that stand in the sentence. */
export function inSentence(words: readonly Word[]): Word[] {
  const others = words.filter(({ kind }) => kind !== "place");
  return words.length - others.length > MOST_PARTS ? others : [...words];
}

/** Whether there are words, and few enough for a sentence. */
export const fitsSentence = ({ query, key }: Record<"query" | "key", readonly Word[]>): boolean =>
  inSentence(query).length > 0 && Math.max(query.length, key.length) <= MOST_WORDS;
/** A special token by its spelling: models without [CLS] have such a first token too. */
const MARKED = /^(<.*>|\[.*\])$/u;
const SPACED = /^[Ġ▁ ]/u;
const PIECE = /^##(?=.)/u;
/** Largest number of characters between two tokens, such as a sign that a vocabulary drops. */
const MOST_BETWEEN = 3;

/** Letters as vocabularies compare them: without case and accents, with their place in the text. */
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

/** Where the next entry begins and ends in the letters of the text; undefined where it is not. */
function find(letters: string, wanted: string, from: number): [number, number] | undefined {
  if (!wanted) return undefined;
  const start = letters.indexOf(wanted, from);
  if (start < 0) return undefined;
  const between = letters.slice(from, start).replace(/\s/gu, "");
  return between.length <= MOST_BETWEEN ? [start, start + wanted.length] : undefined;
}

/** The space before an entry that is missing in the text, such as a generated word. */
function usualSpace(axis: Axis, index: number, hasMarks: boolean): string {
  const raw = axis.raw[index] ?? "";
  const text = axis.text[index] ?? "";
  const last = axis.special[index - 1];
  // A chip has room round it; the first token of a causal model can be a word.
  const isChip = last && (last !== "first" || MARKED.test(axis.text[index - 1] ?? ""));
  if (index === 0 || isChip || PIECE.test(raw)) return "";
  if (hasMarks) return SPACED.test(raw) || axis.special[index] ? " " : "";
  return CLOSING.test(text.trim()) ? "" : " ";
}

/**
 * The entries of an axis as words of a sentence, spelled and spaced as in its texts. An entry that
 * the texts do not show keeps its own spelling.
 */
export function wordsOf(axis: Axis, texts: readonly (string | null | undefined)[]): Word[] {
  const words = withParts(plainWords(axis, texts), axis);
  return axis.roles ? wordsOfChat(words, axis) : words;
}

/** Words in which parts of a picture or a sound are signs without spaces. */
function withParts(words: Word[], axis: Axis): Word[] {
  const { placed, special } = axis;
  if (!placed) return words;
  // The padding after a sound or a picture is many tokens without a text.
  const isPart = (i: number) => placed[i] || special[i] === "padding";
  return words.map((word) => {
    const follows = isPart(word.index - 1);
    if (!isPart(word.index)) return follows ? { ...word, before: word.before || " " } : word;
    return { ...word, kind: "place", before: follows ? "" : word.before };
  });
}

/**
 * Words of a chat: every message stands in a line of its own, which begins with its role. The token
 * before an answer that is not written yet begins the line of the answer.
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
    // The template before the first message stands in the line of this message.
    const role = place === 0 && first ? roleOf(first) : undefined;
    if (roleOf(word) === TEMPLATE) {
      // The first token keeps its chip, with which resting places are hidden.
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
  // A second text begins where the first one ends, and not in a new line.
  const joint = texts[0]?.length ?? 0;
  return axis.text.map((entry, index) => {
    const special = axis.special[index] ?? "";
    const isMarked = special !== "" && (special !== "first" || MARKED.test(entry));
    // The text of a chat has the special tokens of its template.
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

/** Whether an entry has letters or digits, and is no special token. */
export const isWord = (axis: Axis, index: number): boolean =>
  ["", "first"].includes(axis.special[index] ?? "") && /[\p{L}\p{N}]/u.test(axis.text[index] ?? "");
