import { clamp } from "../../shared/clamp.js";
import { type Head, type SharedState, type StackInfo, sameHead } from "../../shared/types.js";
import type { BlockMaps } from "../source/tile_types.js";
import { largestParts } from "../source/tiled_map.js";
import type { VisibleMap } from "../source/visible_map.js";
import { ARRANGEMENTS, type Arrangement, type Maps } from "./map_types.js";
import { twoNames, withDifference } from "./two_maps.js";

export const nextArrangement = (now: Arrangement): Arrangement =>
  ARRANGEMENTS[(ARRANGEMENTS.indexOf(now) + 1) % ARRANGEMENTS.length] ?? "one";
/** Largest number of distinguishable heads, the same as in Python, which sends their maps. */
const MOST_HEADS = { one: 1, beside: 12, overlay: 32 };
/** Largest number of map cells in memory on a page. */
const MOST_CELLS = 16_000_000;

interface DrawnChoice extends Pick<SharedState, "selected" | "_stacks"> {
  arrangement: Arrangement;
  shown_heads: "selected" | "layer";
  /** Maps in memory. Maps of a long input come in blocks. */
  _maps?: Maps | BlockMaps | null;
}

/** Return the stack of the shown head. */
export function shownStack({
  selected,
  _stacks,
}: Pick<DrawnChoice, "selected" | "_stacks">): StackInfo | undefined {
  const last = selected.at(-1);
  return last && _stacks.find(({ name }) => name === last[2]);
}

/**
 * Return the heads that are drawn together, with the last selected head, and the number of
 * requested heads.
 */
export function drawnHeads(state: DrawnChoice): { heads: Head[]; wanted: number } {
  const { selected, arrangement, shown_heads } = state;
  const last = selected.at(-1);
  const stack = shownStack(state);
  if (!last || !stack) return { heads: [], wanted: 0 };
  const fitting =
    state._maps?.complete === false
      ? Number.POSITIVE_INFINITY
      : Math.floor(MOST_CELLS / Math.max(1, stack.n_query * stack.n_key));
  const most = clamp(fitting, 1, MOST_HEADS[arrangement]);
  if (shown_heads === "selected") {
    return {
      heads: selected.filter(([, , name]) => name === stack.name).slice(-most),
      wanted: selected.length,
    };
  }
  const first = last[1] - (last[1] % most);
  const count = Math.min(most, stack.n_heads - first);
  const heads = Array.from({ length: count }, (_, i): Head => [last[0], first + i, stack.name]);
  return { heads, wanted: stack.n_heads };
}

/** Heads that are drawn together. */
export interface Several {
  arrangement: Arrangement;
  heads: Head[];
  wanted: number;
  /** Number of the last selected head in `heads`. */
  last: number;
  /** Headings of one head in two attentions and of the difference. */
  names?: string[];
}

interface DrawnState extends DrawnChoice, Pick<SharedState, "quantity" | "unit"> {
  _compared?: string[];
}

/** Return whether a state draws several maps together. */
export const isTogether = (state: DrawnState) =>
  isTwo(state) ||
  state.arrangement === "overlay" ||
  (state.arrangement === "beside" && drawnHeads(state).heads.length > 1);

/** Return the heads that a state draws together. */
export function severalOf(state: DrawnState): Several {
  const two = isTwo(state);
  const { heads, wanted } = two ? oneTwice(state) : drawnHeads(state);
  const shown = state.selected.at(-1) as Head;
  const several: Several = {
    arrangement: two ? "beside" : state.arrangement,
    heads,
    wanted,
    last: heads.findIndex((head) => sameHead(head, shown)),
  };
  if (two) several.names = twoNames(state._compared);
  return several;
}

/** Return whether one head is shown in two attentions. */
export const isTwo = ({ _compared: of = [] }: Pick<DrawnState, "_compared">) => of.length > 0;

function oneTwice({ selected }: Pick<DrawnChoice, "selected">) {
  const last = selected.at(-1);
  return { heads: last ? [last, last] : [], wanted: 1 };
}

/**
 * Return several maps as one map with a common scale. In a comparison the last map is the
 * difference, which is computed here if it is missing.
 */
export function togetherMap({ arrangement, last, names }: Several, maps: VisibleMap[]): VisibleMap {
  const plain = maps.filter(({ signed }) => !signed);
  const maximum = Math.max(...plain.map((map) => map.maximum));
  const mean = (share: (map: VisibleMap) => number) =>
    plain.reduce((sum, map) => sum + share(map), 0) / plain.length;
  const alike = plain.map((map) => ({ ...map, maximum }));
  const differences = maps.filter(({ signed }) => signed);
  const members =
    names && differences.length === 0 ? withDifference(alike) : [...alike, ...differences];
  const chosen = members[last] as VisibleMap;
  const shown = {
    ...chosen,
    hiddenShare: mean((map) => map.hiddenShare),
    filteredShare: mean((map) => map.filteredShare),
  };
  const most: VisibleMap = { ...shown, parts: largestParts(alike.map(({ parts }) => parts)) };
  return arrangement === "overlay" ? { ...most, members, most } : { ...shown, members, most };
}
