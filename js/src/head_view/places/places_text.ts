import type { Table } from "../../shared/caption.js";
import { clamp } from "../../shared/clamp.js";
import { labelOf } from "../../shared/labels.js";
import { counted } from "../../shared/numbers.js";
import { percentText, shareText } from "../../shared/percent_text.js";
import type { TokenPlace } from "../../shared/places/token_places.js";
import { differencePrinter, printer } from "../../shared/quantity.js";
import { headName } from "../../shared/types.js";
import { listName, tokenName } from "../aside/token_name.js";
import type { Scene } from "../scene.js";
import { sourceOf } from "../source/source_of.js";
import { indicesOf, type PlacesPanels } from "./places_layout.js";
import { LEAST_OUTLINED, OUTLINED } from "./places_paint.js";
import { pointedOf, type ShownRow, shownRow } from "./shown_row.js";

const ACROSS = ["left", "", "right"];
const DOWN = ["upper", "", "lower"];
const joined = (parts: string[], mark: string) => parts.filter(Boolean).join(mark);
const ALONE: Record<string, string> = { upper: "top", lower: "bottom" };
const STRONGEST = 3;

/** Describe the position of a region in its picture: "upper left", "top", "center". */
function placeWords(place: TokenPlace, { _media: media }: Scene["state"]): string {
  const picture = media?.pictures[place.medium];
  if (!picture) return `${seconds(place.left)}–${seconds(place.right)} s`;
  const third = (middle: number, size: number) => clamp(Math.floor((3 * middle) / size), 0, 2);
  const across = ACROSS[third((place.left + place.right) / 2, picture.width)] ?? "";
  const down = DOWN[third((place.top + place.bottom) / 2, picture.height)] ?? "";
  const where = across && down ? `${down} ${across}` : across || ALONE[down] || "center";
  return (media?.pictures.length ?? 0) > 1 ? `${where} of picture ${place.medium + 1}` : where;
}

const seconds = (time: number) => time.toFixed(2);

/** Return the formatter of the painted row's values. */
const printerOf = ({ state, map }: Scene) =>
  (map.signed ? differencePrinter : printer)(state.quantity);

/** Return the name of a row: "from [CLS]", "from all 65 queries on average", or "to r3c4". */
function rowName(scene: Scene, { side, of }: ShownRow): string {
  const index = indicesOf(scene, side)[of ?? -1];
  if (side === "key")
    return index === undefined ? "to no token" : `to ${tokenName(scene.axes.key, index)}`;
  return index === undefined
    ? `from all ${counted(scene.map.rows.length, "query").replace("querys", "queries")} on average`
    : `from ${tokenName(scene.axes.query, index)}${writtenText(scene, index)}`;
}

/** Return ", which writes cat", or "" for a row without a written token. */
function writtenText(scene: Scene, index: number): string {
  const isLast = index + 1 >= scene.axes.query.text.length;
  if (!scene.places?.writes || isLast) return "";
  return `, which writes ${tokenName(scene.axes.query, index + 1)}`;
}

interface Valued {
  position: number;
  index: number;
  value: number;
  place: TokenPlace | undefined;
}

/** Return the painted tokens, strongest first. */
function strongest(scene: Scene, row: ShownRow): Valued[] {
  const { places } = scene;
  return indicesOf(scene, row.painted)
    .map((index, position) => ({
      position,
      index,
      value: row.values[position] ?? Number.NaN,
      place: places?.[row.painted][index],
    }))
    .sort((a, b) => Math.abs(b.value || 0) - Math.abs(a.value || 0));
}

/** Describe the three strongest regions. */
function strongestWords(scene: Scene, row: ShownRow): string {
  const print = printerOf(scene);
  const found = strongest(scene, row)
    .filter(({ place, value }) => place && Math.abs(value) > 0)
    .slice(0, STRONGEST);
  return found
    .map(({ place, value }) => `${placeWords(place as TokenPlace, scene.state)} ${print(value)}`)
    .join(", ");
}

/** Names of the kinds of tokens without a region. */
const KINDS: Record<string, string> = {
  register: "on registers",
  padding: "on padding",
  other: "on other special tokens",
  first: "on the first token",
};
/** Share below which a kind is not mentioned. */
const LEAST_SHARE = 0.0005;

/** Return the shares of a row on regions and on tokens without a region, by kind. */
export function sharesOf(scene: Scene, row: ShownRow): [name: string, share: number][] {
  const { axes, places, state } = scene;
  const axis = axes[row.painted];
  const shares = new Map<string, number>();
  const levels = places?.levels[row.painted];
  const media = state._media?.pictures.length ?? 0;
  const isTiled = levels?.some((level) => level > 0);
  for (const { index, value, place } of strongest(scene, row)) {
    if (!(value > 0)) continue;
    const kind = axis.special[index] ?? "";
    const medium = (place?.medium ?? 0) < media ? "in the picture" : "in the sound";
    const level = isTiled ? (levels?.[index] ? "on the whole picture" : "on tiles") : medium;
    const name = place && kind !== "padding" ? level : nameOfKind(kind, labelOf(axis, index));
    shares.set(name, (shares.get(name) ?? 0) + value);
  }
  return [...shares].filter(([, share]) => share >= LEAST_SHARE).sort((a, b) => b[1] - a[1]);
}

const nameOfKind = (kind: string, label: string): string =>
  kind === "" ? "on text" : (KINDS[kind] ?? `on ${label}`);

/** Return the even share, if it is the same for all painted tokens. */
export function evenOf({ even, values }: ShownRow): number | undefined {
  const [first] = even ?? [];
  const isEqual = even?.every((share, i) => share === first || Number.isNaN(values[i]));
  return isEqual ? first : undefined;
}

/**
 * Return the even share for the tick of the color bar. In a staircase, it is the share of a time
 * step.
 */
export function tickOf(scene: Scene): number | undefined {
  const [, steps = 1] = scene.stairs?.values.shape ?? [];
  return scene.stairs ? 1 / steps : evenOf(shownRow(scene));
}

/** Return a line about a head: its row, strongest regions, shares and even share. */
function lineOf(scene: Scene, row: ShownRow, name = ""): string {
  const { state, map } = scene;
  if (map.off) return joined([name, "off"], ": ");
  const print = printerOf(scene);
  const isShares = state.quantity === "weights" && row.side === "query" && !map.signed;
  const places = strongestWords(scene, row);
  const even = evenOf(row);
  const found = sharesOf(scene, row);
  if (!places && !found.length && !sourceOf(map).isComplete) return "";
  const shares = isShares ? found : [];
  const parts = [
    places ? `strongest ${places}` : map.signed ? "no difference" : "",
    ...shares.map(([kind, share]) => `${shareText(share)} ${kind}`),
    even === undefined ? "" : `even share ${print(even)}`,
  ];
  return joined([name, `${rowName(scene, row)}: ${joined(parts, " · ")}`], ": ");
}

/** Describe the painted row of every drawn head. */
export function placesLine(scene: Scene): string {
  const { map, several, state } = scene;
  const pointed = pointedOf(scene);
  const row = shownRow(scene);
  const pair = pointed === undefined ? "" : pairText(scene, row, pointed);
  if (!several || !map.members) return joined([pair, lineOf(scene, row)], " — ");
  const lines = map.members.map((member, i) => {
    const part = { ...scene, map: member, several: undefined };
    const head = several.heads[i];
    const name =
      several.names?.[i]?.replace(/^([AB]): .*$/s, "$1") ??
      (head ? headName(head, state._stacks) : "");
    return lineOf(part, shownRow(part), name);
  });
  return joined([pair, ...lines], " — ");
}

/** Return the weight between the selected token and the token under the pointer. */
function pairText(scene: Scene, row: ShownRow, pointed: number): string {
  const { axes, map, places, state } = scene;
  const index = indicesOf(scene, row.painted)[pointed];
  if (index === undefined) return "";
  const name = tokenName(axes[row.painted], index);
  const place = places?.[row.painted][index];
  const where = place ? ` (${placeWords(place, state)})` : "";
  const members = map.members ?? [map];
  const values = members.map((member) => {
    const part = { ...scene, map: member, several: undefined };
    return printerOf(part)(shownRow(part).values[pointed] ?? Number.NaN);
  });
  return `${row.side === "query" ? "to" : "from"} ${name}${where} ${values.join(", ")}`;
}

/** Describe the painted row for the caption. Next to a picture, the line of words contains it. */
export function placesSaid(scene: Scene): string[] {
  const row = shownRow(scene);
  const words = scene.several ? "" : strongestWords(scene, row);
  return [
    `${row.side === "query" ? "where attention goes" : "which queries look there"}: ` +
      rowName(scene, row),
    words ? `strongest places: ${words}` : "",
  ].filter(Boolean);
}

/** Return the caption notes about pictures: the row, the marks, and the limits of regions. */
export function placesNotes({ panels }: PlacesPanels, scene: Scene): string[] {
  const [panel] = panels;
  if (!panel) return [];
  const { row, layout } = panel;
  const { state, axes, map } = scene;
  const media = state._media;
  const isPadded = axes[row.painted].special.includes("padding");
  const hasLayers = state.selected.some(([layer]) => layer > 0);
  const pictures = media?.pictures ?? [];
  const masked = row.values.some(Number.isNaN);
  const hasSteps = layout.plates.some(({ sound }) => sound?.steps);
  return [
    ...placesSaid(scene),
    hasSteps && scene.stairs ? stairsText(scene.stairs.step) : "",
    pictures.length ? "upper half of the bar: on a picture, lower half: on a token beside it" : "",
    map.signed || hasSteps
      ? ""
      : `outlined: at least ${OUTLINED} times the even share${leastText(scene)}`,
    layout.plates.some(({ level }) => level > 0)
      ? "each place has a token of a tile and one of the whole picture, drawn apart"
      : "",
    masked ? `tokens that the ${row.side} does not see are dark` : "",
    layout.leftOut > 0
      ? `${counted(layout.leftOut, "weaker token")} without a place not drawn`
      : "",
    isPadded ? "padding is cut off" : "",
    scene.places?.writes && !hasSteps
      ? "→: the token that a row writes, which is the next one"
      : "",
    startNote(pictures.length > 0, hasLayers),
    contents(pictures.length, media?.sounds.length ?? 0),
  ].filter(Boolean);
}

/** Describe the rows of a staircase. */
const stairsText = (step: number): string =>
  `a row for each word that is written: its attention in steps of ${Math.round(1000 * step)} ms`;

/** Return the smallest weight of an outline. */
const leastText = ({ state }: Scene): string =>
  state.quantity === "weights" ? ` and ${percentText(LEAST_OUTLINED)}` : "";

/** Return the note that a region only tells where a token started. */
function startNote(isPicture: boolean, hasLayers: boolean): string {
  const [box, others] = isPicture ? ["patch's box", "patches"] : ["token's span", "spans"];
  const later = `; above the first layer its token has read other ${others}`;
  return `a ${box} says where it started${hasLayers ? later : ""}`;
}

/** Return the note on pictures and sounds that a saved file contains. */
function contents(pictures: number, sounds: number): string {
  const held = [
    [pictures, "picture"],
    [sounds, "sound"],
  ] as const;
  const named = held.flatMap(([count, what]) =>
    count === 0 ? [] : [count === 1 ? `the ${what}` : `${count} ${what}s`],
  );
  return named.length ? `contains ${named.join(" and ")} of the input` : "";
}

/** Return the tokens with their regions and weights, for readers who cannot see the picture. */
export function placesTable(scene: Scene): Table {
  const { axes, map, several, places, state } = scene;
  const row = shownRow(scene);
  const members = several && map.members ? map.members : [map];
  const rows = members.map((member) => ({
    row: shownRow({ ...scene, map: member, several: undefined }),
    print: printerOf({ ...scene, map: member }),
  }));
  const sounds = media(scene, row.painted);
  const axis = axes[row.painted];
  const names = members.map((_, i) => {
    const head = several?.heads[i];
    return several?.names?.[i] ?? (several && head ? headName(head, state._stacks) : "weight");
  });
  const hasHertz = places?.[row.painted].some((place) => place && !Number.isNaN(place.bottom));
  const edges = sounds ? (hasHertz ? HEARD : HEARD.slice(0, 2)) : SEEN;
  const round = (x: number) => (Number.isNaN(x) ? null : Number(x.toFixed(2)));
  return {
    columns: ["token", "kind", ...edges.map(([name]) => name), ...names],
    rows: strongest(scene, row).map(({ index, position }) => {
      const place = places?.[row.painted][index];
      return [
        listName(axis, index),
        axis.special[index] || (place ? (sounds ? "span" : "patch") : "text"),
        ...edges.map(([, edge]) => round(place?.[edge] ?? Number.NaN)),
        ...rows.map(({ row: of, print }) => print(of.values[position] ?? Number.NaN)),
      ];
    }),
  };
}

/** Columns of a table of regions in pictures and in sounds. */
const SEEN = (["left", "top", "right", "bottom"] as const).map((edge) => [edge, edge] as const);
const HEARD = [
  ["start", "left"],
  ["end", "right"],
  ["low", "top"],
  ["high", "bottom"],
] as const;

/** Return whether all regions of a side are in sounds. */
function media({ places, state }: Scene, side: ShownRow["painted"]): boolean {
  const pictures = state._media?.pictures.length ?? 0;
  const placed = places?.[side].filter((place) => place !== undefined) ?? [];
  return placed.length > 0 && placed.every(({ medium }) => medium >= pictures);
}
