import { ALL_HIDDEN, caption, keptRows } from "../shared/caption.js";
import { LABEL_SIZE } from "../shared/labels.js";
import { type DrawPicture, Sheet } from "../shared/picture/sheet.js";
import {
  captionOf,
  describe,
  FIGURE,
  headingOf,
  leadCell,
  legendOf,
  tableOf,
} from "./lens_text.js";
import { paintLens } from "./paint.js";
import { decode, sceneOf } from "./scene.js";
import type { LensState } from "./state.js";

/** The weights of every head for a word, or from a word to a second word. */
export const drawPicture: DrawPicture<LensState> = (state, request) => {
  const sheet = new Sheet(request);
  const { model } = state._source;
  if (!state._lens) {
    sheet.title(FIGURE, model);
    sheet.text(state._error || ALL_HIDDEN, { size: LABEL_SIZE, colour: request.theme.text });
    return {
      sheet,
      caption: caption(FIGURE, { model }),
      table: { columns: ["head", "weight"], rows: [] },
    };
  }
  const scene = sceneOf(state, decode(state._lens), sheet.look);
  const said = captionOf(scene);
  sheet.title(headingOf(scene), model, said.quantity);
  sheet.figure(scene.width, scene.height, (pen) => paintLens(pen, scene));
  sheet.text(describe(scene, leadCell(scene)), {
    size: LABEL_SIZE,
    colour: request.theme.text,
    line: 20,
  });
  const { texts, words } = legendOf(scene);
  sheet.colourBar(texts, words);
  sheet.notes(...said.notes);
  const [table, cut] = keptRows(tableOf(scene), request.brief);
  return { sheet, caption: caption(said.figure, { ...said, notes: [...said.notes, cut] }), table };
};
