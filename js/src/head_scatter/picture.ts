import { caption, keptRows } from "../shared/caption.js";
import { LABEL_SIZE, tableRuler } from "../shared/labels.js";
import { type DrawPicture, Sheet } from "../shared/picture/sheet.js";
import { groupLegend, layerLegend, paintMap } from "./paint.js";
import {
  ASIDE,
  captionOf,
  decodePoints,
  FIGURE,
  readoutOf,
  sceneOf,
  sourceOf,
  tableOf,
} from "./scene.js";
import type { MapState } from "./state.js";

/** Draw heads in the plane, with the legend of the page. */
export const drawPicture: DrawPicture<MapState> = (state, request) => {
  const sheet = new Sheet(request);
  const { theme } = request;
  const plane = state._heads ? decodePoints(state._heads) : [];
  const scene = sceneOf(state, plane, sheet.look);
  const { layout, beside } = scene;
  sheet.title(FIGURE, sourceOf(state));
  sheet.figure(layout.width, layout.height, (pen) => paintMap(pen, scene));
  const names = (state._heads?.groups ?? []).map(({ name }) => name);
  if (beside) sheet.aside(ASIDE);
  const legend = scene.layers
    ? layerLegend(scene)
    : groupLegend(scene, names, sheet.room, tableRuler);
  sheet.place(legend.width, legend.height, legend.paint);
  const readout = readoutOf(scene.selected, state.labels);
  if (readout) sheet.text(readout, { size: LABEL_SIZE, color: theme.text, line: 20 });
  const [table, cut] = keptRows(tableOf(state, plane), request.brief);
  const said = captionOf(state, plane);
  sheet.notes(...said.notes);
  return { sheet, caption: caption(FIGURE, { ...said, notes: [...said.notes, cut] }), table };
};
