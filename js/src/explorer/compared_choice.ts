import { OF_TWO_MAPS, type OfTwoMaps } from "../head_view/several/map_types.js";
import { ofTwoMapsText } from "../head_view/several/two_maps.js";
import { choice, controlView } from "../shared/controls.js";
import { save } from "../shared/snapshot.js";
import type { GridModel, ViewModel } from "./explorer_types.js";

/** Name of the control of the grid and of the view that this choice replaces. */
export const MAPS = "maps";

/** Return the choice of the maps that all figures of a comparison show: the difference, A or B. */
export const comparedChoice = (
  grid: GridModel | undefined,
  view: ViewModel | undefined,
  names: string[],
): unknown => {
  const now = view?.get("comparison_part") ?? "all";
  const [first = "A", second = "B"] = names;
  return controlView(
    choice<OfTwoMaps>({
      name: "compared",
      place: "bar",
      look: "buttons",
      label: "maps of A and B",
      hint: `A: ${first} · B: ${second}`,
      // All three maps are as high as a page, so "all" is offered only if Python or a saved page
      // has set it.
      values: OF_TWO_MAPS.filter((of) => of !== "all" || now === "all"),
      value: now,
      change: (comparison_part) => {
        if (view) save(view, { comparison_part });
        if (grid)
          save(grid, {
            comparison_part: comparison_part === "all" ? "difference" : comparison_part,
          });
      },
      print: (of) => ofTwoMapsText[of],
    }),
  );
};
