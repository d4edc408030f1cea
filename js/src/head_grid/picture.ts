import { scaleTitle } from "../shared/caption.js";
import { inLine } from "../shared/in_line.js";
import { LABEL_SIZE } from "../shared/labels.js";
import { type DrawPicture, Sheet } from "../shared/picture/sheet.js";
import { decode } from "./grid_pixels.js";
import { captionOf, legendOf, tableOf } from "./grid_text.js";
import { paintGrid } from "./paint.js";
import { areCurrent, colorsOf, composed, sceneOf } from "./scene.js";
import type { GridState } from "./state.js";

/** Smallest cell size. A file cannot scroll, so all heads must fit the column of a paper. */
const LEAST = 4;
/** Density at which rounding cells to full pixels loses almost nothing. */
const FINE = 100;

/** Draw all heads. */
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
  // Rounding cells to full pixels must not change the size of the picture.
  sheet.reserve(sceneOf(state, maps, { ...sheet.look, density: FINE }, { least: LEAST }).width);
  sheet.figure(scene.width, scene.height, (pen) => paintGrid(pen, scene, composed(scene)));
  const { texts, words, bar } = legendOf(scene);
  sheet.colorBar(texts, words, bar);
  sheet.notes(...said.notes);
  return { sheet, caption: said, table: tableOf(scene) };
};
