import { type ExplorerState, PANELS, type Panel } from "./explorer_types.js";

/** From this width on, in pixels, grid and view stand side by side. */
const SIDE_BY_SIDE = 676;
/** From here on view and details do, under a grid that takes the whole width. */
const BESIDE_VIEW = 1100;
/** From here on three columns do. */
const THREE = 1500;
/** A grid of more heads a layer takes the whole width. */
const MOST_HEADS = 16;

const MAIN: Panel[] = ["grid", "view"];
/** What needs the whole width, to be read at a glance. */
const BROAD: Panel[] = ["table", "arcs"];

/**
 * "one" panel of all at a time, "two" columns with the details below, "three" columns, a "broad" grid above the others, or a
 * broad grid with the details "beside" the view.
 */
export type Plan = "one" | "two" | "three" | "broad" | "beside";

export function planFor(width: number, heads: number): Plan {
  if (width < SIDE_BY_SIDE) return "one";
  if (heads > MOST_HEADS) return width < BESIDE_VIEW ? "broad" : "beside";
  return width < THREE ? "two" : "three";
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
