import type { PredictionState } from "../../prediction_view/state.js";
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
const SHOWN = 5;

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
  answers: Answer[];
  hasGuess: boolean;
  /** Whether heads are off now: `after` is what the model says now. */
  isOff: boolean;
  /** Whether switching the head off changes an answer; undefined where not computed. */
  changes: boolean | undefined;
  /** The head that moves the answer most; undefined where not computed, or where none matters. */
  most: { head: [number, number, string]; answer: string } | undefined;
}

/** The words before the word that the model is asked about; without such a word, up to the verb. */
export const leadOf = ({ task }: Guess, word: string): string =>
  !word
    ? `${task === "next" ? "Next word: the" : "The"} model`
    : task === "next"
      ? "After "
      : `Asked to ${task === "label" ? task : "guess"} `;

/** What the answers are answers to: the words before the model's word, this word, and the rest. */
export function askedOf(guess: Guess, reading: Reading) {
  const last = guess.task === "next" && reading.words.query.at(-1)?.text;
  const word = guess.word || last || "";
  return { lead: leadOf(guess, word), word, rest: word ? ", the model says" : " says" };
}

/** What the second bar of each answer shows; "" where no answer has one. */
export const afterName = ({ answers, isOff }: Guess, head: Head): string =>
  answers.every(({ after }) => after === undefined)
    ? ""
    : isOff
      ? "with heads off"
      : `without ${headName(head)}`;

const low = (text: string) => text.trim().toLowerCase();

/** The exact effects of heads, where they are about the shown answer. */
function exactEffects({ _effects: effects, _predictions: answered }: PredictionState) {
  const isExact =
    effects && answered && !effects.estimate && !effects.versus && effects.name === answered.name;
  return isExact ? effects : undefined;
}

/**
 * The guess of the model about the active word, or about the word after the text while no word is
 * active. Predictions about another word, and effects that are not computed yet, are left out.
 */
export function guessOf(reading: Reading, state: PredictionState | undefined): Guess | undefined {
  const answered = state?._predictions;
  if (!state || !answered || reading.compared.length) return undefined;
  const { axes, from, words, head } = reading;
  const { task, rows } = answered;
  const asked = state.tokens.filter(([side]) => side === "query").at(-1)?.[1];
  const isOfInput = task === "class" || task === "span";
  const isAsked =
    from === asked && state.unit === axes.unit && (from !== undefined || task === "next");
  if (!isOfInput && !isAsked) return undefined;
  const word = from === undefined ? undefined : words.query[from];
  const isEnd = task === "next" && answered.position === (state._stacks[0]?.n_query ?? 0);
  const isOff = answered.off.length > 0;
  const effects = exactEffects(state);
  const [layers = 0, heads = 0] = effects?.values.shape ?? [];
  const values = effects && asFloat32(effects.values);
  const isInStack = effects?.stack === head[2] && head[0] < layers && head[1] < heads;
  const effect = isInStack ? values?.[head[0] * heads + head[1]] : undefined;
  const sorted = [...rows].sort((a, b) => b.before - a.before);
  const own = task === "masked" && word ? low(word.text) : "";
  const isOwn = (text: string) => own !== "" && low(text) === own;
  const first = sorted.slice(0, SHOWN);
  const ownRow = sorted.find(({ answer }) => isOwn(answer));
  if (ownRow && !first.includes(ownRow)) first[SHOWN - 1] = ownRow;
  const answers = first.map(({ answer, before, after }): Answer => {
    const isFollowed = answer === answered.name && effect !== undefined;
    const without = isFollowed ? clamp(before + effect, 0, 1) : undefined;
    return { text: answer, before, after: isOff ? after : without, isOwn: isOwn(answer) };
  });
  const known = answers.filter(({ after }) => after !== undefined);
  const largest = Math.max(...known.map(({ before, after = 0 }) => Math.abs(after - before)));
  let most: Guess["most"];
  if (values && effects && !isOff) {
    let at = 0;
    for (const [i, value] of values.entries())
      if (Math.abs(value) > Math.abs(values[at] ?? 0)) at = i;
    if (Math.abs(values[at] ?? 0) >= LEAST_EFFECT) {
      const place: [number, number, string] = [Math.floor(at / heads), at % heads, effects.stack];
      most = { head: place, answer: effects.name };
    }
  }
  return {
    task,
    word: isOfInput || isEnd || !word ? "" : word.text,
    answers,
    hasGuess: (answers[0]?.before ?? 0) >= LEAST_GUESS,
    isOff,
    changes: known.length ? largest >= LEAST_CHANGE : undefined,
    most,
  };
}
