import { NO_HEAD } from "../shared/caption.js";
import { inLine } from "../shared/in_line.js";
import { AXIS_LABEL_SIZE, LABEL_SIZE, labelFont, tableRuler } from "../shared/labels.js";
import { type DrawPicture, FONT, Sheet } from "../shared/picture/sheet.js";
import { wrapped } from "../shared/text_width.js";
import { paintVerdict } from "../shared/verdict.js";
import {
  asideOf,
  LEGEND,
  layoutPassage,
  paintMarks,
  paintSample,
  paintText,
  sampleWidth,
  VERDICT,
} from "./passage.js";
import {
  type CoreferenceState,
  captionOf,
  notesOf,
  type ReadoutLine,
  readout,
  sceneOf,
  tableOf,
  titleParts,
} from "./scene.js";

const LINE = 16;
const BETWEEN = 16;

/** Draw the text of a window, its mentions, and the choices for the selected mention. */
export const drawPicture: DrawPicture<CoreferenceState> = (state, request) => {
  const scene = sceneOf(state);
  if (!scene) throw new Error("no window of a document has been read");
  const sheet = new Sheet(request);
  const { name, words, mentions } = scene.drawn;
  const source = inLine([state._source.model, name]);
  const [title, accuracy] = titleParts(scene);
  sheet.title(title || `Mentions · ${NO_HEAD}`, accuracy, source);
  const at = layoutPassage(words, mentions, { room: sheet.room, font: FONT, ruler: tableRuler });
  const placed = { theme: request.theme, font: FONT, at };
  sheet.figure(at.width, at.height, (pen) => {
    paintMarks(pen, scene, placed);
    paintText(pen, placed);
  });
  const aside = asideOf(at, sheet.room);
  if (aside) sheet.aside(aside);
  placeReadout(sheet, readout(scene));
  placeLegend(sheet);
  sheet.notes(...notesOf(scene));
  return { sheet, caption: captionOf(scene), table: tableOf(scene) };
};

/** Add a readout in two columns: names, and their choices. */
function placeReadout(sheet: Sheet, lines: ReadoutLine[]): void {
  if (!lines.length) return;
  const { theme, room } = sheet;
  const font = labelFont(FONT, false, LABEL_SIZE);
  const measure = tableRuler(font);
  const indent = BETWEEN + Math.max(...lines.map(({ label }) => measure(label)));
  const rows = lines.map(({ label, text, outcome }) => {
    const left = indent + (outcome ? VERDICT : 0);
    return { label, outcome, left, parts: wrapped(text, room - left, measure) };
  });
  const height = LINE * rows.reduce((sum, { parts }) => sum + parts.length, 0);
  sheet.place(room, height, (pen) => {
    pen.font = font;
    let y = LABEL_SIZE;
    for (const { label, outcome, left, parts } of rows) {
      pen.fillStyle = theme.muted;
      pen.fillText(label, 0, y);
      if (outcome) paintVerdict(pen, theme, outcome, indent + 4, y - 4);
      pen.fillStyle = theme.text;
      for (const part of parts) {
        pen.fillText(part, left, y);
        y += LINE;
      }
    }
  });
}

/** Add the legend of the marks, side by side. */
function placeLegend(sheet: Sheet): void {
  const { theme, room } = sheet;
  const font = labelFont(FONT, false, AXIS_LABEL_SIZE);
  const measure = tableRuler(font);
  let x = 0;
  let y = 0;
  const items = LEGEND.map(([kind, text]) => {
    const indent = kind ? sampleWidth(kind) + 6 : 0;
    const width = indent + measure(text);
    if (x > 0 && x + width > room) [x, y] = [0, y + LINE];
    const item = { kind, text, x, y, indent };
    x += width + BETWEEN;
    return item;
  });
  sheet.place(room, y + LINE, (pen) => {
    pen.font = font;
    for (const { kind, text, x, y, indent } of items) {
      pen.save();
      pen.translate(x, y);
      paintSample(pen, theme, kind);
      pen.fillStyle = theme.text;
      pen.fillText(text, indent, 10);
      pen.restore();
    }
  });
}
