import { gridWidth, WITH_WORD } from "../shared/cells.js";
import { clamp } from "../shared/clamp.js";
import type { StackInfo } from "../shared/types.js";
import { type ExplorerState, PANELS, type Panel } from "./explorer_types.js";

/** Width in pixels from which all heads and one head are side by side. */
const SIDE_BY_SIDE = 560;
/** Share of the page's width for the grid of all heads, by page width and number of columns. */
const SHARES = { narrow: 0.62, usual: 0.575, many: 0.64, few: 0.5 };
const NARROW = 860;
const MANY_COLUMNS = 16;
const FEW_COLUMNS = 6;
/** Smallest and largest width of the grid of all heads. */
const LEAST_LEFT = 320;
const MOST_LEFT = { usual: 820, many: 900 };
/** Smallest width of the view of one head with the gap, which its columns of words need. */
const LEAST_RIGHT = 240;
/** Width of cells that are too narrow for words. */
const STRIP = 20;
/** Number of rows from which words in cells would not have two lines in the usual height. */
const MANY_ROWS = 10;
/** Heights in pixels that the layout of cells may use. */
const HEIGHTS = { one: 560, usual: 268, wide: 346 };
/** Height of the words under the columns of many layers. */
const WORDS_BELOW = 74;

const MAIN: Panel[] = ["grid", "view"];
/** Layout of the page: "one" column, or "two" with all heads next to one head. */
type Plan = (typeof PLANS)[number];
const PLANS = ["one", "two"] as const;

export const planFor = (width: number): Plan => (width < SIDE_BY_SIDE ? "one" : "two");

/** Return the width of the grid of all heads, next to one head or alone. */
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
  // A wider strip shows no more, and the lines of the head need the space.
  const hasWords = usual >= gridWidth(columns, WITH_WORD);
  const wanted = hasWords ? usual : Math.min(usual, gridWidth(columns, STRIP));
  return clamp(wanted, LEAST_LEFT, width - LEAST_RIGHT);
}

const mostLeft = (columns: number): number =>
  columns > MANY_COLUMNS ? MOST_LEFT.many : MOST_LEFT.usual;

/**
 * Return the height for the cells of all heads. It depends only on the width and the shape of the
 * grid, because a figure is laid out again only if its width changes.
 */
export function gridHeight(width: number, columns: number, rows: number): number {
  if (planFor(width) === "one") return HEIGHTS.one;
  const isMany = rows >= MANY_ROWS || columns <= FEW_COLUMNS;
  const isWide = leftWidth(width, columns) === mostLeft(columns) || isMany;
  const below = columns > MANY_COLUMNS ? WORDS_BELOW : 0;
  return below + (isWide ? HEIGHTS.wide : HEIGHTS.usual);
}

/** Return the numbers of columns and rows of the largest grid, whose longer side is horizontal. */
export function gridSides(stacks: readonly StackInfo[]): { columns: number; rows: number } {
  const sides = stacks.map(({ n_heads, n_layers }) => [n_heads, n_layers]);
  return {
    columns: Math.max(0, ...sides.map((both) => Math.max(...both))),
    rows: Math.max(0, ...sides.map((both) => Math.min(...both))),
  };
}

/**
 * Divide a page of this width, by CSS classes and properties, and return the width of all heads.
 */
export function giveRoom(root: HTMLElement, width: number, stacks: readonly StackInfo[]): number {
  const plan = planFor(width);
  for (const name of PLANS) root.classList.toggle(`attnw-ex-${name}`, name === plan);
  const { columns, rows } = gridSides(stacks);
  const left = leftWidth(width, columns);
  root.style.setProperty("--attnw-ex-left", `${left}px`);
  root.style.setProperty("--attnw-grid-height", `${gridHeight(width, columns, rows)}px`);
  return left;
}

/** Return the panels that exist now or will exist after the measurements. */
export const present = (
  state: Pick<ExplorerState, "panels" | "progress" | "_offers" | "_problems" | Panel>,
): Panel[] =>
  PANELS.filter((name) => {
    const expected = [state.progress, state._problems, state._offers].some((of) => name in of);
    return state.panels.includes(name) && (state[name] !== null || expected);
  });

/** Return the panels that are always visible, and the panels in the row "more". */
export const groupsFor = (there: Panel[]): { fixed: Panel[]; details: Panel[] } => ({
  fixed: there.filter((name) => MAIN.includes(name)),
  details: there.filter((name) => !MAIN.includes(name)),
});
