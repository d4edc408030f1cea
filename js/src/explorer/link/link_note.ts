import { html, nothing } from "lit-html";
import { counted } from "../../shared/numbers.js";
import { percentText } from "../../shared/percent_text.js";
import type { Head } from "../../shared/types.js";
import { type Guess, isChanged, LEAST_LINK_CHANGE } from "../sentence/guess.js";
import type { Reading } from "../sentence/reading.js";
import { isShown } from "./link_guess.js";
import { type LockedLink, scopeOf, scopeText } from "./link_state.js";

/** Change of an answer from which the head with the largest change is named. */
const LEAST_MOST = 0.02;

/** Result of a cut: its scope, and the probability of the answer. */
interface Result {
  scope: string;
  after: number;
}

/** Return "median 2 points" or "no change". */
const pointsOf = (change: number): string =>
  change < LEAST_LINK_CHANGE ? "no change" : `median ${counted(Math.round(100 * change), "point")}`;

/**
 * Return the results of cutting the link in the shown head, in its layer and in all heads, next to
 * each other and to the other words. Each scope is a button that cuts the link there, and another
 * head is then shown.
 */
export function linkNote(
  link: LockedLink | undefined,
  reading: Reading | undefined,
  guess: Guess | undefined,
  cut: ((scope: string) => void) | undefined,
) {
  if (!reading || !guess || !isShown(link, reading) || !link.cuts) return nothing;
  const { cuts, n_heads: count } = link;
  const answer = guess.answers.find(({ token }) => token === cuts.token);
  if (!answer) return nothing;
  const { head } = reading;
  const result = (scope: string, after: number | undefined): Result[] =>
    after === undefined ? [] : [{ scope, after }];
  const inHead = (of: Head) => result(scopeOf("head", of), cuts.inHead(of, cuts.token));
  const results = [
    ...inHead(head),
    ...result(scopeOf("layer", head), cuts.inLayer(head[0], cuts.token)),
    ...result(scopeOf("all", head), cuts.everywhere(cuts.token)),
  ];
  const { most } = cuts;
  const [largest] = most ? inHead(most) : [];
  const isOther = largest && largest.scope !== results[0]?.scope;
  const isLarge = isOther && Math.abs(largest.after - cuts.before) >= LEAST_MOST;
  const after = (value: number) =>
    isChanged({ before: cuts.before, after: value }, LEAST_LINK_CHANGE)
      ? html`${answer.text} <b>${percentText(value)}</b>`
      : "no change";
  const view = ({ scope, after: value }: Result) => {
    const name = scopeText(scope, count);
    return html`<span class="attnw-ex-together">${
      cut
        ? html`<button type="button" class="attnw-ex-link" title=${`cut the link in ${name}`}
            @click=${() => cut(scope)}>${name}</button>`
        : name
    } ${after(value)}</span>`;
  };
  return html`<p class="attnw-ex-link-note">link cut in ${results.map(
    (each, i) => html`${i ? " · " : ""}${view(each)}`,
  )}${isLarge ? html` · most in one head: ${view(largest)}` : nothing}${
    cuts.others === null
      ? nothing
      : html` · <span class="attnw-ex-together"
          title="median change when another word is cut in all heads"
          >other words: ${pointsOf(cuts.others)}</span>`
  }</p>`;
}
