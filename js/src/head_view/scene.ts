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

/** Width from which the legend is next to the figure. */
const WIDE = 840;
export const ASIDE = 224;
const GAP = 24;

/**
 * Return the space for the figure in a widget or picture of this width. Heads side by side take all
 * of it.
 */
export const roomFor = (width: number, several?: Several): number =>
  width >= WIDE && several?.arrangement !== "beside" ? width - ASIDE - GAP : width;

export interface Positions {
  query: Set<number>;
  key: Set<number>;
}

/** Options of the page or picture on which a figure is drawn. */
export interface Ground extends Omit<Look, "width"> {
  /** Available width in CSS pixels. */
  room: number;
  /** Target of the pointer or the keyboard cursor. */
  active: Target;
  /** Whether to draw lines as pixels, for viewers that need seconds for thousands of strokes. */
  dense: boolean;
  /**
   * Whether to draw only the visible part. Uncropped images would make a picture as large as the
   * complete map.
   */
  cropped?: boolean;
  /** Visible part during a drag; otherwise, the window determines it. */
  moved?: MapPart | undefined;
  /** Part to which colors are scaled during a drag; default: the visible part. */
  scaledTo?: MapPart | undefined;
}

/** Complete description of the drawing of one map. */
export interface Scene extends Ground {
  state: ViewState;
  map: VisibleMap;
  axes: Axes;
  /** Visible part of the map. */
  part: MapPart;
  /** Font size of tokens in pixels. */
  size: number;
  /** Formatter of weights. */
  print: Print;
  /** Formatter of weights next to words: percentages for the weights of a map, "" below 1 %. */
  printBeside: Print;
  locked: Positions;
  highlighted: Positions;
  /**
   * Heads that are drawn together. Heads side by side have one scene for all of them and one for
   * each.
   */
  several?: Several | undefined;
  /** Colors of overlaid heads. */
  colors?: string[];
  /** Map with the largest weight of any head, if lines of several heads share a scale. */
  reach?: VisibleMap | undefined;
  /** Tokens without values in this map, in a comparison of two inputs. */
  absent?: Record<Side, Set<number>>;
  /** Whether there is too little room for numbers next to tokens. */
  slim?: boolean;
  /** Regions of the tokens, if the map is drawn on pictures or sounds. */
  places?: AxesPlaces | undefined;
  /** Staircase of the shown head: the words of a transcript over time. */
  stairs?: Staircase | undefined;
  /** Sides of a matrix that have token labels; default: both. */
  labeled?: Record<Side, boolean>;
}

/** Implementation of one way to draw a scene. */
export interface Figure {
  element: HTMLElement;
  draw(scene: Scene): void;
  /** Return the target at a point of the page. */
  hit(clientX: number, clientY: number): Target;
  /** Make a target visible. With `toMiddle`, center it if it was out of sight. */
  reveal(target: Target, toMiddle?: boolean): void;
  /** Return whether a side's label is too long to be printed completely. */
  isCut(scene: Scene, side: Side, text: string): boolean;
  /** Return the caption notes of the drawing. */
  notes(): string[];
  /** Return the token that an arrow key leads to, for tokens in a plane. */
  neighbor?(scene: Scene, from: Target, key: string): Target | undefined;
  /**
   * Return the plot at a point of the page, or the first plot; undefined if the figure has no
   * window.
   */
  plot?(at?: Pick<MouseEvent, "clientX" | "clientY">): Plot | undefined;
}

/**
 * Return the token of each side whose weights are printed: the active token, or the last locked
 * one.
 */
export function leads(scene: Scene): Target {
  const token = isPair(scene.active) ? {} : scene.active;
  return {
    query: token.query ?? [...scene.locked.query].at(-1),
    key: token.key ?? [...scene.locked.key].at(-1),
  };
}

/** Return the positions on the visible axes of indices on the complete axes. */
function positions(map: VisibleMap, query: number[], key: number[]): Positions {
  const places = (visible: number[], wanted: number[]) =>
    new Set(wanted.map((index) => positionOf(visible, index)).filter((place) => place >= 0));
  return { query: places(map.rows, query), key: places(map.cols, key) };
}

/** Return the position of the first generated token on a visible axis, or 0 if there is none. */
export const writtenFrom = ({ prompt = 0 }: Axis, shown: number[]): number =>
  prompt > 0
    ? Math.max(
        0,
        shown.findIndex((index) => index >= prompt),
      )
    : 0;

/** Return the options that determine the visible part of the map, to detect changes. */
export const choices = (of: ViewState) => [
  of.hidden.join(),
  of.sentences,
  of.scale,
  JSON.stringify(of.disabled),
];

/**
 * Return whether the drawing has a window: a matrix, or the lines of an incomplete map, whose
 * columns would be too long to scroll.
 */
export const isZoomable = ({ mode }: Pick<ViewState, "mode">, map: VisibleMap): boolean =>
  mode === "matrix" || (mode === "lines" && !sourceOf(map).isComplete);

/**
 * Return the state used for drawing. On pictures no token is hidden, because special tokens are
 * next to the picture.
 */
export const drawnState = (state: ViewState): ViewState =>
  state.mode === "places" ? { ...state, hidden: [] } : state;

/** Return the map without hidden and filtered tokens. */
export function visibleOf(state: ViewState, shown: Shown): VisibleMap {
  const { hidden, sentences, scale, disabled } = state;
  const { several, quantity } = shown;
  const isTwo = several?.names !== undefined;
  const heads = several?.heads ?? [shown.head];
  /** In a comparison of two attentions, heads can be off only in the first. */
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

/** Return the width of the widest bold label of a side, cached between drawings. */
export function widestOf({ map, axes, font, ruler, density }: Scene, side: Side, size: number) {
  const shown = side === "query" ? map.rows : map.cols;
  const known = widths.get(shown) ?? new Map<string, number>();
  widths.set(shown, known);
  const key = `${side} ${font} ${size} ${density}`;
  const measure = ruler(labelFont(font, true, size));
  // On a long axis, some labels are positions instead of tokens.
  const last = isMany(axes[side]) ? measure(String(shown.at(-1) ?? 0)) : 0;
  const width = known.get(key) ?? Math.max(last, widestLabel(measure, axes[side], shown));
  known.set(key, width);
  return width;
}

/** Return the last locked token, if it is visible. */
export function lastLock({ state, locked }: Scene): Target {
  const last = state.tokens.at(-1);
  return last ? { [last[0]]: [...locked[last[0]]].at(-1) } : {};
}

/** Return the scene of a state. */
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
    // The absolute scale is the same for every part of a map.
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

/** Return the fields of a scene that describe heads drawn together. */
function together(several: Several | undefined, theme: Theme): Pick<Scene, "several" | "colors"> {
  if (several?.arrangement !== "overlay") return { several };
  return { several, colors: headColors(theme, several.heads, several.last) };
}
