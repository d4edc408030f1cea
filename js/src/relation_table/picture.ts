import { canvasSize, type GridLayout } from "../shared/cells.js";
import { barTexts } from "../shared/color_bar.js";
import { LABEL_SIZE } from "../shared/labels.js";
import { percent } from "../shared/numbers.js";
import { type DrawPicture, Sheet } from "../shared/picture/sheet.js";
import { arrange } from "./layout.js";
import { paintHeat, paintTable } from "./paint.js";
import {
  captionOf,
  decodeRelations,
  FIGURE,
  LEGEND,
  mapTitle,
  meaning,
  NOTHING,
  ofStack,
  readout,
  type Scene,
  sceneOf,
  tableOf,
} from "./scene.js";
import type { TableState } from "./state.js";

/** Draw the table of relations, and below it the map of all heads on the selected relation. */
export const drawPicture: DrawPicture<TableState> = (state, request) => {
  const sheet = new Sheet(request);
  const { theme } = request;
  const relations = state._numbers ? decodeRelations(state._numbers) : undefined;
  const scene = sceneOf(state, relations, true);
  const at = arrange(scene, sheet.look, 0, false);
  sheet.title(FIGURE + ofStack(scene.stack), state._source.model);
  const { width, height } = at.table;
  sheet.figure(width, height, (pen) => paintTable(pen, at.table, scene, sheet.look));
  if (!scene.rows.length) sheet.text(NOTHING, { size: LABEL_SIZE, color: theme.text, line: 20 });
  sheet.gap();
  drawMap(sheet, scene, at.heat);
  sheet.under();
  const said = captionOf(scene, at.table.bar > 0);
  sheet.notes(said.quantity, state._source.note, ...meaning(scene, at.table.bar > 0));
  return { sheet, caption: said, table: tableOf(scene) };
};

function drawMap(sheet: Sheet, scene: Scene, layout: GridLayout): void {
  const { heat, state } = scene;
  if (!heat) return;
  const { theme } = sheet;
  sheet.heading(mapTitle(state), state.direction);
  sheet.figure(...canvasSize(layout), (pen) => paintHeat(pen, layout, heat, sheet.look));
  const texts = barTexts("linear", heat.most, (x) => percent(x, 100));
  sheet.colorBar(texts, LEGEND);
  sheet.text(readout(scene), { size: LABEL_SIZE, color: theme.text, line: 16 });
  sheet.gap();
}
