import { gridWidth, WITH_WORD } from "../shared/cells.js";
import { clamp } from "../shared/clamp.js";
import type { StackInfo } from "../shared/types.js";
import { type ExplorerState, PANELS, type Panel } from "./explorer_types.js";

/** From this width on, in pixels, all heads and one head stand side by side. */
const SIDE_BY_SIDE = 560;
/** Share of the page's width for all heads, by the width of the page and the number of columns. */
const SHARES = { narrow: 0.62, usual: 0.575, many: 0.64, few: 0.5 };
const NARROW = 860;
const MANY_COLUMNS = 16;
const FEW_COLUMNS = 6;
/** All heads have so much at least, and at most. */
const LEAST_LEFT = 320;
const MOST_LEFT = { usual: 820, many: 900 };
/** The head beside them, with the gap, has so much at least: its columns of words need it. */
const LEAST_RIGHT = 240;
/** Width of cells that are too narrow for words anyway. */
const STRIP = 20;
/** From so many rows on, words in cells would not have two lines in the usual height. */
const MANY_ROWS = 10;
/** The height for which cells are made, in pixels. */
const HEIGHTS = { one: 560, usual: 268, wide: 346 };

const MAIN: Panel[] = ["grid", "view"];
/** "one" column, or "two": all heads beside one head. */
type Plan = (typeof PLANS)[number];
const PLANS = ["one", "two"] as const;

export const planFor = (width: number): Plan => (width < SIDE_BY_SIDE ? "one" : "two");

/** The width of all heads, beside one head or alone. */
export function leftWidth(width: number, columns: number): number {
  if (planFor(width) === "one") return width;
  const isNarrow = width < NARROW;
  const share =
    columns > MANY_COLUMNS
      ? SHARES.many
      : columns <= FEW_COLUMNS
        ? SHARES.few
        : SHARES[isNarrow ? "narrow" : "usual"];
  const usual = clamp(Math.floor(width * share), LEAST_LEFT, mostLeft(columns));
  // A strip says no more if it is wider, and the lines of the head need the room.
  const hasWords = usual >= gridWidth(columns, WITH_WORD);
  const wanted = hasWords ? usual : Math.min(usual, gridWidth(columns, STRIP));
  return clamp(wanted, LEAST_LEFT, width - LEAST_RIGHT);
}

const mostLeft = (columns: number): number =>
  columns > MANY_COLUMNS ? MOST_LEFT.many : MOST_LEFT.usual;

/**
 * The height for which the cells of all heads are made. All heads of the same width have the same
 * height, because a figure is laid out again where its width changes.
 */
export function gridHeight(width: number, columns: number, rows: number): number {
  if (planFor(width) === "one") return HEIGHTS.one;
  const isMany = rows >= MANY_ROWS || columns <= FEW_COLUMNS;
  const isWide = leftWidth(width, columns) === mostLeft(columns) || isMany;
  return isWide ? HEIGHTS.wide : HEIGHTS.usual;
}

/**
 * Give all heads their room on a page of this width, by classes and properties of the style sheet;
 * returns the width of all heads.
 */
export function giveRoom(root: HTMLElement, width: number, stacks: readonly StackInfo[]): number {
  const plan = planFor(width);
  for (const name of PLANS) root.classList.toggle(`attnw-ex-${name}`, name === plan);
  // The longer side lies across.
  const sides = stacks.map(({ n_heads, n_layers }) => [n_heads, n_layers]);
  const columns = Math.max(0, ...sides.map((both) => Math.max(...both)));
  const rows = Math.max(0, ...sides.map((both) => Math.min(...both)));
  const left = leftWidth(width, columns);
  root.style.setProperty("--attnw-ex-left", `${left}px`);
  root.style.setProperty("--attnw-grid-height", `${gridHeight(width, columns, rows)}px`);
  return left;
}

/** The panels that exist now, or will exist after the measurements. */
export const present = (
  state: Pick<ExplorerState, "panels" | "progress" | "_offers" | "_problems" | Panel>,
): Panel[] =>
  PANELS.filter((name) => {
    const expected = [state.progress, state._problems, state._offers].some((of) => name in of);
    return state.panels.includes(name) && (state[name] !== null || expected);
  });

/** The panels in sight always, and the panels of the row "more". */
export const groupsFor = (there: Panel[]): { fixed: Panel[]; details: Panel[] } => ({
  fixed: there.filter((name) => MAIN.includes(name)),
  details: there.filter((name) => !MAIN.includes(name)),
});
