import { caption, keptRows } from "../shared/caption.js";
import { labelFont, tableRuler, write } from "../shared/labels.js";
import { type DrawPicture, FONT, Sheet } from "../shared/picture/sheet.js";
import {
  captionOf,
  FIGURE,
  isShown,
  LINE,
  linesOf,
  SIZE,
  type TextState,
  tableOf,
  targetsOf,
} from "./scene.js";

/** The text: links are underlined, and the link that is shown now is on the accent. */
export const drawPicture: DrawPicture<TextState> = (state, request) => {
  const sheet = new Sheet(request);
  const { theme } = sheet;
  const measure = tableRuler(labelFont(FONT, false, SIZE));
  const { lines, height } = linesOf(state, sheet.room, measure);
  const targets = targetsOf(state);
  const said = captionOf(state);
  sheet.title(FIGURE, said.model);
  sheet.figure(sheet.room, height, (pen) => {
    pen.textBaseline = "alphabetic";
    pen.font = labelFont(FONT, false, SIZE);
    for (const { y, words } of lines)
      for (const { text, x, link } of words) {
        const target = link === null ? undefined : targets[link];
        const base = y + LINE / 2 + SIZE / 3;
        const isOn = target !== undefined && isShown(state, target);
        pen.fillStyle = theme.accent;
        if (isOn) pen.fillRect(x - 2, y + 2, measure(text) + 4, LINE - 4);
        else if (target) pen.fillRect(x, base + 2, measure(text), 1);
        write(pen, text, [x, base], isOn ? theme.background : target ? theme.accent : theme.text);
      }
  });
  sheet.notes(...said.notes);
  const [table, cut] = keptRows(tableOf(state), request.brief);
  return { sheet, caption: caption(FIGURE, { ...said, notes: [...said.notes, cut] }), table };
};
