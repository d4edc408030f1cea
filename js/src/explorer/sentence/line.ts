import type { GridState } from "../../head_grid/state.js";
import { isolated } from "../../shared/bidi.js";
import { inQuotes, quoted, specialName } from "../../shared/labels.js";
import { counted, figures } from "../../shared/numbers.js";
import { percentText } from "../../shared/percent_text.js";
import { printer } from "../../shared/quantity.js";
import { type Head, headName, SPECIALS } from "../../shared/types.js";
import { asFloat32, asInt32 } from "../../shared/wire.js";
import { type Guess, leadOf } from "./guess.js";
import { type Link, standsOut, strongestLink } from "./looks.js";
import type { Reading } from "./reading.js";
import { isWord } from "./words.js";

/** How a part of the line is written. */
export type Style = "plain" | "head" | "from" | "to" | "muted" | "rest";
export interface Part {
  text: string;
  style: Style;
}
export type Line = Part[];

export const plain = (text: string): Part => ({ text, style: "plain" });
const POINT = plain("point at a word to see where it looks.");
const muted = (text: string): Part => ({ text, style: "muted" });

/** The whole line as text. */
export const lineText = (line: Line): string => line.map(({ text }) => text).join("");

/** From this share on the line says what rests on special tokens, in place of the even share. */
const MUCH_RESTING = 0.25;
/** The line names a second word from this share of the first word's weight on. */
const SECOND = 0.75;

const chips = ["cls", "sep", "register", "padding", "other"];

/** A word in quotes; special tokens have their own brackets. */
function spelled(reading: Reading, side: "query" | "key", at: number): string {
  const { axes, words } = reading;
  const text = words[side][at]?.text ?? "";
  return chips.includes(axes[side].special[at] ?? "") ? isolated(text) : inQuotes(text);
}
const from = (reading: Reading, at: number): Part => ({
  text: spelled(reading, "query", at),
  style: "from",
});
const to = (reading: Reading, at: number, of?: number): Part => ({
  text: reading.isOneText && at === of ? "itself" : spelled(reading, "key", at),
  style: "to",
});

/** "L1 H3 (pronoun to its person)" */
function named(head: Head, name: string): Line {
  const line: Line = [{ text: headName(head), style: "head" }];
  if (name) line.push(muted(` (${name})`));
  return line;
}

/** "In L1 H3 (pronoun to its person), " */
function inHead({ head, name, othersOff }: Reading): Line {
  const line = [plain("In "), ...named(head, name)];
  const off = others(othersOff);
  if (off) line.push(muted(` with ${off} off`));
  line.push(plain(", "));
  return line;
}

/** "L2 H11", "3 heads", or "" */
const others = ([first, ...rest]: Head[]): string =>
  rest[0] ? counted(1 + rest.length, "head") : first ? headName(first) : "";

/** "[CLS] and [SEP]", "When (the first word)" */
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

/** "he 30 %": an answer with its probability; punctuation in quotes. */
const saidShare = (text: string, share: number) =>
  `${quoted(isolated(text))} ${percentText(share)}`;

/** The prediction of the model with the head and without the head. */
function guessLine(guess: Guess | undefined): Line {
  if (!guess) return [];
  const { word, answers, hasGuess, isOff, changes } = guess;
  const [first, second] = answers;
  if (!first) return [];
  const lead = ` ${leadOf(guess, word)}`;
  const verb = hasGuess ? "says" : "has no guess";
  const asked: Line = word
    ? [plain(lead), { text: inQuotes(word), style: "from" }, plain(`, the model ${verb} `)]
    : [plain(`${lead} ${verb} `)];
  if (!hasGuess) return [...asked, plain(`(${saidShare(first.text, first.before)}).`)];
  const own = answers.find(({ isOwn }) => isOwn);
  const named = [first, own && own !== first ? own : second].filter(
    (answer) => answer !== undefined,
  );
  const say = (of: "before" | "after") =>
    named
      .filter((answer) => answer[of] !== undefined)
      .map((answer) => saidShare(answer.text, answer[of] ?? 0))
      .join(", ");
  const without = say("after");
  const now = isOff ? " Now:" : ` Without this head${changes ? ":" : ""}`;
  const change = without && `${now} ${changes ? without : "nothing changes"}.`;
  return [...asked, plain(`${say("before")}.${change}`)];
}

const HANDS_ON = {
  uniform: "the mean of all words",
  zero: "nothing",
  first: "what it takes from the first word",
};

/** The line about a head that is off. */
function offLine({ head, method, othersOff }: Reading): Line {
  const beside = others(othersOff);
  const handsOn = HANDS_ON[method ?? "uniform"];
  return [
    { text: headName(head), style: "head" },
    plain(` is off${beside && `, with ${beside}`}: it looks nowhere and hands on ${handsOn}.`),
  ];
}

/** The line about two words. */
function pairLine(reading: Reading, query: number, key: number): Line {
  const { looks } = reading;
  const weight = looks?.row[key];
  if (!looks || weight === undefined) return [];
  if (Number.isNaN(weight)) {
    const why = key > query ? "it comes later" : "its window ends before";
    return [from(reading, query), plain(" cannot see "), to(reading, key), plain(`: ${why}.`)];
  }
  const place = looks.seen.filter((look) => look.weight > weight).length + 1;
  const even = percentText(looks.even);
  const isTied = looks.seen.some((look) => look.key !== key && look.weight === weight);
  const first = `${isTied ? "as much as" : "more than"} any other word`;
  const order =
    weight < looks.even
      ? `less than an even share of ${even}`
      : place === 1
        ? first
        : `number ${place} of ${looks.seen.length}`;
  const line = [
    ...inHead(reading),
    from(reading, query),
    plain(" gives "),
    to(reading, key, query),
    plain(` ${percentText(weight)} of its attention, ${order}`),
  ];
  if (weight >= looks.even) line.push(muted(` (even: ${even})`));
  line.push(plain("."));
  return line;
}

/** " (37 %)" */
const share = ({ weight }: { weight: number }): Part => plain(` (${percentText(weight)})`);
const hasEven = (weight: number, even: number): Part =>
  plain(`has ${percentText(weight)}; even attention gives ${percentText(even)}.`);

/** The line about one word. */
function wordLine(reading: Reading, query: number): Line {
  const { looks } = reading;
  if (!looks) return [];
  const [first, second] = looks.seen;
  const even = percentText(looks.even);
  const resting = restingNames(reading);
  const start = [...inHead(reading), from(reading, query)];
  if (!first)
    return [...start, plain(" sees none of the shown words: "), restPart(reading), plain(".")];
  if (!standsOut(first.weight, looks.even)) {
    if (looks.resting > 0.5 && resting)
      return [...start, plain(" looks at no word: "), restPart(reading), plain(".")];
    return [
      ...start,
      plain(" looks at no word in particular: most at "),
      to(reading, first.key, query),
      share(first),
      plain(`, even attention gives ${even}.`),
    ];
  }
  const isClose =
    second && second.weight > SECOND * first.weight && second.weight >= 2 * looks.even;
  const isMuch = looks.resting >= MUCH_RESTING && resting;
  const line = [...start, plain(" looks at "), to(reading, first.key, query)];
  line.push(share(first));
  if (isClose) {
    line.push(plain(" and "), to(reading, second.key, query));
    line.push(share(second));
  }
  line.push(muted("; "), isMuch ? restPart(reading) : muted(`even: ${even}`), plain("."));
  return line;
}

const restPart = (reading: Reading): Part => ({
  text: `${percentText(reading.looks?.resting ?? 0)} rests on ${restingNames(reading)}`,
  style: "rest",
});

/** The strongest drawn link of any head, by the thumbnails; undefined where one stands out. */
function strongestOfAll(grid: GridState | undefined, reading: Reading) {
  const maps = grid?._thumbnails;
  // Painted rows are of one token.
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

/** The line where no word is active. */
function headLine(reading: Reading, grid: GridState | undefined): Line {
  const { weights, hidden } = reading;
  const flat = reading.isPeeked ? undefined : strongestOfAll(grid, reading);
  if (flat)
    return [
      plain("Nothing stands out in this model. Its strongest link between two words, "),
      from(reading, flat.query),
      plain(" to "),
      to(reading, flat.key),
      plain(` in ${flat.name}, `),
      hasEven(flat.weight, flat.even),
    ];
  const link = weights && strongestLink(weights, hidden);
  if (!link) return [...inHead(reading), POINT];
  const pair = [from(reading, link.query), plain(" to "), to(reading, link.key)];
  if (!standsOut(link.weight, link.even))
    return [
      ...inHead(reading),
      plain("no word stands out: the strongest link, "),
      ...pair,
      plain(", "),
      hasEven(link.weight, link.even),
    ];
  return [
    ...inHead(reading),
    plain("the strongest link is "),
    ...pair,
    share(link),
    plain(". "),
    muted("Point at a word."),
  ];
}

/** How much a head differs between two attentions that are compared. */
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

/** Quantities that are no shares: their numbers, without an even share. */
function quantityLine(reading: Reading): Line {
  const { looks, from: query, to: key, quantity } = reading;
  const start: Line = [...inHead(reading), plain(`by ${quantity}, `)];
  if (query === undefined || !looks) return [...start, POINT];
  const best = key ?? looks.seen[0]?.key;
  if (best === undefined) return [...start, from(reading, query), plain(" sees no shown word.")];
  const value = looks.row[best] ?? Number.NaN;
  const print = printer(quantity)(value);
  return [
    ...start,
    from(reading, query),
    plain(key === undefined ? " is moved most by " : " is moved by "),
    to(reading, best, query),
    plain(` (${print}).`),
  ];
}

/**
 * The one line of words: it names the head and the words that are on the screen, with the numbers
 * of the figures.
 */
export function lineOf(
  reading: Reading,
  grid: GridState | undefined,
  guess: Guess | undefined,
): Line {
  if (reading.compared.length) return changeLine(reading, grid);
  if (reading.isOff) return [...offLine(reading), ...guessLine(guess)];
  if (reading.quantity !== "weights") return quantityLine(reading);
  const { from: query, to: key, looks } = reading;
  if (query === undefined) return [...headLine(reading, grid), ...guessLine(guess)];
  if (!looks) {
    const unknown = [...inHead(reading), from(reading, query)];
    return [...unknown, plain(reading.isPeeked ? ": click the head to see." : " …")];
  }
  if (key !== undefined) return [...pairLine(reading, query, key), ...guessLine(guess)];
  return [...wordLine(reading, query), ...guessLine(guess)];
}
