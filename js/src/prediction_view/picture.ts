import { caption, keptRows } from "../shared/caption.js";
import { LABEL_SIZE } from "../shared/labels.js";
import { type DrawPicture, Sheet } from "../shared/picture/sheet.js";
import { paintPredictions } from "./paint.js";
import { captionOf, FIGURE, questionOf, tableOf } from "./prediction_text.js";
import { sceneOf } from "./scene.js";
import type { PredictionState } from "./state.js";

/** Draw the answers of a model, and the effects of its heads. */
export const drawPicture: DrawPicture<PredictionState> = (state, request) => {
  const sheet = new Sheet(request);
  const scene = sceneOf(state, sheet.look);
  const said = captionOf(state, scene);
  sheet.title(
    questionOf(state) || FIGURE,
    said.model,
    state._axes.query ? state._axes.query.text.join(" ") : "",
  );
  if (scene) sheet.figure(scene.width, scene.height, (pen) => paintPredictions(pen, scene));
  else sheet.text(state._error || state._message, { size: LABEL_SIZE, color: request.theme.text });
  sheet.notes(...said.notes);
  const [table, cut] = keptRows(tableOf(scene), request.brief);
  return { sheet, caption: caption(said.figure, { ...said, notes: [...said.notes, cut] }), table };
};
