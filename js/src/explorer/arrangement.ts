import type { StackInfo } from "../shared/types.js";
import { type ExplorerState, PANELS, type Panel } from "./explorer_types.js";

/** From this width on, in pixels, grid and view stand side by side. */
const SIDE_BY_SIDE = 676;
/** From here on details have room enough in a half of the width. */
const HALF = 1060;
/**
 * With a view of more tokens, or a grid of more layers, all would be higher than a screen with the
 * details below both.
 */
const LOW_VIEW = 19;
const LOW_GRID = 8;
/** From here on three columns do. */
const THREE = 1500;
/** A grid of more heads a layer takes the whole width. */
const MOST_HEADS = 16;

const MAIN: Panel[] = ["grid", "view"];
/** What needs the whole width, to be read at a glance. */
const BROAD: Panel[] = ["table", "arcs"];

/**
 * "one" panel at a time, "two" columns with the details below, or "under" the grid if the view is
 * high, "three" columns, a "broad" grid above the remaining panels, or a broad grid with the
 * details "beside" the view.
 */
export type Plan = (typeof PLANS)[number];
export const PLANS = ["one", "two", "under", "three", "broad", "beside"] as const;

export function planFor(
  width: number,
  stacks: Pick<StackInfo, "n_layers" | "n_heads" | "n_query" | "n_key">[],
): Plan {
  const heads = Math.max(0, ...stacks.map(({ n_heads }) => n_heads));
  const layers = Math.max(0, ...stacks.map(({ n_layers }) => n_layers));
  const tokens = Math.max(0, ...stacks.flatMap(({ n_query, n_key }) => [n_query, n_key]));
  if (width < SIDE_BY_SIDE) return "one";
  if (heads > MOST_HEADS) return width < HALF ? "broad" : "beside";
  if (width >= THREE) return "three";
  return width < HALF || (tokens <= LOW_VIEW && layers <= LOW_GRID) ? "two" : "under";
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
  const details = there.filter((name) => !MAIN.includes(name));
  const beside = plan === "three" ? details.filter((name) => !BROAD.includes(name)) : details;
  return {
    fixed: there.filter((name) => MAIN.includes(name)),
    groups: [beside, details.filter((name) => !beside.includes(name))],
  };
}
