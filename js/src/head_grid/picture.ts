import { scaleTitle } from "../shared/caption.js";
import { inLine } from "../shared/in_line.js";
import { LABEL_SIZE } from "../shared/labels.js";
import { type DrawPicture, Sheet } from "../shared/picture/sheet.js";
import { decode } from "./grid_pixels.js";
import { captionOf, legendOf, tableOf } from "./grid_text.js";
import { paintGrid } from "./paint.js";
import { areCurrent, colorsOf, composed, sceneOf } from "./scene.js";
import type { GridState } from "./state.js";

/** A file cannot scroll: cells are so small that all heads fit in the column of a paper. */
const LEAST = 4;
/** So dense that hardly anything is lost where cells end on whole pixels. */
const FINE = 100;

/** All heads at once. */
export const drawPicture: DrawPicture<GridState> = (state, request) => {
  const sheet = new Sheet(request);
  const maps = state._thumbnails && decode(state._thumbnails);
  const scene = sceneOf(state, maps, sheet.look, { least: LEAST });
  const said = captionOf(scene);
  const title = inLine([said.figure, scaleTitle(colorsOf(scene).scale)]);
  sheet.title(title, said.model, said.quantity);
  if (!areCurrent(maps, state)) {
    sheet.text(state._error, { size: LABEL_SIZE, color: request.theme.text });
    return { sheet, caption: said, table: tableOf({ ...scene, maps: null }) };
  }
  // Cells that end on whole pixels must not change the size of the picture.
  sheet.reserve(sceneOf(state, maps, { ...sheet.look, density: FINE }, { least: LEAST }).width);
  sheet.figure(scene.width, scene.height, (pen) => paintGrid(pen, scene, composed(scene)));
  const { texts, words, bar } = legendOf(scene);
  sheet.colorBar(texts, words, bar);
  sheet.notes(...said.notes);
  return { sheet, caption: said, table: tableOf(scene) };
};
