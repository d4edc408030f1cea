import { isolated } from "../../shared/bidi.js";
import { clamp } from "../../shared/clamp.js";
import { AXIS_LABEL_SIZE, inQuotes, labelFont, quoted } from "../../shared/labels.js";
import type { Look } from "../../shared/look.js";
import { percentText } from "../../shared/percent_text.js";
import { type Head, headName, sameHead } from "../../shared/types.js";
import type { AnswerEffects } from "../sentence/answer_effects.js";

/** Height of the strip, and of the largest bar in one direction. */
export const STRIP_HEIGHT = 34;
export const HALF = 16;
/** Height of the line without change. */
export const ZERO = 16.5;
/** Height of a name, from the upper or lower edge of the strip. */
export const NAME_HEIGHT = 12;
/** Width of the scale to the left of the bars. */
export const SCALE_WIDTH = 78;
/** Number of heads with the largest effects that are named, and their smallest change. */
const NAMED = 3;
const LEAST_NAMED = 0.02;
/** Smallest end of the scale, so that a model that needs no head has flat bars. */
const LEAST_REACH = 0.1;
/** Gap between layers for few and for many heads, and number of heads from which there are many. */
const GAPS = { few: 4, many: 1.5 };
const MANY_HEADS = 100;
/** Largest share of the width for gaps. */
const MOST_GAPS = 0.2;
/** Width from which bars have a gap of one pixel, and a finger can choose one of them. */
const WIDE = 4;
/** Number of layers above which only every fifth one begins with a line. */
const MANY_LAYERS = 12;
/** Largest width of a bar with its gap: wider bars of few heads would look like areas. */
const WIDEST = 24;
/** Space between two names, and between a name and a bar or the frame of the shown head. */
const APART = 8;
const BESIDE = 3;
/** Space between the name of a head and its change. */
const SPACE = 4;

/** Bar of one head. */
export interface Bar {
  head: Head;
  x: number;
  width: number;
  change: number;
}

/** Name of a head above its bar, in regular and bold letters. */
export interface StripName {
  name: string;
  change: string;
  /** Left end, right end, and distance to the bold letters. */
  x: number;
  end: number;
  bold: number;
  /** Whether the name is above the line without change. */
  isAbove: boolean;
  bar: Bar;
}

/** Drawing of the effects of all heads, one bar per head in the order of layers. */
export interface StripScene {
  look: Look;
  width: number;
  effects: AnswerEffects;
  /** Change at the end of the scale, as a share. */
  reach: number;
  bars: Bar[];
  /** Positions of the lines between layers. */
  rules: number[];
  names: StripName[];
  /** Bar of the shown head; undefined if it has none. */
  present: Bar | undefined;
}

/** Return the end of the scale: the largest change, rounded up to ten points. */
const reachOf = (values: Float32Array): number => {
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 0);
  return Math.max(LEAST_REACH, Math.ceil(10 * largest - 1e-4) / 10);
};

const points = (change: number) => Math.round(100 * Math.abs(change));

/** Return a change in percentage points with its sign: "−37". */
const signedPoints = (change: number): string =>
  `${points(change) === 0 ? "" : change < 0 ? "−" : "+"}${points(change)}`;

/** Return the two lines of the scale. */
export const scaleTexts = ({ areOthersOff, values }: AnswerEffects): [string, string] => [
  areOthersOff ? "one more off" : "each head off",
  `±${Math.round(100 * reachOf(values))} points`,
];

/** Return the effect of a bar's head: "he 73 % → 36 %". */
export function changeText({ name, probability }: AnswerEffects, change: number): string {
  const after = percentText(clamp(probability + change, 0, 1));
  const before = percentText(probability);
  const shares = before === after ? `stays ${before}` : `${before} → ${after}`;
  return `${quoted(isolated(name))} ${shares}`;
}

/** Return the explanation of the strip, for its title and for captions. */
export function stripText({ name, method, areOthersOff }: AnswerEffects): string {
  const head = areOthersOff ? "further head" : "head";
  return (
    `change of ${inQuotes(name)} without each ${head} (${method}), in order of layers; ` +
    "down: the answer loses"
  );
}

function barsOf({ layers, heads, stack, values }: AnswerEffects, width: number) {
  const count = layers * heads;
  const usual = count > MANY_HEADS ? GAPS.many : GAPS.few;
  const gap = Math.min(usual, (MOST_GAPS * width) / Math.max(1, layers - 1));
  const pitch = Math.min(WIDEST, (width - gap * (layers - 1)) / count);
  const place = (layer: number, head: number) => (layer * heads + head) * pitch + layer * gap;
  const bars: Bar[] = [];
  for (const [i, change] of values.entries()) {
    if (Number.isNaN(change)) continue;
    const [layer, head] = [Math.floor(i / heads), i % heads];
    const x = place(layer, head);
    bars.push({ head: [layer, head, stack], x, width: pitch, change });
  }
  const every = layers > MANY_LAYERS ? 5 : 1;
  const rules: number[] = [];
  for (let layer = every; layer < layers; layer += every) rules.push(place(layer, 0) - gap / 2);
  return { bars, rules };
}

/** Return the bars to name, most important first: a head under the pointer, then large changes. */
function namedBars(bars: Bar[], pointed: Bar | undefined): Bar[] {
  const size = ({ change }: Bar) => Math.abs(change);
  const largest = bars
    .filter((bar) => size(bar) >= LEAST_NAMED)
    .sort((a, b) => size(b) - size(a))
    .slice(0, NAMED);
  return [...new Set(pointed ? [pointed, ...largest] : largest)];
}

/** Return the height of a bar, on a scale that ends at `reach`. */
export const barHeight = (change: number, reach: number): number =>
  (HALF * Math.abs(change)) / reach;

/**
 * Return the names that fit. A name is on the other side of the line than its bar, or else next to
 * its bar, and touches neither a bar nor the frame of the shown head nor another name.
 */
function namesOf(scene: Omit<StripScene, "names">, named: Bar[], pointed: Bar | undefined) {
  const { width, look, bars, present, effects, reach } = scene;
  const regular = look.ruler(labelFont(look.font, false, AXIS_LABEL_SIZE));
  const bold = look.ruler(labelFont(look.font, true, AXIS_LABEL_SIZE));
  const names: StripName[] = [];
  const high = bars.filter(({ change }) => barHeight(change, reach) > HALF - NAME_HEIGHT);
  const isFree = (bar: Bar, isAbove: boolean, x: number, end: number): boolean => {
    const meets = (of: Bar) => x < of.x + of.width + BESIDE && of.x - BESIDE < end;
    const isOnSide = ({ change }: Bar) => change > 0 === isAbove;
    const over = high.some((of) => of !== bar && isOnSide(of) && meets(of));
    const onFrame = present && present !== bar && meets(present);
    const onName = names.some(
      (other) => other.isAbove === isAbove && x < other.end + APART && other.x < end + APART,
    );
    return x >= 0 && end <= width && !over && !onFrame && !onName;
  };
  for (const bar of named) {
    const name = headName(bar.head);
    const change = bar === pointed ? changeText(effects, bar.change) : signedPoints(bar.change);
    const first = regular(name) + SPACE;
    const long = first + bold(change);
    const [right, left] = [bar.x + bar.width + BESIDE, bar.x - BESIDE - long];
    const isFramed = bar === present;
    const over = bar.change < 0;
    const places: [number, boolean][] = [
      [isFramed ? right : bar.x - 1, over],
      [isFramed ? left : bar.x + bar.width + 1 - long, over],
      [right, !over],
      [left, !over],
    ];
    const place = places.find(([x, isAbove]) => isFree(bar, isAbove, x, x + long));
    if (!place) continue;
    const [x, isAbove] = place;
    names.push({ name, change, x, end: x + long, bold: first, isAbove, bar });
  }
  return names;
}

interface Room {
  width: number;
  look: Look;
}

/**
 * Return the drawing of the effects. `shown`: Head on the screen. `isPointed`: Whether the pointer
 * or the keyboard is at this head's bar.
 */
export function stripScene(
  effects: AnswerEffects,
  shown: Head,
  isPointed: boolean,
  room: Room,
): StripScene {
  const { bars, rules } = barsOf(effects, room.width);
  const present = bars.find(({ head }) => sameHead(head, shown));
  const pointed = isPointed ? present : undefined;
  const reach = reachOf(effects.values);
  const scene = { ...room, effects, reach, bars, rules, present };
  return { ...scene, names: namesOf(scene, namedBars(bars, pointed), pointed) };
}

/** Return the bar nearest to a position, among all bars or among the named ones. */
export function barAt({ bars, names }: StripScene, x: number, amongNamed: boolean) {
  const all = amongNamed && names.length ? names.map(({ bar }) => bar) : bars;
  const away = (bar: Bar) => Math.abs(bar.x + bar.width / 2 - x);
  let nearest = all[0];
  for (const bar of all) if (nearest && away(bar) < away(nearest)) nearest = bar;
  return nearest;
}

/** Return whether bars are wide, so that they have gaps and a finger can choose one. */
export const areWide = ({ bars }: StripScene): boolean => (bars[0]?.width ?? 0) >= WIDE;
