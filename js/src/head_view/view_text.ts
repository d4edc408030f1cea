import {
  type Caption,
  caption,
  headNames,
  MERGED,
  scaleName,
  scaleTitle,
  scaleWords,
  type Table,
} from "../shared/caption.js";
import { barTexts, wedgeTexts } from "../shared/color_bar.js";
import { type HeadNaming, shortName } from "../shared/head_names.js";
import { inLine } from "../shared/in_line.js";
import { inQuotes, labelOf, quoted } from "../shared/labels.js";
import { counted, digits, percentOf } from "../shared/numbers.js";
import { shareText } from "../shared/percent_text.js";
import {
  barPrinter,
  differencePrinter,
  type Print,
  quantityName,
  symbolOf,
  tablePrinter,
} from "../shared/quantity.js";
import { offNote } from "../shared/strike.js";
import {
  type Axes,
  type Axis,
  type Head,
  headName,
  type Scale,
  type StackInfo,
} from "../shared/types.js";
import { stepNote } from "./aside/generation_steps.js";
import { lengthOf } from "./aside/tiled_text.js";
import { isMany, listName, printerOf, tokenName } from "./aside/token_name.js";
import type { LineRange } from "./lines/lines_focus.js";
import { columnsScroll } from "./lines/lines_layout.js";
import { tickOf } from "./places/places_text.js";
import { leads, type Scene } from "./scene.js";
import { namesOf } from "./several/head_list_text.js";
import { differenceScale } from "./several/two_maps.js";
import type { Pair } from "./source/map_source.js";
import { sourceOf, weightAt } from "./source/source_of.js";
import { isBlock, isEmpty, type Target } from "./source/target.js";
import { hideable, twoSentences, type VisibleMap } from "./source/visible_map.js";
import type { ViewState } from "./state.js";
import type { Shown } from "./view_shown.js";

/** Return the title of a figure. A relative scale is named. */
export function titleOf(heads: string, quantity: string, unit: string, scale: Scale): string {
  const what = quantity === "weights" ? "attention" : quantity;
  return inLine([`${heads}: ${what} between ${unit}`, scaleTitle(scale)]);
}

export const title = (
  head: Head,
  quantity: string,
  unit: string,
  naming: HeadNaming = {},
  scale: Scale = "absolute",
): string => titleOf(shortName(head, naming), quantity, unit, scale);

/** Return which heads share keys, if any do. */
export function keyGroup(stack: StackInfo | undefined, [, head]: Head): string {
  if (!stack || stack.n_key_heads >= stack.n_heads) return "";
  const size = stack.n_heads / stack.n_key_heads;
  const first = Math.floor(head / size) * size;
  return `shares keys with H${first}–H${first + size - 1}`;
}

export const FIGURE = "One attention head";
const SEVERAL = "Attention heads";
const COMPARED = "One attention head, compared";
export const NO_SELECTION =
  "Select a head: click one in a HeadGrid linked to this view, or set view.selected = " +
  "[(layer, head)].";
const MOST_NAMED = 6;
/** Number of weights listed for a locked token. */
const MOST_LISTED = 8;
/** Number of links listed if readers cannot see every cell. */
const MOST_LINKS = 20;
/** Number of rows of the table next to a picture. */
export const MOST_ROWS = 15;

const FILTERS = { aa: "A → A", ab: "A → B", ba: "B → A", bb: "B → B" };
export const sentencesName = (value: ViewState["sentences"]) =>
  value === "all" ? "all" : FILTERS[value];

/**
 * Row sums below which a note is printed. Rounding to bytes loses small weights, so its limit is
 * lower.
 */
const FULL_SUM = 0.99;
const FULL_SUM_ROUNDED = 0.9;

/** Return the caption of a view. `drawing`: Notes on what the drawing leaves out. */
export function captionOf(
  state: ViewState,
  shown: Shown,
  map: VisibleMap,
  drawing: string[],
  range: LineRange = { maximum: map.maximum, of: "this head" },
): Caption {
  const { head, axes, quantity, exact } = shown;
  const source = state._source;
  const stack = state._stacks.find(({ name }) => name === head[2]);
  const [low, high] = shown.rowSums;
  const counts = [map.rows.length, map.cols.length].join(" × ");
  const whole = quantity === "weights" ? "weight" : quantity;
  const present = hideable(axes);
  const hidden = state.hidden.flatMap((kind) => present.get(kind) ?? []);
  const share = percentOf(map.hiddenShare, 100);
  const sentences = twoSentences(axes) ? state.sentences : "all";
  const together = shown.several;
  const print = printerOf(exact, quantity, axes.key);
  const isComplete = sourceOf(map).isComplete;
  const [lowest] = isComplete ? ["0"] : barTexts(state.scale, range.maximum, print);
  const figure = together?.names ? COMPARED : together ? SEVERAL : FIGURE;
  return caption(head[2] === "self" ? figure : `${figure}, ${head[2]} attention`, {
    model: source.model,
    head: namesOf(together?.heads ?? [head], state),
    quantity: `${quantityName(quantity, source.loss)} · ${
      lengthOf(map, shown.unit) ||
      (map.rows.length === map.cols.length
        ? counted(map.rows.length, shown.unit.slice(0, -1))
        : `${counts} ${shown.unit}`)
    }`,
    scale: [
      scaleWords(state.scale, quantity, true, state.mode === "lines" ? "line thickness" : "color"),
      // The end of the absolute scale is exact.
      `, ${lowest} to ${(range.of ? print : digits)(range.maximum)}`,
      range.of && `, ${range.of}`,
      together?.names ? `; the difference ${differenceScale(map, quantity).range}` : "",
    ].join(""),
    notes: [
      shown.peek ?? "",
      stepNote(state),
      together ? "" : keyGroup(stack, head),
      map.off && !together ? offNote(headName(head, state._stacks), state._source.method) : "",
      hidden.length
        ? `hidden: ${hidden.join(" ")}${shown.peek || map.off ? "" : ` (${share} of the ${whole})`}`
        : "",
      sentences === "all"
        ? ""
        : `only ${sentencesName(sentences)}${
            shown.peek
              ? ""
              : ` (${percentOf(map.filteredShare, 100)} of the ${whole} goes to the other sentence)`
          }`,
      quantity === "weights" && low < (exact ? FULL_SUM : FULL_SUM_ROUNDED)
        ? `rows sum to ${low.toFixed(2)}–${high.toFixed(2)} (attention sinks)`
        : "",
      shown.mask,
      exact ? "" : "rounded",
      shown.unit === "words" ? MERGED : "",
      writtenNote(axes),
      ...drawing,
      source.note,
    ],
  });
}

/** Return the values under the bar of color or thickness, and the text next to it. */
export function legendOf(scene: Scene, { maximum, of }: LineRange, quantity: string) {
  const { state, map } = scene;
  const isLines = state.mode === "lines";
  const printWhole = map.signed ? differencePrinter(quantity) : barPrinter(quantity, state.scale);
  const isComplete = sourceOf(map).isComplete || state.mode === "places";
  const print = isComplete ? printWhole : scene.print;
  const texts = (isLines ? wedgeTexts : barTexts)(state.scale, maximum, print);
  const words = [
    isLines ? "thickness" : state.mode === "places" ? placesLegend(scene) : "",
    symbolOf(quantity),
    scaleName(state.scale, quantity),
    of,
  ];
  return { texts, words: inLine(words) };
}

/** Return the explanation of the tick of the color bar. */
function placesLegend(scene: Scene): string {
  const even = scene.map.signed ? undefined : tickOf(scene);
  if (even === undefined) return "";
  const print = scene.state.quantity === "weights" ? shareText : scene.print;
  return `tick: even share ${print(even)}`;
}

/** Return the note on where a generated text begins. */
function writtenNote({ unit, query }: Axes): string {
  const { prompt = 0, text } = query;
  return prompt > 0 && prompt < text.length
    ? `prompt: the first ${prompt} ${unit}, then the continuation`
    : "";
}

/** Return the explanation of the second color; "" if no words are highlighted. */
export function secondOf({ highlighted, axes, several }: Shown): string {
  const words = [...new Set((highlighted.query ?? []).map((i) => quoted(labelOf(axes.query, i))))];
  const text = words.join(", ").replaceAll(", ##", "");
  return (
    text &&
    `${several?.arrangement === "overlay" ? "strong" : "second"} color: attention from and ` +
      `to ${text}`
  );
}

/**
 * Return the table of the strongest visible pairs, or of the strongest pairs of the locked tokens.
 */
export function tableOf(scene: Scene, quantity: string): Table {
  const { map, axes } = scene;
  const print = tablePrinter(quantity);
  const pairs = sourceOf(map).strongest(leads(scene), MOST_ROWS, scene.part);
  const rows = pairs.map(({ query, key, weight }) => [
    listName(axes.query, map.rows[query] ?? 0),
    listName(axes.key, map.cols[key] ?? 0),
    print(weight, pairs.length > 1 ? pairs[0]?.weight : undefined),
  ]);
  return { columns: ["from", "to", quantity.slice(0, -1)], rows };
}

/** Strong weight of a locked token, with the token at the other end and its position. */
export interface Listed {
  label: string;
  weight: string;
  target: Target;
}

/**
 * Return whether all weights of a locked token are printed next to the tokens, so that a list would
 * repeat them.
 */
export function standsBeside(scene: Scene): boolean {
  const { state, map, size, slim, several } = scene;
  if (state.mode !== "lines" || several || !sourceOf(map).isComplete) return false;
  return !slim && !columnsScroll(Math.max(map.rows.length, map.cols.length), size);
}

/** Return the strongest keys of a locked query, or queries of a locked key, with a heading. */
export function strongestOf(scene: Scene): { of: string; listed: Listed[] } | undefined {
  if (scene.state.mode === "places") return undefined;
  const { map, axes, print } = scene;
  const { query, key } = leads({ ...scene, active: {} });
  const from = (row: number) => listName(axes.query, map.rows[row] ?? 0);
  const to = (col: number) => listName(axes.key, map.cols[col] ?? 0);
  const heading = (way: "from" | "to", axis: Axis, name: string) =>
    `strongest ${way} ${isMany(axis) ? name : inQuotes(name)}`;
  const source = sourceOf(map);
  const pairs = (of: Target, name: (pair: Pair) => string) =>
    source
      .strongest(of, MOST_LISTED)
      .map((pair, _, [first]) => ({
        label: name(pair),
        weight: print(pair.weight, first?.weight),
        target: { query: pair.query, key: pair.key },
      }))
      // The order of weights that are printed as "<0.0005" is not visible.
      .filter(({ weight }, i) => i === 0 || !weight.startsWith("<"));
  if (query !== undefined)
    return {
      of: heading("from", axes.query, from(query)),
      listed: pairs({ query }, (pair) => to(pair.key)),
    };
  if (key !== undefined)
    return {
      of: heading("to", axes.key, to(key)),
      listed: pairs({ key }, (pair) => from(pair.query)),
    };
  return undefined;
}

/**
 * Return the strongest links of a map whose cells are too many to read; undefined for other maps.
 */
export function linksListed(scene: Scene): { of: string; listed: Listed[] } | undefined {
  const { map, axes, print, several } = scene;
  const source = sourceOf(several ? (map.most ?? map) : map);
  if (scene.state.mode === "places") return undefined;
  if (source.isComplete && !isMany(axes.key)) return undefined;
  const inSight = scene.state.mode === "lines" ? source.links : undefined;
  const pairs = inSight ?? source.strongest({}, MOST_LINKS);
  const listed = pairs.slice(0, MOST_LINKS).map(({ query, key, weight }) => ({
    label: [
      tokenName(axes.query, map.rows[query] ?? 0),
      tokenName(axes.key, map.cols[key] ?? 0),
    ].join(" → "),
    weight: print(weight, pairs[0]?.weight),
    target: { query, key },
  }));
  const whose = several ? "heads" : "head";
  return { of: `strongest links ${inSight ? "in sight" : `of the ${whose}`}`, listed };
}

/** Return the range of indices in one side of a block. */
function placesOf(shown: number[], from: number, step: number): string {
  return `${shown[from] ?? 0}–${shown[Math.min(shown.length, from + step) - 1] ?? 0}`;
}

/** Return the queries and keys of a block. */
export const blockName = ({ rows, cols }: VisibleMap, query: number, key: number, step: number) =>
  `queries ${placesOf(rows, query, step)} → keys ${placesOf(cols, key, step)}`;

/**
 * Describe a token with its three largest weights, a pair with its weight, or a block with its
 * largest weight.
 */
export function describe(map: VisibleMap, axes: Axes, target: Target, print: Print): string {
  if (map.off) return isEmpty(target) ? "" : "off";
  const { query, key, step = 1 } = target;
  const from = (row: number) => tokenName(axes.query, map.rows[row] ?? 0);
  const to = (col: number) => tokenName(axes.key, map.cols[col] ?? 0);
  if (query !== undefined && key !== undefined && isBlock(target)) {
    const { weight = Number.NaN } = sourceOf(map).at({ query, key }) ?? {};
    const known = Number.isNaN(weight) ? "masked" : `at most ${print(weight)}`;
    return `${blockName(map, query, key, step)}: ${known}`;
  }
  if (query !== undefined && key !== undefined)
    return `${from(query)} → ${to(key)} ${print(weightAt(map, query, key))}`;
  const pairs = sourceOf(map).strongest(target, 3);
  const list = (name: (pair: Pair) => string) =>
    pairs.map((pair) => `${name(pair)} ${print(pair.weight, pairs[0]?.weight)}`).join(" · ") ||
    "nothing";
  if (query !== undefined) return `${from(query)} → ${list((pair) => to(pair.key))}`;
  if (key !== undefined) return `${to(key)} ← ${list((pair) => from(pair.query))}`;
  return "";
}

/** Hint about the list of keys. */
export const HELP = "Question mark lists the keys.";

/** Return the accessible name of the figure. */
export function figureName(
  heads: Head[],
  quantity: string,
  map: VisibleMap,
  axes: Axes,
  print: Print,
  naming: HeadNaming = {},
): string {
  const length = lengthOf(map, axes.unit).replace("long input, ", "");
  const over = length && ` over ${length}`;
  const pairs = sourceOf(map)
    .strongest({}, 3)
    .map((pair) => describe(map, axes, pair, print));
  const of = quantity === "weights" ? "Attention" : `Attention ${quantity}`;
  const names = headNames(heads, { ...naming, most: MOST_NAMED, short: true });
  const strongest = pairs.join(", ");
  return `${of} of ${names}${over}; strongest: ${strongest}. ${HELP}`;
}
