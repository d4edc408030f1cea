import type { GridState } from "../../head_grid/state.js";
import type { ViewState } from "../../head_view/state.js";
import type { PredictionState } from "../../prediction_view/state.js";
import { labelOfHead } from "../../shared/head_names.js";
import { inQuotes } from "../../shared/labels.js";
import type { Peeked } from "../../shared/peek.js";
import type { Pointed } from "../../shared/pointed.js";
import {
  type Axes,
  type Head,
  type HeadLabel,
  type Method,
  type Side,
  sameHead,
} from "../../shared/types.js";
import { asUint8 } from "../../shared/wire.js";
import type { ExplorerState, NamedHead } from "../explorer_types.js";
import { type HeadWeights, weightsOf } from "./head_weights.js";
import { type Looks, looksOf } from "./looks.js";
import { inSentence, isWord, type Word, wordsOf } from "./words.js";

/** States of an explorer and its figures, and the targets of the pointer. */
export interface Screen {
  explorer: Pick<
    ExplorerState,
    | "selected"
    | "tokens"
    | "labels"
    | "disabled"
    | "_shown"
    | "_tested"
    | "_name_links"
    | "_unknown"
  >;
  grid: GridState | undefined;
  view: ViewState;
  /** Predictions, if they are about the shown text. */
  predictions: PredictionState | undefined;
  peeked: Peeked | null;
  pointed: Pointed | null;
}

/** Content of the screen: one head, and up to two words. */
export interface Reading {
  head: Head;
  isPeeked: boolean;
  /** Tested name of the head, or its label, or "". */
  name: string;
  family: NamedHead["family"] | "";
  /** Return whether a sentence about a link may mention the name. */
  isNameOf(query: number, key: number): boolean;
  /** Noun for entries of the keys: "word", "token", or "part" of a picture or a sound. */
  noun: "word" | "token" | "part";
  /** Number of unknown words, number of all words, and the token for unknown words. */
  unknown: { count: number; all: number; token: string };
  /** Whether the head is off, and the replacement method of heads that are off. */
  isOff: boolean;
  method: Method | null;
  /** Other heads that are off. */
  othersOff: Head[];
  axes: Axes;
  /** Whether both axes have the same tokens, so that one sentence is drawn. */
  isOneText: boolean;
  words: Record<"query" | "key", Word[]>;
  hidden: readonly string[];
  quantity: string;
  /** Attending word, and the second word of a pair. */
  from: number | undefined;
  to: number | undefined;
  /** Whether the word is locked, rather than under the pointer. */
  isLocked: boolean;
  weights: HeadWeights | undefined;
  looks: Looks | undefined;
  /** Key whose link from `from` is changed in the shown head, and the factor of its weight. */
  scaled: { key: number; factor: number } | undefined;
  /** Names of the two compared attentions; empty without a comparison. */
  compared: string[];
}

/**
 * Return the words of the sentence, or of its two texts: keys before queries, but a sound of many
 * lines after its text.
 */
export function rowsOf({ words, isOneText }: Reading): [Side, Word[]][] {
  const isPlaced = words.key.some(({ kind }) => kind === "place");
  const sides: Side[] = isOneText ? ["query"] : isPlaced ? ["query", "key"] : ["key", "query"];
  const rows = sides.map((side): [Side, Word[]] => [side, inSentence(words[side])]);
  return rows.filter(([, row]) => row.length);
}

/** Return the last locked position of a side. */
const lastLock = (tokens: ViewState["tokens"], side: "query" | "key") =>
  tokens.filter(([name]) => name === side).at(-1)?.[1];

/** Return the tested name of a head, or the label that the user wrote. */
export function nameOf(head: Head, labels: HeadLabel[] = [], named: NamedHead[] | null = null) {
  const label = labelOfHead(head, labels);
  const tested = named?.find((of) => sameHead(of.head, head));
  if (tested && (!label || label === tested.label))
    return { name: tested.label, family: tested.family, label: tested.label };
  return { name: label && inQuotes(label), family: "" as const, label: "" };
}

/**
 * Return whether a tested name applies to a link. The kernel knows the links that a name predicts;
 * a label that the user wrote applies to all links.
 */
function nameLinks(label: string, axes: Axes, links: ExplorerState["_name_links"]) {
  const at = links?.names.indexOf(label) ?? -1;
  const [, queries = 0, keys = 0] = links?.values.shape ?? [];
  const isOfAxes = queries === axes.query.text.length && keys === axes.key.text.length;
  const values = links && at >= 0 && isOfAxes ? asUint8(links.values) : undefined;
  return (query: number, key: number) =>
    label === "" || values?.[(at * queries + query) * keys + key] === 1;
}

function nounOf({ key, unit }: Axes): Reading["noun"] {
  const entries = [...key.special.keys()].filter((i) => !key.special[i]);
  if (entries.length && entries.every((i) => key.placed?.[i])) return "part";
  return unit === "tokens" ? "token" : "word";
}

/** Count the unknown words: those whose tokens are all the token for unknown words. */
function unknownWords({ query }: Axes, token: string | null): Reading["unknown"] {
  const words = [...query.text.keys()].filter(
    (i) => isWord(query, i) || (token !== null && query.raw[i]?.split(" ").includes(token)),
  );
  const isUnknown = (i: number) => query.raw[i]?.split(" ").every((raw) => raw === token);
  const count = token === null ? 0 : words.filter(isUnknown).length;
  return { count, all: words.length, token: token ?? "" };
}

/**
 * Return the active words: the locked words, or the word under the pointer. A key under the pointer
 * makes a pair with a locked query. Without a locked query, the line describes the words that
 * attend to the key.
 */
function activeWords({ explorer: { tokens }, pointed }: Screen) {
  const from = lastLock(tokens, "query");
  const to = lastLock(tokens, "key");
  if (!pointed) return { from, to, isLocked: from !== undefined };
  return pointed.side === "key"
    ? { from, to: pointed.index, isLocked: from !== undefined }
    : { from: pointed.index, to: undefined, isLocked: false };
}

const texts = ({ text, pair }: { text?: string; pair?: string | null }) => [text, pair];

/** Return the words of both axes, spelled as in the input texts. */
function sentences(axes: Axes, shown: ExplorerState["_shown"]): Reading["words"] {
  const source = texts(shown);
  const isDecoder = axes.stack === "cross" || axes.stack === "decoder";
  const target = [shown.target ?? ""];
  return {
    query: wordsOf(axes.query, isDecoder && shown.target ? target : source),
    key: wordsOf(axes.key, axes.stack === "decoder" && shown.target ? target : source),
  };
}

const areSame = ({ query, key }: Axes): boolean =>
  query.text.length === key.text.length && query.text.every((text, i) => text === key.text[i]);

/**
 * Return the content of the screen; undefined without a head, or before the figures have their
 * data.
 */
export function readingOf(screen: Screen): Reading | undefined {
  const { explorer, grid, view, peeked } = screen;
  const axes = view._axes;
  const selected = explorer.selected.at(-1);
  const head = peeked?.head ?? selected;
  if (!head || !axes?.query || axes.unit !== view.unit || axes.stack !== head[2]) return undefined;
  const isOneText = areSame(axes);
  const { from, to, isLocked } = activeWords(screen);
  const inside = (at: number | undefined, side: "query" | "key") =>
    at !== undefined && at < axes[side].text.length ? at : undefined;
  const compared = view._compared ?? [];
  const { disabled } = explorer;
  const weights = compared.length ? undefined : weightsOf({ grid, view, peeked }, head);
  const query = inside(from, "query");
  const named = nameOf(head, explorer.labels, explorer._tested);
  return {
    head,
    isPeeked: peeked !== null && !(selected && sameHead(selected, head)),
    name: named.name,
    family: named.family,
    isNameOf: nameLinks(named.label, axes, explorer._name_links),
    noun: nounOf(axes),
    unknown: unknownWords(axes, explorer._unknown),
    isOff: disabled.some((other) => sameHead(other, head)) && !compared.length,
    method: view._source.method ?? null,
    othersOff: disabled.filter((other) => !sameHead(other, head)),
    axes,
    isOneText,
    words: sentences(axes, explorer._shown),
    hidden: view.hidden,
    quantity: view.quantity,
    from: query,
    to: inside(to, "key"),
    isLocked,
    weights,
    looks: weights && query !== undefined ? looksOf(weights, query, view.hidden) : undefined,
    scaled: undefined,
    compared,
  };
}
