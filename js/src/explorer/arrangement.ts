import { leastWidth } from "../shared/cells.js";
import type { StackInfo } from "../shared/types.js";
import { type ExplorerState, PANELS, type Panel } from "./explorer_types.js";

/** From this width on, in pixels, grid and view stand side by side. */
const SIDE_BY_SIDE = 676;
/** From this width on the details have a column of their own. */
const THREE = 1340;
/** Least widths of the view and of the details beside it. */
const LEAST_VIEW = 340;
const LEAST_DETAILS = 360;
/** Between columns. */
export const COLUMN_GAP = 24;
/** Below a grid of more layers there is no space for the details. */
const LOW_GRID = 12;

const MAIN: Panel[] = ["grid", "view"];
/** What needs the whole width, to be read at a glance. */
const BROAD: Panel[] = ["table", "arcs"];

/**
 * "one" panel at a time; "two" columns, the grid as high as the view, and all details below;
 * "under" a low grid the details of the text, and below both those that need the whole width;
 * "three" columns; or a "broad" grid above the remaining panels.
 */
export type Plan = (typeof PLANS)[number];
export const PLANS = ["one", "two", "under", "three", "broad"] as const;

/** The width of a grid with the smallest cells, of the stack with the most heads. */
export const leastGrid = (stacks: Pick<StackInfo, "n_heads">[]): number =>
  leastWidth(Math.max(0, ...stacks.map(({ n_heads }) => n_heads)));

export function planFor(width: number, stacks: Pick<StackInfo, "n_layers" | "n_heads">[]): Plan {
  if (width < SIDE_BY_SIDE) return "one";
  const both = leastGrid(stacks) + COLUMN_GAP + LEAST_VIEW;
  if (both > width) return "broad";
  if (Math.max(0, ...stacks.map(({ n_layers }) => n_layers)) > LOW_GRID) return "two";
  return width >= THREE && both + COLUMN_GAP + LEAST_DETAILS <= width ? "three" : "under";
}

/** The panels that exist now, or will exist after the measurements. */
export const present = (
  state: Pick<ExplorerState, "panels" | "progress" | "_offer" | "_problems" | Panel>,
): Panel[] =>
  PANELS.filter((name) => {
    const offered = BROAD.includes(name) && state._offer !== "";
    const expected = name in state.progress || name in state._problems || offered;
    return state.panels.includes(name) && (state[name] !== null || expected);
  });

/** The panels that a plan always shows, and the groups in which a single panel is open. */
export function groupsFor(plan: Plan, there: Panel[]): { fixed: Panel[]; groups: Panel[][] } {
  if (plan === "one") return { fixed: [], groups: [there] };
  // In three columns the lens has the space that a low grid leaves.
  const main = plan === "three" ? [...MAIN, "lens"] : MAIN;
  const details = there.filter((name) => !main.includes(name));
  const splits = plan === "three" || plan === "under";
  const beside = splits ? details.filter((name) => !BROAD.includes(name)) : details;
  return {
    fixed: there.filter((name) => main.includes(name)),
    groups: [beside, details.filter((name) => !beside.includes(name))],
  };
}
