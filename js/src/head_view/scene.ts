import { TOKEN_PIXELS } from "../shared/labels.js";
import type { Look } from "../shared/mount.js";
import { type Print, printer } from "../shared/quantity.js";
import type { Theme } from "../shared/theme.js";
import type { Axes, Axis, Side } from "../shared/types.js";
import { headColours } from "./head_colours.js";
import { inSightOf } from "./matrix_window.js";
import { type Several, severalMap } from "./several.js";
import type { ViewState } from "./state.js";
import { type InSight, isPair, type Target } from "./targets.js";
import type { Shown } from "./view_shown.js";
import { type VisibleMap, visibleMap } from "./visible_map.js";

/** From this width on the legend stands beside the figure. */
export const WIDE = 840;
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
}

/** All that a figure of one map draws. */
export interface Scene extends Ground {
  state: ViewState;
  map: VisibleMap;
  axes: Axes;
  /** The part of the map that a matrix shows. */
  inSight: InSight;
  /** Of the letters of tokens, in pixels. */
  size: number;
  /** Prints a weight. */
  print: Print;
  locked: Positions;
  highlighted: Positions;
  /**
   * Heads that are drawn together; for heads side by side, all in one scene and each in a separate
   * scene.
   */
  several?: Several | undefined;
  /** The colours of overlaid heads. */
  colours?: string[];
  /** The largest weight of any head, where lines of several are on one scale. */
  reach?: VisibleMap | undefined;
  /** Tokens that the map has no values of, where two inputs are compared. */
  absent?: Record<Side, Set<number>>;
  /** Too little room for numbers beside tokens. */
  slim?: boolean;
  /** Sides whose tokens are named at a matrix; both without it. */
  labelled?: Record<Side, boolean>;
}

/** One way to draw a scene. */
export interface Figure {
  element: HTMLElement;
  draw(scene: Scene): void;
  /** What lies under a point of the page. */
  hit(clientX: number, clientY: number): Target;
  /** Bring a target into sight; `amid`: into the middle, where it was not in sight. */
  reveal(target: Target, amid?: boolean): void;
  /** Whether a side's label is too long to be printed whole. */
  isCut(scene: Scene, side: Side, text: string): boolean;
  /** What the caption must say about the drawing. */
  notes(): string[];
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
export function positions(map: VisibleMap, query: number[], key: number[]): Positions {
  const places = (visible: number[], wanted: number[]) =>
    new Set(wanted.map((index) => visible.indexOf(index)).filter((place) => place >= 0));
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
export const choices = (of: ViewState) => [of.hidden.join(), of.sentences, of.renormalise];

/** The part of the map that is shown, by what is hidden and filtered. */
export function visibleOf({ hidden, sentences, renormalise }: ViewState, shown: Shown): VisibleMap {
  const visible = (values: Float32Array) =>
    visibleMap(values, shown.axes, {
      hidden,
      sentences,
      // Shares of one are a property of weights: other quantities stay as they were measured.
      renormalise: renormalise && shown.quantity === "weights",
    });
  return shown.several ? severalMap(shown.several, visible) : visible(shown.values);
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
  return {
    ...ground,
    state,
    map,
    axes: shown.axes,
    size: TOKEN_PIXELS[state.token_size],
    inSight: inSightOf(map, state.mode === "matrix" ? state.window : null),
    print: printer(shown.exact, shown.quantity),
    locked: positions(map, side("query"), side("key")),
    highlighted: positions(map, query, key),
    ...together(shown.several, ground.theme),
  };
}

/** What a scene has of heads that are drawn together. */
function together(several: Several | undefined, theme: Theme): Pick<Scene, "several" | "colours"> {
  if (several?.arrangement !== "overlay") return { several };
  return { several, colours: headColours(theme, several.heads, several.last) };
}
