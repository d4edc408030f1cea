import type { StackInfo } from "../shared/types.js";
import { type ExplorerState, PANELS, type Panel } from "./explorer_types.js";

/** From this width on, in pixels, grid and view stand side by side. */
const SIDE_BY_SIDE = 676;
/** From here on view and details do, under a grid that takes the whole width. */
const BESIDE_VIEW = 1100;
/** From here on details have room enough in a half of the width. */
const UNDER_GRID = 1060;
/** With a view of more tokens the whole would be higher than a screen if the details were below both. */
const LOW_VIEW = 19;
/** From here on three columns do. */
const THREE = 1500;
/** A grid of more heads a layer takes the whole width. */
const MOST_HEADS = 16;

const MAIN: Panel[] = ["grid", "view"];
/** What needs the whole width, to be read at a glance. */
const BROAD: Panel[] = ["table", "arcs"];

/**
 * "one" panel of all at a time, "two" columns with the details below, or "under" the grid where the view is high, "three"
 * columns, a "broad" grid above the others, or a broad grid with the details "beside" the view.
 */
export type Plan = (typeof PLANS)[number];
export const PLANS = ["one", "two", "under", "three", "broad", "beside"] as const;

export function planFor(width: number, stacks: Pick<StackInfo, "n_heads" | "n_query" | "n_key">[]): Plan {
  const heads = Math.max(0, ...stacks.map(({ n_heads }) => n_heads));
  const tokens = Math.max(0, ...stacks.flatMap(({ n_query, n_key }) => [n_query, n_key]));
  if (width < SIDE_BY_SIDE) return "one";
  if (heads > MOST_HEADS) return width < BESIDE_VIEW ? "broad" : "beside";
  if (width >= THREE) return "three";
  return width < UNDER_GRID || tokens <= LOW_VIEW ? "two" : "under";
}

/** Where details are under the grid, its cells are so small that they stay in sight, in pixels. */
const GRID_HEIGHT = 360;
const SMALLEST_CELL = 26;
const ROW_LABELS = 64;

/** The greatest width that a grid takes above details, in pixels. */
export function widthOverDetails(stacks: Pick<StackInfo, "n_heads" | "n_layers">[]): number {
  const widths = stacks.map(
    ({ n_heads, n_layers }) => ROW_LABELS + n_heads * Math.max(SMALLEST_CELL, Math.floor(GRID_HEIGHT / n_layers)),
  );
  return Math.max(0, ...widths);
}

/** The panels that there are, or will be once they are measured. */
export const present = (state: Pick<ExplorerState, "panels" | "progress" | "_offer" | "_problems" | Panel>): Panel[] =>
  PANELS.filter((name) => {
    const offered = BROAD.includes(name) && state._offer !== "";
    const expected = name in state.progress || name in state._problems || offered;
    return state.panels.includes(name) && (state[name] !== null || expected);
  });

/** The panels of a plan that are in sight at any time, and the groups of which one is open at a time. */
export function groupsFor(plan: Plan, there: Panel[]): { fixed: Panel[]; groups: Panel[][] } {
  if (plan === "one") return { fixed: [], groups: [there] };
  const details = there.filter((name) => !MAIN.includes(name));
  const beside = plan === "three" ? details.filter((name) => !BROAD.includes(name)) : details;
  return {
    fixed: there.filter((name) => MAIN.includes(name)),
    groups: [beside, details.filter((name) => !beside.includes(name))],
  };
}
