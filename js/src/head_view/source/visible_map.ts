import { endOfScale } from "../../shared/color.js";
import { type Axes, type Axis, type Scale, SPECIALS, type Special } from "../../shared/types.js";
import type { Cells } from "./map_source.js";
import type { MapParts, Sentences } from "./tile_types.js";

export interface MapOptions {
  hidden: Special[];
  sentences: Sentences;
  scale: Scale;
  quantity: string;
}

/**
 * Smallest weight of a line, as a multiple of the even share and as a share of the end of the
 * scale.
 */
const TIMES_EVEN = 1.5;
const LEAST = 0.03;

/**
 * Return the smallest weight that is drawn as a line. `even` is the weight under even attention,
 * and `end` the end of the scale.
 */
export const leastLine = (even: number, end: number): number =>
  Math.max(TIMES_EVEN * even, LEAST * end);

/**
 * Share of the largest difference from which lines are drawn: more lines would hide the large ones.
 */
const LEAST_OF_LARGEST = 0.2;
/** Smallest difference with a line, as a share of the scale of the two maps. */
const LEAST_DIFFERENCE = 0.001;

/**
 * Return the smallest difference that is drawn as a line. Differences have their own scale and no
 * even share. `largest` is the end of this scale, and `end` the end of the scale of both maps.
 */
export const leastDifference = (largest: number, end: number): number =>
  Math.max(LEAST_OF_LARGEST * largest, LEAST_DIFFERENCE * end);

/** Visible part of a map, with the shares of the rest. */
export interface VisibleMap {
  /** Query and key indices on the complete axes, in order. */
  rows: number[];
  cols: number[];
  /** Loaded values between the visible tokens. */
  parts: MapParts;
  /**
   * End of the scale: 1 for weights on the absolute scale, otherwise the largest value of the map,
   * or of the visible part of a zoomed map.
   */
  maximum: number;
  /** Smallest value of each row that is drawn as a line; absent on relative scales. */
  least?: Float32Array;
  /** Whether the head is off, so that no weight is drawn. */
  off?: boolean;
  /** Largest value of the complete map, if the color scale ends at the largest visible value. */
  maximumOfAll?: number;
  /** Share of the visible rows' weight on hidden special tokens. */
  hiddenShare: number;
  /** Share of the visible rows' weight on the sentence that is filtered out. */
  filteredShare: number;
  /**
   * Whether values are differences. They may be negative, and the maximum is the largest absolute
   * value.
   */
  signed?: boolean;
  /** Maps of all heads drawn together; absent for a single head. */
  members?: VisibleMap[];
  /** Map of the largest value of each pair over all heads. */
  most?: VisibleMap;
}

/** Return the parts of a complete map with values [rows, cols], NaN where masked. */
export function completeParts(
  values: Float32Array,
  { rows, cols }: Pick<VisibleMap, "rows" | "cols">,
): MapParts {
  const size = { rows: rows.length, cols: cols.length };
  const overview: Cells = { q0: 0, k0: 0, step: 1, ...size, values };
  return { isComplete: true, overview, strongest: [], links: [] };
}

/** Return the special tokens that can be hidden, with their texts on both axes. */
export function hideable(axes: Axes): Map<Special, string[]> {
  const hiddenTokens = new Map<Special, string[]>();
  for (const special of SPECIALS) {
    const texts = [axes.query, axes.key].flatMap((axis) =>
      axis.text.filter((_, i) => axis.special[i] === special),
    );
    if (texts.length) hiddenTokens.set(special, [...new Set(texts)]);
  }
  return hiddenTokens;
}

export function twoSentences(axes: Axes): boolean {
  return [axes.query, axes.key].every((a) => a.segments.includes(0) && a.segments.includes(1));
}

const hides = ({ hidden }: Pick<MapOptions, "hidden">, axis: Axis, i: number) =>
  hidden.includes(axis.special[i] as Special);

/** Return the visible queries and keys as indices on the complete axes. */
export function keptOf(
  axes: Axes,
  choice: Pick<MapOptions, "hidden" | "sentences">,
): Pick<VisibleMap, "rows" | "cols"> {
  const filter = twoSentences(axes) ? choice.sentences : "all";
  const [from, to] = filter === "all" ? [] : [...filter].map((s) => (s === "b" ? 1 : 0));
  const keep = (axis: Axis, segment: number | undefined) =>
    [...axis.text.keys()].filter(
      (i) => !hides(choice, axis, i) && (segment === undefined || axis.segments[i] === segment),
    );
  return { rows: keep(axes.query, from), cols: keep(axes.key, to) };
}

export function visibleMap(values: Float32Array, axes: Axes, choice: MapOptions): VisibleMap {
  const { rows, cols } = keptOf(axes, choice);
  const nKeys = axes.key.text.length;
  const hiddenKey = axes.key.text.map((_, i) => hides(choice, axes.key, i));
  const shown = new Float32Array(rows.length * cols.length);
  const even = new Float32Array(rows.length);
  let largest = 0;
  let total = 0;
  let hidden = 0;
  let kept = 0;
  for (const [r, row] of rows.entries()) {
    let sum = 0;
    for (let c = 0; c < cols.length; c++) {
      const weight = values[row * nKeys + (cols[c] ?? 0)] ?? Number.NaN;
      shown[r * cols.length + c] = weight;
      if (weight > 0) sum += weight;
      if (weight > largest) largest = weight;
    }
    let whole = 0;
    let seen = 0;
    for (let key = 0; key < nKeys; key++) {
      const weight = values[row * nKeys + key] ?? Number.NaN;
      if (weight >= 0) seen++;
      if (!(weight > 0)) continue;
      whole += weight;
      if (hiddenKey[key]) hidden += weight;
    }
    total += whole;
    kept += sum;
    // The even share of weights is over all keys that the query sees, including hidden keys. For
    // other quantities it is the mean of the row.
    const sumOfRow = choice.quantity === "weights" ? 1 : whole;
    even[r] = sumOfRow / Math.max(1, seen);
  }
  const maximum = endOfScale(choice.scale, choice.quantity, largest);
  const share = (part: number) => (total > 0 ? Math.max(0, part / total) : 0);
  const map: VisibleMap = {
    rows,
    cols,
    parts: completeParts(shown, { rows, cols }),
    maximum,
    hiddenShare: share(hidden),
    filteredShare: share(total - hidden - kept),
  };
  if (choice.scale === "absolute") map.least = even.map((each) => leastLine(each, maximum));
  return map;
}

/** Return the map of a head that is off: 0 instead of its weights. */
export function emptied(map: VisibleMap): VisibleMap {
  const nothing = (values: Float32Array) =>
    values.map((value) => (Number.isNaN(value) ? value : 0));
  const { isComplete, overview } = map.parts;
  const blocks = { ...overview, values: nothing(overview.values) };
  if (overview.first) blocks.first = nothing(overview.first);
  return {
    ...map,
    off: true,
    parts: { isComplete, overview: blocks, strongest: [], links: [] },
  };
}

/** Return the smallest and the largest row sum of a complete map, over rows that see any key. */
export function rowSumRange(values: Float32Array, nKeys: number): [number, number] {
  let low = Number.POSITIVE_INFINITY;
  let high = 0;
  for (let start = 0; start < values.length; start += nKeys) {
    let sum = 0;
    let seen = false;
    for (let i = start; i < start + nKeys; i++) {
      const weight = values[i] ?? Number.NaN;
      if (Number.isNaN(weight)) continue;
      sum += weight;
      seen = true;
    }
    if (seen) [low, high] = [Math.min(low, sum), Math.max(high, sum)];
  }
  return [low, high];
}

/** Name of a mask that hides all later keys and no others. */
export const CAUSAL = "causal mask";

/** Return the name of a complete map's masked cells. */
export function maskName(values: Float32Array, nKeys: number): string {
  let later = false;
  let earlier = false;
  let laterSeen = false;
  for (let i = 0; i < values.length; i++) {
    const ahead = i % nKeys > Math.floor(i / nKeys);
    const masked = Number.isNaN(values[i]);
    if (masked && ahead) later = true;
    else if (masked) earlier = true;
    else if (ahead) laterSeen = true;
  }
  if (!later && !earlier) return "";
  if (later && !laterSeen) return earlier ? `${CAUSAL}, windowed` : CAUSAL;
  return "masked cells hatched";
}
