import { previewOf } from "../head_grid/grid_peek.js";
import { decode } from "../head_grid/grid_pixels.js";
import type { GridState } from "../head_grid/state.js";
import { peekOut } from "../shared/peek.js";
import { remembered } from "../shared/remembered.js";
import type { Head, Model } from "../shared/types.js";
import type { ExplorerState } from "./explorer_types.js";

/**
 * Return a function that previews a head in the explorer and its figures, with the thumbnail of the
 * grid, or ends the preview with null.
 */
export function headPreview(model: Model<ExplorerState>, grid: () => GridState | undefined) {
  const mapsOf = remembered((maps: GridState["_thumbnails"]) => maps && decode(maps));
  return (head: Head | null): void => {
    const maps = mapsOf(grid()?._thumbnails ?? null);
    const isThere = head !== null && maps?.stack === head[2];
    const preview = isThere ? previewOf(maps, [head[0], head[1]]) : null;
    peekOut(model.get("_circle"), preview);
  };
}
