import type { Answered, PredictionState } from "../../prediction_view/state.js";
import { clamp } from "../../shared/clamp.js";
import { type Head, headName } from "../../shared/types.js";
import { type AnswerEffects, changesWithout, exactEffects } from "./answer_effects.js";
import type { Reading } from "./reading.js";

/** Probability below which a model has no guess. */
const LEAST_GUESS = 0.05;
/** Smallest change of a probability that is reported, in words and next to bars. */
export const LEAST_CHANGE = 0.01;
/** The same for changes of a link. */
export const LEAST_LINK_CHANGE = 0.005;
/** Number of answers whose effects the kernel measures (`LIKELIEST`). */
const SHOWN = 5;
/** Prefix of an answer that continues the word before it. */
const CONTINUES = "…";

/** Answer of the model: its probability with the complete model, and without heads. */
export interface Answer {
  text: string;
  /** Spelling in the vocabulary. */
  token: string;
  before: number;
  /**
   * Probability without the disabled heads, or without the shown head; undefined if not computed.
   */
  after: number | undefined;
  /** Whether the answer is the word of the text. */
  isOwn: boolean;
}

/** Prediction of the model for one word, and the effects of heads on it. */
export interface Guess {
  task: "masked" | "next" | "label" | "class" | "span";
  /**
   * Word that is guessed, or after which the model predicts; "" for a class and for the end of a
   * text.
   */
  word: string;
  /**
   * Number of the guessed piece of its word, from 1, and the number of pieces; [1, 1] for a
   * complete word.
   */
  piece: [number: number, count: number];
  /** Probability of a word of several pieces, of which the first is guessed. */
  whole: { before: number; after: number | undefined } | undefined;
  answers: Answer[];
  hasGuess: boolean;
  /** Whether heads are off or links are changed, so that `after` is the current answer. */
  isOff: boolean;
  /** Name of these edits, for example "with heads off" or "link cut"; "" without edits. */
  edits: string;
  /** Changed links, for example "he→that cut in L2 H11"; "" without. */
  links: string;
  /** Smallest change of a probability that is reported. */
  least: number;
  /** Whether switching the head off changes a shown answer; undefined if not computed. */
  changes: boolean | undefined;
  /** Effects of all heads on the answers; undefined if not computed. */
  effects: AnswerEffects | undefined;
}

/** Question to the model: the text before the word, the word, and the rest. */
export interface Question {
  lead: string;
  word: string;
  rest: string;
}

/** Return the question about a word; without a word, about the next token or the complete input. */
export function questionAbout({ task, piece: [number, count] }: Guess, word: string): Question {
  if (!word)
    return { lead: task === "next" ? "Next token: the model" : "The model", word, rest: "" };
  if (task === "next") return { lead: "After ", word, rest: ", the model" };
  if (task === "label") return { lead: "Asked to label ", word, rest: ", the model" };
  const ofFirst = count > 1 && number === 1 ? `the first of the ${count} pieces of ` : "";
  const ofOther = number > 1 ? `, piece ${number} of the ${count} of its word` : "";
  return { lead: `Asked to guess ${ofFirst}`, word, rest: `${ofOther}, the model` };
}

/**
 * Return the title of the answers. A prediction after the end of the text follows its last word.
 */
export function askedOf(guess: Guess, reading: Reading): Question {
  const last = guess.task === "next" && reading.words.query.at(-1)?.text;
  return questionAbout(guess, guess.word || last || "");
}

/** Return the name of the second bar of each answer, or "" if no answer has one. */
export const afterName = ({ answers, edits }: Guess, head: Head): string =>
  answers.every(({ after }) => after === undefined) ? "" : edits || `without ${headName(head)}`;

/** Return the name of the edits of an answer; "" without edits. */
function editsOf({ off, links }: Answered): string {
  const [first, ...others] = links;
  const parts = [
    off.length ? "heads off" : "",
    others.length
      ? "links changed"
      : first && (first.factor ? `link × ${first.factor}` : "link cut"),
  ].filter(Boolean);
  return off.length ? `with ${parts.join(" and ")}` : parts.join("");
}

/** Return the changed links, for example "he→that cut in L2 H11". */
const linksText = ({ links }: Answered): string =>
  links
    .map(({ name, factor, scope }) => `${name} ${factor ? `× ${factor}` : "cut"} in ${scope}`)
    .join(", ");

/**
 * Return the answers of a question, most probable first. The word of the text is included, at the
 * end if necessary.
 */
function shownRows({ rows, own }: Answered) {
  const sorted = [...rows].sort((a, b) => b.before - a.before);
  const first = sorted.slice(0, SHOWN);
  if (!own?.token || first.some(({ token }) => token === own.token)) return first;
  return [...first.slice(0, SHOWN - 1), own];
}

/**
 * Return an answer for readers, with a prefix if it continues a word or looks like another answer.
 */
function answerText({ answer, token }: { answer: string; token: string }, all: Answered["rows"]) {
  if (/^##./u.test(answer)) return CONTINUES + answer.slice(2);
  const isTwice = all.some((other) => other.answer === answer && other.token !== token);
  return isTwice && !/^[Ġ▁ ]/u.test(token) ? CONTINUES + answer : answer;
}

/** Return the followed answer for readers; undefined if it is none of the known answers. */
function nameOfFollowed({ rows, followed }: Answered, shown: Answered["rows"]) {
  const row = rows.find(({ token }) => token === followed);
  return row && answerText(row, shown);
}

/**
 * Return the model's guess about the active word, or about the word after the text if no word is
 * active. Predictions about another word, and effects that are not computed yet, are left out.
 */
export function guessOf(reading: Reading, state: PredictionState | undefined): Guess | undefined {
  const answered = state?._predictions;
  if (!state || !answered || reading.compared.length) return undefined;
  const { axes, from, words, head } = reading;
  const { task, own } = answered;
  const asked = state.tokens.filter(([side]) => side === "query").at(-1)?.[1];
  const isOfInput = task === "class" || task === "span";
  const isAsked =
    from === asked && state.unit === axes.unit && (from !== undefined || task === "next");
  if (!isOfInput && !isAsked) return undefined;
  const word = from === undefined ? undefined : words.query[from];
  const isEnd = task === "next" && answered.position === (state._stacks[0]?.n_query ?? 0);
  const edits = editsOf(answered);
  const isOff = edits !== "";
  // The kernel measures heads without changes of links.
  const effects = answered.links.length ? undefined : exactEffects(state);
  const changes = changesWithout(isOff ? undefined : effects, head);
  const rows = shownRows(answered);
  const answers = rows.map((row): Answer => {
    const change = changes.get(row.token);
    const without = change === undefined ? undefined : clamp(row.before + change, 0, 1);
    return {
      text: answerText(row, rows),
      token: row.token,
      before: row.before,
      after: isOff ? row.after : without,
      isOwn: own?.token === row.token,
    };
  });
  const least = answered.links.length ? LEAST_LINK_CHANGE : LEAST_CHANGE;
  const areKnown = answers.length > 0 && answers.every(({ after }) => after !== undefined);
  const [number, count] = answered.piece;
  return {
    task,
    word:
      isOfInput || isEnd || !word ? "" : count > 1 && number === 1 && own ? own.answer : word.text,
    piece: answered.piece,
    whole:
      own && count > 1 && number === 1
        ? { before: own.before, after: isOff ? own.after : undefined }
        : undefined,
    answers,
    hasGuess: (answers[0]?.before ?? 0) >= LEAST_GUESS,
    isOff,
    edits,
    links: linksText(answered),
    least,
    changes: areKnown ? answers.some((answer) => isChanged(answer, least)) : undefined,
    effects: effects && { ...effects, name: nameOfFollowed(answered, rows) ?? effects.name },
  };
}

/** Return whether a probability changes by `least` or more. */
export const isChanged = (
  { before, after = before }: Pick<Answer, "before" | "after">,
  least: number,
): boolean => Math.abs(after - before) >= least;
