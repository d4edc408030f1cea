import { differencePrinter } from "../../shared/quantity.js";
import type { Axes, Axis, Side } from "../../shared/types.js";
import type { Scene } from "../scene.js";
import { completeParts, emptied, leastDifference, type VisibleMap } from "../source/visible_map.js";
import type { OfTwoMaps } from "./map_types.js";

/** Names of the two attentions and of their difference. */
const LETTERS = ["A", "B"] as const;
export const DIFFERENCE = "A − B";
export const OF_BOTH = "A and B";
const MOST_ALONE = 6;

/** Return the headings of one head in two attentions with these names, and of the difference. */
export const twoNames = (of: string[] = []): string[] => [
  ...LETTERS.map((letter, i) => `${letter}: ${of[i] ?? ""}`),
  DIFFERENCE,
];

/** Numbers of the drawn maps among the first map, the second map and the difference. */
export const PLACES_OF_TWO: Record<OfTwoMaps, number[]> = {
  all: [0, 1, 2],
  first: [0],
  second: [1],
  difference: [2],
};

export const ofTwoMapsText: Record<OfTwoMaps, string> = {
  difference: DIFFERENCE,
  first: LETTERS[0],
  second: LETTERS[1],
  all: "all",
};

/** Return whether the color bars of maps and of a difference are needed. */
export function barsOfTwo({ several, state }: Pick<Scene, "several" | "state">) {
  if (!several?.names) return { ofMaps: true, ofDifference: false };
  const drawn = PLACES_OF_TWO[state.comparison_part];
  const [difference] = PLACES_OF_TWO.difference;
  return {
    ofMaps: drawn.some((place) => place !== difference),
    ofDifference: drawn.some((place) => place === difference),
  };
}

/**
 * Return the difference of two maps between the same tokens, with NaN where either has no value.
 */
export function differenceOf(first: VisibleMap, second: VisibleMap): VisibleMap {
  const [own, its] = [first, second].map(({ parts }) => parts.overview.values) as [
    Float32Array,
    Float32Array,
  ];
  const values = own.map((value, i) => value - (its[i] ?? Number.NaN));
  // Replace NaN by 0, because Math.max would return NaN.
  const maximum = values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 0);
  const difference: VisibleMap = {
    ...first,
    parts: completeParts(values, first),
    maximum,
    signed: true,
  };
  if (first.least)
    difference.least = first.least.map(() => leastDifference(maximum, first.maximum));
  return first.off ? emptied(difference) : difference;
}

/** Return two maps with a common scale, and their difference with its own scale. */
export const withDifference = (members: VisibleMap[]): VisibleMap[] => {
  const [first, second] = members;
  return first && second ? [...members, differenceOf(first, second)] : members;
};

/**
 * Return the tokens without values in one of the three panels, as positions on the visible axes.
 */
export function absentIn(
  panel: number,
  axes: Axes,
  { rows, cols }: VisibleMap,
): Record<Side, Set<number>> {
  const of = (side: Side, shown: number[]) => {
    const [first = [], second = []] = axes[side].alone ?? [];
    const lacks = panel === 0 ? second : panel === 1 ? first : [...first, ...second];
    return new Set(lacks.map((index) => shown.indexOf(index)));
  };
  return { query: of("query", rows), key: of("key", cols) };
}

/**
 * Return the first input's map, cut from the common axes. Masks of the second input do not matter
 * here.
 */
export function ownPart(
  values: Float32Array,
  { query, key }: Axes,
): { values: Float32Array; nKeys: number } {
  const kept = ({ text, alone }: Axis) => [...text.keys()].filter((i) => !alone?.[1].includes(i));
  const rows = kept(query);
  const cols = kept(key);
  const nKeys = key.text.length;
  const cells = rows.flatMap((row) => cols.map((col) => values[row * nKeys + col] ?? Number.NaN));
  return { values: Float32Array.from(cells), nKeys: cols.length };
}

/** Return the note on tokens that only one of the two inputs has, or "" if there are none. */
export function aloneText({ query }: Axes): string {
  const listed = (query.alone ?? []).flatMap((places, i) => {
    const texts = places.map((index) => query.text[index]);
    const more = texts.length > MOST_ALONE ? " …" : "";
    return texts.length
      ? [`${texts.slice(0, MOST_ALONE).join(" ")}${more} (${LETTERS[i]} alone)`]
      : [];
  });
  return listed.length ? `without a counterpart: ${listed.join(", ")}` : "";
}

/** Return the values of the scale of differences, and its range as text. */
export function differenceScale(map: VisibleMap, quantity: string) {
  const most = map.members?.[2]?.maximum ?? 0;
  const print = differencePrinter(quantity);
  const texts: [string, string, string] = [print(-most), "0", print(most)];
  return { texts, range: `${texts[0]} to ${texts[2]}` };
}
