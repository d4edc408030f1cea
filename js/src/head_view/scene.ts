import { labelFont, TOKEN_PIXELS, widestLabel } from "../shared/labels.js";
import type { Look } from "../shared/mount.js";
import { type AxesPlaces, placesOf } from "../shared/places/token_places.js";
import type { Print } from "../shared/quantity.js";
import { weightText } from "../shared/quantity.js";
import type { Theme } from "../shared/theme.js";
import { type Axes, type Axis, type Head, type Side, sameHead } from "../shared/types.js";
import { isWhole, type MapPart } from "../shared/window.js";
import { isMany, printerOf } from "./aside/token_name.js";
import type { Plot } from "./gestures.js";
import { staircaseOf } from "./places/staircase.js";
import { headColors } from "./several/head_colors.js";
import { type Several, togetherMap } from "./several/several.js";
import { scaledToSight } from "./source/color_range.js";
import { sourceOf } from "./source/source_of.js";
import { isPair, type Target } from "./source/target.js";
import { tiledMaps } from "./source/tiled_map.js";
import { emptied, type VisibleMap, visibleMap } from "./source/visible_map.js";
import { partOf, positionOf, sizeOf } from "./source/window_of.js";
import type { Staircase, ViewState } from "./state.js";
import type { Shown } from "./view_shown.js";

/** From this width on the legend stands beside the figure. */
const WIDE = 840;
export const ASIDE = 224;
const GAP = 24;

/**
 * What a widget or a picture of this width leaves for the figure; heads side by side take all of
 * it.
 */
export const roomFor = (width: number, several?: Several): number =>
  width >= WIDE && several?.arrangement !== "beside" ? width - ASIDE - GAP : width;

export interface Positions {
  query: Set<number>;
  key: Set<number>;
}

/** What a figure is drawn on: a page, or a picture. */
export interface Ground extends Omit<Look, "width"> {
  /** Width there is to draw in, in CSS pixels. */
  room: number;
  /** Under the pointer or the keyboard's cursor. */
  active: Target;
  /** Lines become pixels here, for a reader that takes seconds for thousands of strokes. */
  dense: boolean;
  /** Only what is in sight is drawn: a picture is as large as all that it holds. */
  cropped?: boolean;
  /** In sight while a hand moves it; else the window tells. */
  moved?: MapPart | undefined;
  /** The part that colors are scaled to while a hand moves the map; else what is in sight. */
  scaledTo?: MapPart | undefined;
}

/** All that a figure of one map draws. */
export interface Scene extends Ground {
  state: ViewState;
  map: VisibleMap;
  axes: Axes;
  /** In sight of the map. */
  part: MapPart;
  /** Of the letters of tokens, in pixels. */
  size: number;
  /** Prints a weight. */
  print: Print;
  /** Prints a weight beside a word: weights of one map in per cent, "" for less than 1 %. */
  printBeside: Print;
  locked: Positions;
  highlighted: Positions;
  /**
   * Heads that are drawn together; for heads side by side, all in one scene and each in a separate
   * scene.
   */
  several?: Several | undefined;
  /** The colors of overlaid heads. */
  colors?: string[];
  /** The largest weight of any head, where lines of several are on one scale. */
  reach?: VisibleMap | undefined;
  /** Tokens that the map has no values of, where two inputs are compared. */
  absent?: Record<Side, Set<number>>;
  /** Too little room for numbers beside tokens. */
  slim?: boolean;
  /** Where tokens come from, where they are drawn on pictures. */
  places?: AxesPlaces | undefined;
  /** The words of a transcript over time, of the shown head. */
  stairs?: Staircase | undefined;
  /** Sides whose tokens are named at a matrix; both without it. */
  labeled?: Record<Side, boolean>;
}

/** One way to draw a scene. */
export interface Figure {
  element: HTMLElement;
  draw(scene: Scene): void;
  /** What lies under a point of the page. */
  hit(clientX: number, clientY: number): Target;
  /** Bring a target into sight; `amid`: into the middle, where it was not in sight. */
  reveal(target: Target, toMiddle?: boolean): void;
  /** Whether a side's label is too long to be printed whole. */
  isCut(scene: Scene, side: Side, text: string): boolean;
  /** What the caption must say about the drawing. */
  notes(): string[];
  /** The token that an arrow key goes to, where tokens lie in a plane. */
  neighbor?(scene: Scene, from: Target, key: string): Target | undefined;
  /** What of the map lies where on the page, under a point or first; undefined of no window. */
  plot?(at?: Pick<MouseEvent, "clientX" | "clientY">): Plot | undefined;
}

/** The token of each side whose weights are printed: the active one, else the last locked. */
export function leads(scene: Scene): Target {
  const token = isPair(scene.active) ? {} : scene.active;
  return {
    query: token.query ?? [...scene.locked.query].at(-1),
    key: token.key ?? [...scene.locked.key].at(-1),
  };
}

/** Positions on the visible axes of indices on the full ones. */
function positions(map: VisibleMap, query: number[], key: number[]): Positions {
  const places = (visible: number[], wanted: number[]) =>
    new Set(wanted.map((index) => positionOf(visible, index)).filter((place) => place >= 0));
  return { query: places(map.rows, query), key: places(map.cols, key) };
}

/** Where on a visible axis what a model wrote begins; 0 where nothing does. */
export const writtenFrom = ({ prompt = 0 }: Axis, shown: number[]): number =>
  prompt > 0
    ? Math.max(
        0,
        shown.findIndex((index) => index >= prompt),
      )
    : 0;

/** What decides which part of the map is shown: to know when it is another. */
export const choices = (of: ViewState) => [
  of.hidden.join(),
  of.sentences,
  of.scale,
  JSON.stringify(of.disabled),
];

/**
 * Whether what is drawn has a window: a matrix, and lines of a map that is not complete, whose
 * columns would be longer than can be scrolled.
 */
export const isZoomable = ({ mode }: Pick<ViewState, "mode">, map: VisibleMap): boolean =>
  mode === "matrix" || (mode === "lines" && !sourceOf(map).isComplete);

/**
 * A state as it is drawn: on pictures no token is hidden, because special tokens stand beside the
 * picture.
 */
export const drawnState = (state: ViewState): ViewState =>
  state.mode === "places" ? { ...state, hidden: [] } : state;

/** The part of the map that is shown, by what is hidden and filtered. */
export function visibleOf(state: ViewState, shown: Shown): VisibleMap {
  const { hidden, sentences, scale, disabled } = state;
  const { several, quantity } = shown;
  const isTwo = several?.names !== undefined;
  const heads = several?.heads ?? [shown.head];
  /** Of two attentions, only the first has heads that are off. */
  const isOff = (place: number) =>
    disabled.some((head) => sameHead(head, heads[place] as Head)) && !(isTwo && place > 0);
  const inked = (map: VisibleMap, place: number) => (isOff(place) ? emptied(map) : map);
  const maps = shown.tiled
    ? tiledMaps(shown.tiled, shown.axes, isTwo, scale)
    : shown.values.map((values) =>
        visibleMap(values, shown.axes, { hidden, sentences, scale, quantity }),
      );
  const members = maps.map((map, place) => inked(map, isTwo && map.signed ? 0 : place));
  return several ? togetherMap(several, members) : (members[0] as VisibleMap);
}

const widths = new WeakMap<number[], Map<string, number>>();

/** The widest label of a side in bold letters, measured once however often the scene is drawn. */
export function widestOf({ map, axes, font, ruler, density }: Scene, side: Side, size: number) {
  const shown = side === "query" ? map.rows : map.cols;
  const known = widths.get(shown) ?? new Map<string, number>();
  widths.set(shown, known);
  const key = `${side} ${font} ${size} ${density}`;
  const measure = ruler(labelFont(font, true, size));
  // Of many tokens some are named by their positions.
  const last = isMany(axes[side]) ? measure(String(shown.at(-1) ?? 0)) : 0;
  const width = known.get(key) ?? Math.max(last, widestLabel(measure, axes[side], shown));
  known.set(key, width);
  return width;
}

/** The last locked token among the visible tokens. */
export function lastLock({ state, locked }: Scene): Target {
  const last = state.tokens.at(-1);
  return last ? { [last[0]]: [...locked[last[0]]].at(-1) } : {};
}

/** All that is drawn of a state. */
export function sceneOf(state: ViewState, shown: Shown, map: VisibleMap, ground: Ground): Scene {
  const side = (name: Side) =>
    state.tokens.flatMap(([where, index]) => (where === name ? [index] : []));
  const { query = [], key = [] } = shown.highlighted;
  const part = ground.moved ?? partOf(map, isZoomable(state, map) ? state.window : null);
  const scaledTo = ground.scaledTo ?? part;
  const print = printerOf(shown.exact, shown.quantity, shown.axes.key);
  return {
    ...ground,
    state,
    // The absolute scale is the same in every part of a map.
    map:
      state.scale === "absolute" || isWhole(sizeOf(map), scaledTo)
        ? map
        : scaledToSight(map, scaledTo),
    axes: shown.axes,
    size: TOKEN_PIXELS[state.token_size],
    part,
    print,
    printBeside: shown.quantity === "weights" && !map.signed ? weightText : print,
    locked: positions(map, side("query"), side("key")),
    highlighted: positions(map, query, key),
    places: state.mode === "places" ? placesOf(state, shown.axes) : undefined,
    stairs: shown.several || map.off ? undefined : staircaseOf(state, shown.head, shown.unit),
    ...together(shown.several, ground.theme),
  };
}

/** What a scene has of heads that are drawn together. */
function together(several: Several | undefined, theme: Theme): Pick<Scene, "several" | "colors"> {
  if (several?.arrangement !== "overlay") return { several };
  return { several, colors: headColors(theme, several.heads, several.last) };
}
