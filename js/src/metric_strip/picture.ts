import { caption, keptRows } from "../shared/caption.js";
import { LABEL_SIZE } from "../shared/labels.js";
import { type DrawPicture, Sheet } from "../shared/picture/sheet.js";
import { captionOf, FIGURE, NO_SELECTION, type StripState, sceneOf, tableOf } from "./scene.js";
import { paintTable, stripLayout } from "./strip_table.js";

/** The shown head's numbers among those of all heads. */
export const drawPicture: DrawPicture<StripState> = (state, request) => {
  const sheet = new Sheet(request);
  const scene = sceneOf(state);
  sheet.title(FIGURE);
  if (scene) {
    const layout = stripLayout(scene, sheet.look);
    const { width, height } = layout;
    sheet.figure(width, height, (pen) => paintTable(pen, layout, scene, sheet.look));
  } else sheet.text(NO_SELECTION, { size: LABEL_SIZE, colour: sheet.theme.text });
  const said = captionOf(scene);
  sheet.notes(...said.notes);
  const [table, cut] = keptRows(tableOf(scene), request.brief);
  return { sheet, caption: caption(FIGURE, { ...said, notes: [...said.notes, cut] }), table };
};
