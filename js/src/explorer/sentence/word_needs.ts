import type { PredictionState } from "../../prediction_view/state.js";
import { isolated } from "../../shared/bidi.js";
import { lineColor } from "../../shared/ink.js";
import { inQuotes, quoted } from "../../shared/labels.js";
import { counted } from "../../shared/numbers.js";
import { percentText } from "../../shared/percent_text.js";
import type { Theme } from "../../shared/theme.js";
import { asFloat32 } from "../../shared/wire.js";
import type { Guess } from "./guess.js";
import { type Box, NUMBER_HEIGHT, type SentenceSize } from "./layout.js";
import { type Line, type Part, plain, spelled } from "./line.js";
import type { Reading } from "./reading.js";

/** Height of a share of 100 % for one line, for some lines, and for long texts. */
const SCALES = { one: 44, some: 22, many: 12 };
const SOME_LINES = 3;
/** Attention from which a bar has a number, and smallest change that has one. */
const LEAST_SHARE = 0.06;
const LEAST_NEED = 0.025;
/** Change below which no word is called needed. */
const NO_CHANGE = 0.005;
/** Smallest height of a bar, and space between a bar and its word. */
const LEAST_HEIGHT = 0.75;
const BESIDE = 3;
/** Part of a word's width, and largest width of a bar. */
const SHARE_OF_WORD = 0.6;
const WIDEST = 26;
const NUMBER_SIZE = 11;
const GRAY = { light: "#9aa0a6", dark: "#7d8188" };
const NEED = { light: "#c2570c", dark: "#f08a3c" };

/** Attention to each word, and what the answer loses without the word. */
export interface WordNeeds {
  /** Entries of the words in the axis, without the asked word. */
  entries: number[];
  attention: Float32Array;
  /** Loss of the answer's probability; negative if it gains. */
  need: Float32Array;
  compared: boolean[];
  answer: string;
  probability: number;
  agreement: number | null;
  control: number | null;
  heads: number;
  /** Number of words whose need is known, which is all words in the end. */
  n_known: number;
  /** Whether the asked word is masked in the measured pass. */
  isMasked: boolean;
}

/**
 * Return whether the words that an answer needs can be asked for on this screen. They are measured
 * without changes of links.
 */
export const canAsk = (reading: Reading | undefined, guess: Guess | undefined): boolean =>
  (guess?.task === "masked" || guess?.task === "next") &&
  guess.links === "" &&
  reading?.isOneText === true;

/** Return the needs of the shown question; undefined if they are not asked for or not known. */
export function needsOf(
  guess: Guess | undefined,
  state: PredictionState | undefined,
): WordNeeds | undefined {
  const found = currentNeeds(state);
  if (!guess || !found || found.problem || !found.entries || !state?._needs_asked) return undefined;
  const need = asFloat32(found.need);
  return {
    entries: found.entries,
    attention: asFloat32(found.attention),
    need,
    n_known: need.filter((value) => !Number.isNaN(value)).length,
    compared: found.compared,
    answer: guess.effects?.name ?? state._predictions?.name ?? "",
    probability: found.probability,
    agreement: found.agreement,
    control: found.control,
    heads: found.heads,
    isMasked: found.masked,
  };
}

/** Return whether the needs of the shown question are measured, or cannot be. */
export function areNeedsComplete(state: PredictionState | undefined): boolean {
  const found = currentNeeds(state);
  if (!found) return false;
  return found.problem !== "" || !asFloat32(found.need).some(Number.isNaN);
}

/** Return the reason why the needs of the shown question are not measured, or "". */
export const needsProblem = (state: PredictionState | undefined): string =>
  state?._needs_asked ? (currentNeeds(state)?.problem ?? "") : "";

/** Return the needs that the kernel sent, if they are about the shown question. */
export function currentNeeds(state: PredictionState | undefined) {
  const found = state?._needs;
  const answered = state?._predictions;
  const isCurrent =
    found &&
    answered &&
    found.unit === state.unit &&
    found.position === answered.position &&
    found.followed === answered.followed &&
    JSON.stringify(found.off) === JSON.stringify(answered.off);
  return isCurrent ? found : undefined;
}

const largest = (values: Float32Array): number =>
  values.reduce((most, value) => Math.max(most, value || 0), 0);

/** Return the size of a sentence with bars above and below its words. */
export function sizeWithNeeds(size: SentenceSize, { attention, need }: WordNeeds) {
  const { lines, font } = size;
  const scale = lines === 1 ? SCALES.one : lines <= SOME_LINES ? SCALES.some : SCALES.many;
  const room = (values: Float32Array) =>
    Math.ceil(scale * largest(values)) + BESIDE + NUMBER_HEIGHT;
  const above = room(attention);
  const below = room(need);
  const leading = lines === 1 ? size.leading : 1.35 + (above + below) / font;
  // The line box centers its word.
  const lead = ((leading - 1.35) * font) / 2;
  return {
    scale,
    size: { ...size, hasArcs: false, leading, head: Math.max(4, above - lead) },
    /** Space for bars and numbers above and below a word. */
    above,
    below,
    /** Padding below the last line. */
    foot: Math.max(4, below - lead),
  };
}

/** Bar or number at a word. */
export type NeedMark =
  | { bar: Box; color: string; isHollow: boolean }
  | { text: string; x: number; y: number; color: string };

/** Return the bars at the words: attention above, need below, and their numbers. */
export function needMarks(
  needs: WordNeeds,
  boxAt: (entry: number) => Box | undefined,
  scale: number,
  theme: Theme,
): NeedMark[] {
  const side = theme.dark ? "dark" : "light";
  const [up, rests, down] = theme.forced
    ? [theme.text, theme.muted, theme.text]
    : [lineColor(theme), GRAY[side], NEED[side]];
  const marks: NeedMark[] = [];
  for (const [i, entry] of needs.entries.entries()) {
    const box = boxAt(entry);
    const share = needs.attention[i] ?? 0;
    const need = needs.need[i] ?? Number.NaN;
    if (!box) continue;
    const width = Math.min(WIDEST, Math.max(6, SHARE_OF_WORD * box.width));
    const x = box.x + (box.width - width) / 2;
    const center = box.x + box.width / 2;
    const high = Math.max(LEAST_HEIGHT, scale * share);
    const top = box.y - BESIDE - high + 2;
    const color = needs.compared[i] ? up : rests;
    marks.push({ bar: { x, y: top, width, height: high }, color, isHollow: false });
    if (share >= LEAST_SHARE)
      marks.push({ text: percentText(share), x: center, y: top - 6, color: theme.muted });
    if (Number.isNaN(need)) continue;
    const deep = Math.max(LEAST_HEIGHT, scale * Math.abs(need));
    const start = box.y + box.height + BESIDE - 2;
    marks.push({ bar: { x, y: start, width, height: deep }, color: down, isHollow: need < 0 });
    if (Math.abs(need) >= LEAST_NEED)
      marks.push({ text: lossText(need), x: center, y: start + deep + 6, color: theme.text });
  }
  return marks;
}

export const NEED_NUMBER_SIZE = NUMBER_SIZE;

/** Return a loss in points with its sign: "−33", or "+6" for a gain. */
const lossText = (need: number): string =>
  `${need > 0 ? "−" : "+"}${Math.round(100 * Math.abs(need))}`;

const pointNoun = (need: number): string => (Math.round(100 * need) === 1 ? "point" : "points");

const number = (value: number): string => value.toFixed(2).replace("-", "−");

/** Return how well the orders of attention and need agree, in words. */
function agreementText(agreement: number): string {
  if (agreement >= 0.6) return "agree";
  if (agreement >= 0.3) return "agree a little";
  return agreement > -0.3 ? "do not agree" : "disagree";
}

/** Return the line about the bars: what they show, their largest values, and their agreement. */
export function needsLine(reading: Reading, guess: Guess, needs: WordNeeds): Line {
  const { entries, attention, need, agreement, control } = needs;
  const largestAt = (values: Float32Array) =>
    values.reduce((most, value, i) => (value > (values[most] ?? 0) || most < 0 ? i : most), -1);
  const [seen, lost] = [largestAt(attention), largestAt(need)];
  const named = (at: number): Part => ({
    text: spelled(reading, "key", entries[at] ?? -1),
    style: "to",
  });
  const asked = guess.word || reading.words.query.at(-1)?.text || "";
  const line: Line = [
    plain("Up: where "),
    { text: inQuotes(asked), style: "from" },
    plain(`${needs.isMasked ? ", masked," : ""} looks, mean of all ${needs.heads} heads; most at `),
    named(seen),
    plain(` (${percentText(attention[seen] ?? 0)}). Down: what `),
    { text: quoted(isolated(needs.answer)), style: "to" },
    plain(` (${percentText(needs.probability)}) loses without that link; `),
  ];
  if (needs.n_known < entries.length) {
    line.push(plain(`${needs.n_known} of ${counted(entries.length, reading.noun)} so far.`));
    return line;
  }
  const loss = need[lost] ?? 0;
  if (loss < NO_CHANGE) line.push(plain("it loses half a point nowhere."));
  else
    line.push(
      plain("most without "),
      named(lost),
      plain(` (${lossText(loss)} ${pointNoun(loss)}).`),
    );
  const noun = `${reading.noun}s`;
  if (agreement === null) return [...line, plain(` Too few ${noun} to compare the orders.`)];
  line.push(plain(` Between ${noun} the orders ${agreementText(agreement)}: ${number(agreement)}`));
  if (control !== null)
    line.push({
      text: ` (with the attention of the other ${noun}: ${number(control)})`,
      style: "muted",
    });
  return [...line, plain(".")];
}
