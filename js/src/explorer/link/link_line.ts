import { isolated } from "../../shared/bidi.js";
import { inQuotes, quoted } from "../../shared/labels.js";
import { counted } from "../../shared/numbers.js";
import { percentText } from "../../shared/percent_text.js";
import { headName } from "../../shared/types.js";
import { type Answer, askedOf, type Guess, isChanged } from "../sentence/guess.js";
import { fromPart, type Line, type LinkLines, plain, toPart } from "../sentence/line.js";
import type { Reading } from "../sentence/reading.js";
import { isShown } from "./link_guess.js";
import { type LockedLink, scopeText } from "./link_state.js";

const said = (text: string) => quoted(isolated(text));

/** Return two shares, with a decimal if the percentages would be equal: "73 % → 29 %". */
function sharesText(before: number, after: number): string {
  const texts = [before, after].map(percentText);
  const [first, second] =
    texts[0] === texts[1] ? [before, after].map((x) => `${(100 * x).toFixed(1)}\u00a0%`) : texts;
  return `${first}\u00a0→\u00a0${second}`;
}

/** Return "he 73 % → 29 %", or "he 73 % as before". */
const changeOf = (text: string, before: number, after: number, least: number): string =>
  isChanged({ before, after }, least)
    ? `${said(text)} ${sharesText(before, after)}`
    : `${said(text)} ${percentText(before)} as before`;

/**
 * Return the start of a sentence about the question, "Asked to guess “he”", and its rest. A
 * question about the complete text names no word.
 */
function asked(guess: Guess, reading: Reading): { start: Line; rest: string } {
  const { lead, word, rest } = askedOf(guess, reading);
  const named: Line = word ? [{ text: inQuotes(word), style: "from" }] : [];
  return { start: [plain(` ${lead}`), ...named], rest };
}

/** Return for example ", with 2 heads off,", because the answers have all edits. */
function headsOff({ isOff, othersOff }: Reading): string {
  const count = othersOff.length + Number(isOff);
  return count ? `, with ${counted(count, "head")} off,` : "";
}

/** Return what a change does to the link: "In L2 H11, “he” cannot see “that”." */
function changeLine(reading: Reading, link: LockedLink): Line {
  const { factor, scope } = link.answered ?? { factor: 1, scope: "" };
  const verb = factor === 0 ? " cannot see " : " looks at ";
  const times = factor === 0 ? "." : ` with ${factor} times the weight.`;
  return [
    plain("In "),
    { text: scopeText(scope, link.n_heads), style: "head" },
    plain(", "),
    fromPart(reading, link.from),
    plain(verb),
    toPart(reading, link.to, link.from),
    plain(times),
  ];
}

/** Return the line about a link that is cut or strengthened: its change, and the answers. */
function changedLinkLine(reading: Reading, guess: Guess, link: LockedLink): Line {
  const { answers, least } = guess;
  const [first] = answers;
  if (!first) return changeLine(reading, link);
  const now = ({ before, after = before }: Answer) => after;
  // An answer that overtakes the first is named too.
  const most = answers.reduce(
    (best, answer) => (now(answer) > now(best) && isChanged(answer, least) ? answer : best),
    first,
  );
  const texts = [first, ...(most === first ? [] : [most])].map(({ text, before, after = before }) =>
    changeOf(text, before, after, least),
  );
  const { start, rest } = asked(guess, reading);
  const masked = link.isMasked ? ", which is then masked" : "";
  return [
    ...changeLine(reading, link),
    ...start,
    plain(`${masked}${rest}${headsOff(reading)} says ${texts.join(", ")}.`),
  ];
}

/**
 * Return the answers without a link that is as it is: cut in the shown head, and in all heads. In a
 * masked model, the weight in the pass that answers is another one than in the text.
 */
function uncutLinkLine(reading: Reading, guess: Guess, link: LockedLink): Line {
  const { cuts } = link;
  const [first] = guess.answers;
  if (!cuts || !first) return [];
  const weight = cuts.weight(reading.head);
  const { start: line, rest } = asked(guess, reading);
  if (link.isMasked && weight !== undefined)
    line.push(
      plain(", this place is masked and gives "),
      toPart(reading, link.to, link.from),
      plain(` ${percentText(weight)}.`),
    );
  else line.push(plain(`${rest} says ${said(first.text)} ${percentText(first.before)}.`));
  const inHead = cuts.inHead(reading.head, first.token);
  const everywhere = cuts.everywhere(first.token);
  const parts: string[] = [];
  if (inHead !== undefined)
    parts.push(
      `${headName(reading.head)}: ${changeOf(first.text, first.before, inHead, guess.least)}`,
    );
  if (everywhere !== undefined)
    parts.push(
      `all heads: ${
        isChanged({ before: first.before, after: everywhere }, guess.least)
          ? percentText(everywhere)
          : "no change"
      }`,
    );
  if (parts.length) line.push(plain(` Link cut in ${parts.join("; in ")}.`));
  return line;
}

/** Return the lines about the link between the locked words, if it is on the screen. */
export function linkLines(
  reading: Reading,
  guess: Guess | undefined,
  link: LockedLink | undefined,
): LinkLines {
  if (!guess || !isShown(link, reading)) return {};
  if (link.answered && !link.hasOthers) return { changed: changedLinkLine(reading, guess, link) };
  return link.cuts && !guess.isOff ? { uncut: uncutLinkLine(reading, guess, link) } : {};
}
