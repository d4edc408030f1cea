import type { GridState } from "../../head_grid/state.js";
import { isolated } from "../../shared/bidi.js";
import { inQuotes, quoted, specialName } from "../../shared/labels.js";
import { counted, figures } from "../../shared/numbers.js";
import { percentText } from "../../shared/percent_text.js";
import { printer } from "../../shared/quantity.js";
import { type Head, headName, SPECIALS } from "../../shared/types.js";
import { asFloat32, asInt32 } from "../../shared/wire.js";
import { type Answer, type Guess, isChanged, questionAbout } from "./guess.js";
import { type Link, lookersOf, standsOut, strongestLink } from "./looks.js";
import type { Reading } from "./reading.js";
import { isWord } from "./words.js";

/** Style of a part of the line. */
export type Style = "plain" | "head" | "from" | "to" | "muted" | "rest";
export interface Part {
  text: string;
  style: Style;
}
export type Line = Part[];
/** Lines about a link that can be cut: after its change, and in place of the guess before it. */
export interface LinkLines {
  changed?: Line;
  uncut?: Line;
}

export const plain = (text: string): Part => ({ text, style: "plain" });
const muted = (text: string): Part => ({ text, style: "muted" });

/** Return the complete line as text. */
export const lineText = (line: Line): string => line.map(({ text }) => text).join("");

/** Share on special tokens from which the line mentions it, instead of the even share. */
const MUCH_RESTING = 0.25;
/** Ratio to the first word's weight from which the line names a second word. */
const SECOND = 0.75;

const chips = ["cls", "sep", "register", "padding", "other"];

/** Return a word in quotes. Special tokens have their own brackets. */
export function spelled(reading: Reading, side: "query" | "key", at: number): string {
  const { axes, words } = reading;
  const text = words[side][at]?.text ?? "";
  return chips.includes(axes[side].special[at] ?? "") ? isolated(text) : inQuotes(text);
}
export const fromPart = (reading: Reading, at: number): Part => ({
  text: spelled(reading, "query", at),
  style: "from",
});
export const toPart = (reading: Reading, at: number, of?: number): Part => ({
  text: reading.isOneText && at === of ? "itself" : spelled(reading, "key", at),
  style: "to",
});

/** Return for example "L1 H3 (pronoun to its person)". */
function named(head: Head, name: string): Line {
  const line: Line = [{ text: headName(head), style: "head" }];
  if (name) line.push(muted(` (${name})`));
  return line;
}

/**
 * Return for example "In L1 H3 (pronoun to its person), ". The head's name is included only if it
 * applies to the link of the sentence.
 */
function inHead({ head, name, isNameOf, othersOff }: Reading, link?: [number, number]): Line {
  const line = [plain("In "), ...named(head, link && isNameOf(...link) ? name : "")];
  const off = others(othersOff);
  if (off) line.push(muted(` with ${off} off`));
  line.push(plain(", "));
  return line;
}

/** Return "L2 H11", "3 heads", or "". */
const others = ([first, ...rest]: Head[]): string =>
  rest[0] ? counted(1 + rest.length, "head") : first ? headName(first) : "";

/** Return for example "[CLS] and [SEP]" or "When (the first word)". */
function restingNames({ axes, words, hidden }: Reading): string {
  const names = SPECIALS.filter((kind) => hidden.includes(kind)).flatMap((kind) => {
    if (kind !== "first") return specialName(axes, kind) ?? [];
    const at = axes.key.special.indexOf("first");
    const first = words.key[at];
    if (!first) return [];
    return first.kind === "first" ? `${first.text} (the first word)` : first.text;
  });
  return names.join(" and ");
}

/** Return an answer with its probability, for example "he 30 %". Punctuation is put in quotes. */
const saidShare = (text: string, share: number) => `${quoted(isolated(text))} ${shareOf(share)}`;

/** Format a probability, without rounding a positive value to 0. */
const shareOf = (value: number) =>
  value > 0 && value < 0.0005 ? "under 0.1\u00a0%" : percentText(value);

/**
 * Return the answers whose probability changes by a percentage point or more, with the present
 * probability, as in the bars. Answers that were not mentioned before have both probabilities.
 */
function changedAnswers({ answers, least }: Guess, named: readonly Answer[]): string {
  const changed = answers.filter((answer) => isChanged(answer, least));
  const now = named.filter((answer) => changed.includes(answer));
  const others = changed.filter((answer) => !named.includes(answer));
  const said = now.map(({ text, after = 0 }) => saidShare(text, after)).join(", ");
  const moved = others.map(
    ({ text, before, after = 0 }) => `${saidShare(text, before)} → ${percentText(after)}`,
  );
  return [said, ...moved].filter(Boolean).join("; ");
}

/** Return the model's current answers, or its answers without the shown head; "" if unknown. */
function changeText(guess: Guess, named: readonly Answer[]): string {
  if (guess.changes === undefined) return "";
  const { isOff, links } = guess;
  const now = links ? ` With ${links}` : isOff ? " Now" : " Without this head";
  if (guess.changes) return `${now}: ${changedAnswers(guess, named)}.`;
  const comma = isOff && !links ? "" : ",";
  return `${now}${comma} these answers change by less than ${links ? "half a" : "a"} point.`;
}

/** Return the probability of a word of several pieces. */
function wholeText({ piece: [, count], whole }: Guess): string {
  if (!whole) return "";
  const before = shareOf(whole.before);
  const after = whole.after === undefined ? before : shareOf(whole.after);
  const pieces = count === 2 ? "Both pieces" : `All ${count} pieces`;
  return ` ${pieces}: ${before}${after === before ? "" : `, now ${after}`}.`;
}

/** Return the prediction of the model, with and without the head. */
function guessLine(guess: Guess | undefined): Line {
  if (!guess) return [];
  const { answers, hasGuess } = guess;
  const [first, second] = answers;
  if (!first) return [];
  const { lead, word, rest } = questionAbout(guess, guess.word);
  const asked: Line = [plain(` ${lead}`)];
  if (word) asked.push({ text: inQuotes(word), style: "from" }, plain(rest));
  if (!hasGuess) {
    asked.push(plain(` has no guess (${saidShare(first.text, first.before)}).`));
    return asked;
  }
  const own = answers.find(({ isOwn }) => isOwn);
  const named = [first, own && own !== first ? own : second].filter(
    (answer) => answer !== undefined,
  );
  const said = named.map(({ text, before }) => saidShare(text, before)).join(", ");
  asked.push(plain(` says ${said}.${wholeText(guess)}${changeText(guess, named)}`));
  return asked;
}

/** Output of a head that is off, by replacement method. */
const HANDS_ON = {
  uniform: (noun: string) => `the mean of all ${noun}s`,
  zero: () => "nothing",
  first: (noun: string) => `what it takes from the first ${noun}`,
};
const ITS_RULE =
  ": its rule is in its place, and looks alike at all that its name predicts, nowhere else.";

/** Return the line about a head that is off. */
function offLine({ head, method, othersOff, noun }: Reading): Line {
  const beside = others(othersOff);
  if (method === "rule")
    return [
      { text: headName(head), style: "head" },
      plain(` is off${beside && `, with ${beside}`}${ITS_RULE}`),
    ];
  // The kernel reports the replacement method when it has computed the maps without the head.
  const handsOn = method === null ? "" : ` and hands on ${HANDS_ON[method](noun)}`;
  return [
    { text: headName(head), style: "head" },
    plain(` is off${beside && `, with ${beside}`}: it looks nowhere${handsOn}.`),
  ];
}

/** Return the line about two words. */
function pairLine(reading: Reading, query: number, key: number): Line {
  const { looks } = reading;
  const weight = looks?.row[key];
  if (!looks || weight === undefined) return [];
  if (Number.isNaN(weight)) {
    const why = key > query ? "it comes later" : "its window ends before";
    return [
      fromPart(reading, query),
      plain(" cannot see "),
      toPart(reading, key),
      plain(`: ${why}.`),
    ];
  }
  const place = looks.seen.filter((look) => look.weight > weight).length + 1;
  const even = percentText(looks.even);
  const isTied = looks.seen.some((look) => look.key !== key && look.weight === weight);
  const first = `${isTied ? "as much as" : "more than"} any other ${reading.noun}`;
  const order =
    weight < looks.even
      ? `less than an even share of ${even}`
      : place === 1
        ? first
        : `number ${place} of ${looks.seen.length}`;
  const line = [
    ...inHead(reading, standsOut(weight, looks.even) ? [query, key] : undefined),
    fromPart(reading, query),
    plain(" gives "),
    toPart(reading, key, query),
    plain(` ${percentText(weight)} of its attention, ${order}`),
  ];
  if (weight >= looks.even) line.push(muted(` (even: ${even})`));
  line.push(plain("."));
  return line;
}

/** Return for example " (37 %)". */
const share = ({ weight }: { weight: number }): Part => plain(` (${percentText(weight)})`);
const hasEven = (weight: number, even: number): Part =>
  plain(`has ${percentText(weight)}; even attention gives ${percentText(even)}.`);

/** Return the line about one word. */
function wordLine(reading: Reading, query: number): Line {
  const { looks } = reading;
  if (!looks) return [];
  const [first, second] = looks.seen;
  const even = percentText(looks.even);
  const resting = restingNames(reading);
  const startOf = (key?: number) => [
    ...inHead(reading, key === undefined ? undefined : [query, key]),
    fromPart(reading, query),
  ];
  const rest = [restPart(reading), plain(".")];
  const { noun } = reading;
  if (!first)
    return [...startOf(restingKey(reading)), plain(` sees none of the shown ${noun}s: `), ...rest];
  if (!standsOut(first.weight, looks.even)) {
    if (looks.resting > 0.5 && resting)
      return [...startOf(restingKey(reading)), plain(` looks at no ${noun}: `), ...rest];
    return [
      ...startOf(),
      plain(` looks at no ${noun} in particular: most at `),
      toPart(reading, first.key, query),
      share(first),
      plain(`, even attention gives ${even}.`),
    ];
  }
  const isClose =
    second && second.weight > SECOND * first.weight && second.weight >= 2 * looks.even;
  const isMuch = looks.resting >= MUCH_RESTING && resting;
  const line = [...startOf(first.key), plain(" looks at "), toPart(reading, first.key, query)];
  line.push(share(first));
  if (isClose) {
    line.push(plain(" and "), toPart(reading, second.key, query));
    line.push(share(second));
  }
  line.push(muted("; "), isMuch ? restPart(reading) : muted(`even: ${even}`), plain("."));
  return line;
}

/** Return the hidden key with the most attention, if its weight is known. */
function restingKey({ looks, hidden, axes }: Reading): number | undefined {
  const keys = [...axes.key.special.keys()].filter((i) =>
    hidden.includes(axes.key.special[i] ?? ""),
  );
  const weight = (key: number) => looks?.row[key] || 0;
  return keys.sort((a, b) => weight(b) - weight(a))[0];
}

const restPart = (reading: Reading): Part => ({
  text: `${percentText(reading.looks?.resting ?? 0)} rests on ${restingNames(reading)}`,
  style: "rest",
});

/**
 * Return the strongest link of any head, according to the thumbnails; undefined if any head has a
 * link that stands out.
 */
function strongestOfAll(grid: GridState | undefined, reading: Reading) {
  const maps = grid?._thumbnails;
  // Painted rows contain only one token.
  if (!maps || maps.row || maps.signed || maps.times_keys || maps.stack !== reading.head[2])
    return undefined;
  const maxima = asFloat32(maps.maxima);
  const places = asInt32(maps.strongest);
  const [, heads = 1] = maps.maxima.shape;
  const { query: queries, key: keys } = reading.axes;
  let most: (Link & { head: number }) | undefined;
  const count = keys.text.length;
  for (const [head, weight] of maxima.entries()) {
    const query = places[2 * head] ?? -1;
    const key = places[2 * head + 1] ?? -1;
    if (standsOut(weight, 1 / count)) return undefined;
    const areWords = isWord(queries, query) && isWord(keys, key) && query !== key;
    if (areWords && weight > (most?.weight ?? 0))
      most = { head, query, key, weight, even: 1 / count };
  }
  return most && { ...most, name: `L${Math.floor(most.head / heads)} H${most.head % heads}` };
}

const pointAt = ({ noun }: Reading): Part => plain(`point at a ${noun} to see where it looks.`);

/** Return the line about an attended word, while no attending word is active. */
function lookedAtLine(reading: Reading, key: number): Line {
  const { weights, hidden, noun } = reading;
  const lookers = weights && lookersOf(weights, key, hidden);
  const start = (link?: [number, number]) => [...inHead(reading, link), toPart(reading, key)];
  if (!lookers) return [...start(), plain(" …")];
  // In a causal model, an early word has a large even share, so that a weaker link can stand out.
  const standing = lookers.filter(({ weight, even }) => standsOut(weight, even));
  const [first, second] = standing.length ? standing : lookers;
  if (!first) return [...start(), plain(` is seen by no shown ${noun}.`)];
  const by = (link: Link): Line => [
    reading.isOneText && link.query === key
      ? { text: "itself", style: "from" }
      : fromPart(reading, link.query),
    share(link),
  ];
  if (!standsOut(first.weight, first.even))
    return [
      ...start(),
      plain(` is looked at by no ${noun} in particular: most by `),
      ...by(first),
      plain(`, even attention gives ${percentText(first.even)}.`),
    ];
  const isClose = second && second.weight > SECOND * first.weight;
  const line = [
    ...start([first.query, key]),
    plain(` is looked at ${first === lookers[0] ? "most " : ""}by `),
    ...by(first),
  ];
  if (isClose) line.push(plain(" and "), ...by(second));
  line.push(muted(`; even: ${percentText(first.even)}`), plain("."));
  return line;
}

/** Return the exact weight of a link if the grid has it, because thumbnails are rounded. */
function exactWeight(link: Link, { head }: Reading, grid: GridState | undefined): number {
  const maps = grid?._thumbnails;
  if (!maps || maps.row || maps.signed || maps.times_keys || maps.stack !== head[2])
    return link.weight;
  const [, heads = 1] = maps.maxima.shape;
  const at = head[0] * heads + head[1];
  const places = asInt32(maps.strongest);
  const isStrongest = places[2 * at] === link.query && places[2 * at + 1] === link.key;
  return isStrongest ? (asFloat32(maps.maxima)[at] ?? link.weight) : link.weight;
}

/** Return the line while no word is active. */
function headLine(reading: Reading, grid: GridState | undefined): Line {
  const { weights, hidden, noun } = reading;
  const flat = reading.isPeeked ? undefined : strongestOfAll(grid, reading);
  if (flat)
    return [
      plain(`Nothing stands out in this model. Its strongest link between two ${noun}s, `),
      fromPart(reading, flat.query),
      plain(" to "),
      toPart(reading, flat.key),
      plain(` in ${flat.name}, `),
      hasEven(flat.weight, flat.even),
    ];
  const strongest = weights && strongestLink(weights, hidden);
  // In a causal model, an early word has a large even share, so that a weaker link can stand out.
  const found = (weights && strongestLink(weights, hidden, standsOut)) ?? strongest;
  const link = found && { ...found, weight: exactWeight(found, reading, grid) };
  if (!link) return [...inHead(reading), pointAt(reading)];
  const pair = [fromPart(reading, link.query), plain(" to "), toPart(reading, link.key)];
  if (!standsOut(link.weight, link.even))
    return [
      ...inHead(reading),
      plain(`no ${noun} stands out: the strongest link, `),
      ...pair,
      plain(", "),
      hasEven(link.weight, link.even),
    ];
  const isStrongest = link.query === strongest?.query && link.key === strongest.key;
  const line: Line = [
    ...inHead(reading, [link.query, link.key]),
    plain(`the strongest link ${isStrongest ? "" : "that stands out "}is `),
    ...pair,
    share(link),
  ];
  if (!isStrongest) line.push(muted(`; even: ${percentText(link.even)}`));
  line.push(plain(". "), muted(`Point at a ${noun}.`));
  return line;
}

/** Return the line about the difference of a head between two compared attentions. */
function changeLine(reading: Reading, grid: GridState | undefined): Line {
  const { head, name, compared } = reading;
  const maps = grid?._thumbnails;
  const start = named(head, name);
  const [a = "A", b = "B"] = compared;
  const between = a === b ? "A and B" : `A (${a}) and B (${b})`;
  if (!maps?.changes || maps.stack !== head[2])
    return [...start, plain(`, compared between ${between}.`)];
  const changes = asFloat32(maps.changes);
  const [, heads = 1] = maps.maxima.shape;
  const change = changes[head[0] * heads + head[1]] ?? 0;
  const place = changes.filter((value) => value > change).length + 1;
  const order =
    place === 1 ? `most of ${changes.length} heads` : `number ${place} of ${changes.length}`;
  return [
    ...start,
    plain(` differs between ${between}: ${order} `),
    plain(`(Jensen-Shannon divergence ${figures(change)} of at most 0.693).`),
  ];
}

/** Return the line about a quantity that is not a share, with numbers but without an even share. */
function quantityLine(reading: Reading): Line {
  const { looks, from: query, to: key, quantity } = reading;
  const best = key ?? looks?.seen[0]?.key;
  const link: [number, number] | undefined =
    query === undefined || best === undefined ? undefined : [query, best];
  const start: Line = [...inHead(reading, link), plain(`by ${quantity}, `)];
  if (query === undefined || !looks) return [...start, pointAt(reading)];
  if (best === undefined)
    return [...start, fromPart(reading, query), plain(` sees no shown ${reading.noun}.`)];
  const value = looks.row[best] ?? Number.NaN;
  const print = printer(quantity)(value);
  return [
    ...start,
    fromPart(reading, query),
    plain(key === undefined ? " is moved most by " : " is moved by "),
    toPart(reading, best, query),
    plain(` (${print}).`),
  ];
}

/** Return the warning about a text with mostly unknown words; empty for other texts. */
function unknownLine({ unknown: { count, all, token } }: Reading): Line {
  if (2 * count <= all) return [];
  if (all === 1)
    return [plain(`The model cannot read the only word: to it, it is ${isolated(token)}. `)];
  const which = count === all ? `any of the ${counted(all, "word")}` : `${count} of ${all} words`;
  return [
    plain(`The model cannot read ${which}: to it they are all the same, `),
    plain(`${isolated(token)}. `),
  ];
}

/**
 * Return the line of words. It names the head and the words on the screen, with the numbers of the
 * figures.
 */
export function lineOf(
  reading: Reading,
  grid: GridState | undefined,
  guess: Guess | undefined,
  link: LinkLines = {},
): Line {
  return [...unknownLine(reading), ...readingLine(reading, grid, guess, link)];
}

function readingLine(
  reading: Reading,
  grid: GridState | undefined,
  guess: Guess | undefined,
  link: LinkLines,
): Line {
  if (reading.compared.length) return changeLine(reading, grid);
  if (link.changed) return link.changed;
  if (reading.isOff) return [...offLine(reading), ...guessLine(guess)];
  if (reading.quantity !== "weights") return quantityLine(reading);
  const { from: query, to: key, looks } = reading;
  if (query === undefined) {
    const line = key === undefined ? headLine(reading, grid) : lookedAtLine(reading, key);
    return [...line, ...guessLine(guess)];
  }
  if (!looks) {
    const unknown = [...inHead(reading), fromPart(reading, query)];
    return [...unknown, plain(reading.isPeeked ? ": click the head to see." : " …")];
  }
  if (key !== undefined)
    return [...pairLine(reading, query, key), ...(link.uncut ?? guessLine(guess))];
  return [...wordLine(reading, query), ...guessLine(guess)];
}
