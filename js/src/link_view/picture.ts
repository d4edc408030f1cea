import { caption, keptRows } from "../shared/caption.js";
import { LABEL_SIZE } from "../shared/labels.js";
import { type DrawPicture, Sheet } from "../shared/picture/sheet.js";
import { captionOf, FIGURE, messageOf, tableOf, titleOf } from "./link_text.js";
import { paintCurve, paintPanels } from "./paint.js";
import { sceneOf } from "./scene.js";
import type { LinkState } from "./state.js";

/** Draw why a head attends from one token to another, and what it carries. */
export const drawPicture: DrawPicture<LinkState> = (state, request) => {
  const sheet = new Sheet(request);
  const scene = sceneOf(state, sheet.look);
  const said = captionOf(state);
  const words = { size: LABEL_SIZE, color: request.theme.text };
  sheet.title(FIGURE, said.model, scene ? titleOf(state, scene.link) : "");
  if (!scene) sheet.text(messageOf(state), words);
  else {
    sheet.figure(scene.width, scene.height, (pen) => paintPanels(pen, scene));
    const { curve, noCurve } = scene;
    if (curve) sheet.figure(curve.width, curve.height, (pen) => paintCurve(pen, curve, scene));
    else sheet.text(noCurve);
    sheet.gap();
  }
  sheet.notes(...said.notes);
  const [table, cut] = keptRows(tableOf(state), request.brief);
  return { sheet, caption: caption(said.figure, { ...said, notes: [...said.notes, cut] }), table };
};
