import type { Answered, PredictionState } from "../../prediction_view/state.js";
import { clamp } from "../../shared/clamp.js";
import { type Head, headName } from "../../shared/types.js";
import { asFloat32 } from "../../shared/wire.js";
import type { Reading } from "./reading.js";

/** Below this probability a model has no guess. */
const LEAST_GUESS = 0.05;
/** A change of less than a point is none, in words and beside bars. */
export const LEAST_CHANGE = 0.01;
/** The head that moves an answer most is named from here on. */
const LEAST_EFFECT = 0.02;
/** As many answers as the kernel measures effects of (`LIKELIEST`). */
const SHOWN = 5;
/** The sign before an answer that continues the word before it. */
const CONTINUES = "…";

/** One answer of the model: its probability with the whole model, and without heads. */
export interface Answer {
  text: string;
  before: number;
  /** With the heads off that are off, or without the shown head; undefined where not computed. */
  after: number | undefined;
  /** Whether it is the word of the text. */
  isOwn: boolean;
}

/** The prediction of the model for one word, and the effects of heads on this prediction. */
export interface Guess {
  task: "masked" | "next" | "label" | "class" | "span";
  /** The word that is guessed, or that is followed; "" for a class, and for the end of a text. */
  word: string;
  /** Which piece of its word is guessed, from 1, and the number of pieces: [1, 1] of a word. */
  piece: [number: number, count: number];
  /** A word of several pieces, of which the first piece is guessed. */
  whole: { before: number; after: number | undefined } | undefined;
  answers: Answer[];
  hasGuess: boolean;
  /** Whether heads are off now: `after` is what the model says now. */
  isOff: boolean;
  /** Whether switching the head off changes a shown answer; undefined where not computed. */
  changes: boolean | undefined;
  /** The head that moves the answer most; undefined where not computed, or where none matters. */
  most: { head: [number, number, string]; answer: string } | undefined;
}

/** A question: the words before the model's word, this word, and the rest. */
export interface Question {
  lead: string;
  word: string;
  rest: string;
}

/** The question about a word; without a word about the next token, or the whole input. */
export function questionAbout({ task, piece: [number, count] }: Guess, word: string): Question {
  if (!word)
    return { lead: task === "next" ? "Next token: the model" : "The model", word, rest: "" };
  if (task === "next") return { lead: "After ", word, rest: ", the model" };
  if (task === "label") return { lead: "Asked to label ", word, rest: ", the model" };
  const ofFirst = count > 1 && number === 1 ? `the first of the ${count} pieces of ` : "";
  const ofOther = number > 1 ? `, piece ${number} of the ${count} of its word` : "";
  return { lead: `Asked to guess ${ofFirst}`, word, rest: `${ofOther}, the model` };
}

/** The title of the answers. What follows the text follows its last word. */
export function askedOf(guess: Guess, reading: Reading): Question {
  const last = guess.task === "next" && reading.words.query.at(-1)?.text;
  return questionAbout(guess, guess.word || last || "");
}

/** What the second bar of each answer shows; "" where no answer has one. */
export const afterName = ({ answers, isOff }: Guess, head: Head): string =>
  answers.every(({ after }) => after === undefined)
    ? ""
    : isOff
      ? "with heads off"
      : `without ${headName(head)}`;

/** Exact effects on the answers of the shown question, by the entries of the vocabulary. */
function exactEffects({ _effects: effects, _predictions: answered }: PredictionState) {
  const isExact =
    effects &&
    answered &&
    !effects.estimate &&
    !effects.versus &&
    effects.followed === answered.followed;
  if (!isExact) return undefined;
  const [layers = 0, heads = 0] = effects.values.shape;
  const others = effects.others && asFloat32(effects.others.values);
  const size = layers * heads;
  const ofAnswer = new Map([[effects.followed, asFloat32(effects.values)]]);
  for (const [i, token] of (effects.others?.tokens ?? []).entries())
    if (others) ofAnswer.set(token, others.subarray(i * size, (i + 1) * size));
  return { ...effects, layers, heads, ofAnswer };
}

/** The changes of answers without one head, by the entries of the vocabulary; {} if unknown. */
function changesWithout(
  effects: ReturnType<typeof exactEffects>,
  [layer, number, stack]: Head,
): Map<string, number> {
  const changes = new Map<string, number>();
  if (!effects || effects.stack !== stack || layer >= effects.layers || number >= effects.heads)
    return changes;
  for (const [token, values] of effects.ofAnswer) {
    const change = values[layer * effects.heads + number] ?? Number.NaN;
    if (!Number.isNaN(change)) changes.set(token, change);
  }
  return changes;
}

/** The head with the largest effect on the followed answer; layers without attention have none. */
function largestEffect(effects: ReturnType<typeof exactEffects>): Guess["most"] {
  const values = effects?.ofAnswer.get(effects.followed);
  if (!values || !effects) return undefined;
  let at = -1;
  for (const [i, value] of values.entries())
    if (Math.abs(value) > Math.abs(values[at] ?? 0)) at = i;
  if (Math.abs(values[at] ?? 0) < LEAST_EFFECT) return undefined;
  const { heads, stack, name } = effects;
  return { head: [Math.floor(at / heads), at % heads, stack], answer: name };
}

/** Answers of a question, the likeliest first, with the word of the text at the end or in place. */
function shownRows({ rows, own }: Answered) {
  const sorted = [...rows].sort((a, b) => b.before - a.before);
  const first = sorted.slice(0, SHOWN);
  if (!own?.token || first.some(({ token }) => token === own.token)) return first;
  return [...first.slice(0, SHOWN - 1), own];
}

/** An answer as readers see it: a sign marks the end of a word, and answers that look alike. */
function answerText({ answer, token }: { answer: string; token: string }, all: Answered["rows"]) {
  if (/^##./u.test(answer)) return CONTINUES + answer.slice(2);
  const isTwice = all.some((other) => other.answer === answer && other.token !== token);
  return isTwice && !/^[Ġ▁ ]/u.test(token) ? CONTINUES + answer : answer;
}

/**
 * The guess of the model about the active word, or about the word after the text while no word is
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
  const isOff = answered.off.length > 0;
  const effects = isOff ? undefined : exactEffects(state);
  const changes = changesWithout(effects, head);
  const rows = shownRows(answered);
  const answers = rows.map((row): Answer => {
    const change = changes.get(row.token);
    const without = change === undefined ? undefined : clamp(row.before + change, 0, 1);
    return {
      text: answerText(row, rows),
      before: row.before,
      after: isOff ? row.after : without,
      isOwn: own?.token === row.token,
    };
  });
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
    changes: areKnown ? answers.some(isChanged) : undefined,
    most: largestEffect(effects),
  };
}

/** Whether a probability changes by a point or more. */
export const isChanged = ({ before, after = before }: Pick<Answer, "before" | "after">): boolean =>
  Math.abs(after - before) >= LEAST_CHANGE;
