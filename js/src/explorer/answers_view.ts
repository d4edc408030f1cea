import { html, nothing } from "lit-html";
import { percentText } from "../shared/percent_text.js";
import { fromWord } from "./from_word.js";
import { type Answer, afterName, askedOf, type Guess, isChanged } from "./sentence/guess.js";
import type { Reading } from "./sentence/reading.js";

/** Widths in pixels from which answers are in two columns of three, or three columns of two. */
const TWO_COLUMNS = 420;
const THREE_COLUMNS = 640;
/** Heights of the title, of an answer, and of the space between two answers. */
const TITLE = 29;
const ROW = 16;
const ROW_GAP = 2;
const MOST_ANSWERS = 5;
/** Number of characters above which answers, for example image classes, need wide columns. */
const SHORT = 8;

/** Return a bar on a fixed scale from 0 to 100 %. */
const bar = (share: number, kind: string) =>
  html`<span class=${`attnw-ex-bar-of ${kind}`}
    style=${`width: ${(100 * share).toFixed(2)}%`}></span>`;

/**
 * Return the class of the second bar, which is pale while it shows the answer without a head that
 * is on.
 */
const afterClass = (isOff: boolean) => `attnw-ex-after${isOff ? "" : " attnw-ex-would"}`;

function answerView({ text, before, after, isOwn }: Answer, { isOff, least }: Guess) {
  return html`<li class="attnw-ex-answer">
    <span class=${isOwn ? "attnw-ex-own" : ""}>${text}</span>
    <span class="attnw-ex-bars" aria-hidden="true">${bar(before, "attnw-ex-before")}${
      after === undefined ? nothing : bar(after, afterClass(isOff))
    }</span>
    <span class="attnw-ex-shares">${percentText(before)}${
      after !== undefined &&
      isChanged({ before, after }, least) &&
      percentText(after) !== percentText(before)
        ? html` → <b>${percentText(after)}</b>`
        : nothing
    }</span>
  </li>`;
}

/** Return the number of rows of answers. */
const rowsFor = (width: number, isLong: boolean, count = MOST_ANSWERS): number =>
  width > THREE_COLUMNS && !isLong ? 2 : width > TWO_COLUMNS ? 3 : count;

/** Return the height of the title and the answers. */
const heightOf = (rows: number): number => TITLE + rows * ROW + (rows - 1) * ROW_GAP;

/** Return the title of the answers: the question to the model. */
function titleOf(guess: Guess, reading: Reading) {
  const { lead, word, rest } = askedOf(guess, reading);
  return html`${lead}${word ? fromWord(word) : nothing}${rest} says`;
}

/**
 * Return the model's answers, each with two thin bars, before and after. The blue bar is pale while
 * the head is on, because it shows the answer without the head. `below`: Figure under the answers.
 * `aside`: Control at the end of the title.
 */
export function answersView(
  guess: Guess | undefined,
  reading: Reading | undefined,
  hint: string,
  width: number,
  below: unknown,
  aside: unknown = nothing,
  note: unknown = nothing,
) {
  if (!guess || !reading)
    return html`<div class="attnw-ex-guess"><p class="attnw-ex-quiet-text" ?hidden=${!hint}
      style=${hint ? `min-height: ${heightOf(rowsFor(width, false))}px` : nothing}
      >${hint}</p>${hint ? below : nothing}</div>`;
  const { answers, isOff, task } = guess;
  const without = afterName(guess, reading.head);
  const isLong = answers.some(({ text }) => text.length > SHORT) && task !== "next";
  const isNarrow = width > THREE_COLUMNS && !isLong;
  const rows = rowsFor(width, isLong, answers.length);
  return html`<div class="attnw-ex-guess">
    <h4 aria-level="2"><span class="attnw-ex-guess-title">${titleOf(guess, reading)}</span>
      <span class="attnw-ex-guess-key"><s class="attnw-ex-before"></s>whole${
        without
          ? html` <s class=${afterClass(isOff)}></s
              >${without}`
          : nothing
      }</span>${aside}</h4>
    <ul class=${`attnw-ex-answers${isNarrow ? " attnw-ex-narrow" : isLong ? " attnw-ex-long" : ""}`}
      style=${`grid-template-rows: repeat(${rows}, auto)`}
      >${answers.map((answer) => answerView(answer, guess))}</ul>
    ${note}${below}
  </div>`;
}
