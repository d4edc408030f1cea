import { ALL_HIDDEN, caption, NO_HEAD } from "../shared/caption.js";
import { shortName, wholeName } from "../shared/head_names.js";
import { LABEL_SIZE, labelFont, tableRuler } from "../shared/labels.js";
import type { Pen } from "../shared/pen.js";
import { type DrawPicture, FONT, Sheet } from "../shared/picture/sheet.js";
import { isWhole } from "../shared/window.js";
import { hasMinimap, MINIMAP, paintMinimap } from "./aside/minimap.js";
import { curveSize, lockedRow, paintCurve } from "./aside/row_curve.js";
import { tiledNotes } from "./aside/tiled_text.js";
import { barOf, differenceBarOf } from "./color_bars.js";
import { linesRange } from "./lines/lines_focus.js";
import { HEADING, type LinesLayout, scrollToMiddle } from "./lines/lines_layout.js";
import {
  allLines,
  arrangeLines,
  FADED,
  focusedLines,
  linesNotes,
  paintAllLines,
  paintHeadings,
  paintOverLines,
} from "./lines/lines_paint.js";
import { paintMatrixLabels } from "./matrix/matrix_labels.js";
import type { MatrixLayout } from "./matrix/matrix_layout.js";
import { arrangeMatrix, matrixNotes, paintMatrix } from "./matrix/matrix_paint.js";
import { arrangePlaces } from "./places/places_layout.js";
import { paintPlaces } from "./places/places_paint.js";
import { placesLine, placesNotes, placesSaid, placesTable } from "./places/places_text.js";
import {
  ASIDE,
  drawnState,
  lastLock,
  leads,
  roomFor,
  type Scene,
  sceneOf,
  visibleOf,
} from "./scene.js";
import { arrangeBeside, paintNames, TITLE } from "./several/heads_side_by_side.js";
import {
  severalNotes,
  severalTable,
  severalTitle,
  shareOf,
  targetText,
} from "./several/several_text.js";
import { barsOfTwo, DIFFERENCE, differenceScale } from "./several/two_maps.js";
import { isPair } from "./source/target.js";
import { sizeOf } from "./source/window_of.js";
import type { ViewState } from "./state.js";
import { shownHeads } from "./view_shown.js";
import {
  captionOf,
  FIGURE,
  legendOf,
  linksListed,
  NO_SELECTION,
  secondOf,
  standsBeside,
  strongestOf,
  tableOf,
  title,
} from "./view_text.js";

/**
 * Largest number of tokens that a picture draws completely; a longer input shows as many as a page.
 */
const MOST_WHOLE = 60;
/** Number of strongest links that are listed. */
const LISTED = 8;
/** Key of head colors: size of a swatch, gap between entries, line height. */
const SWATCH = 10;
const GAP = 16;
const LINE = 18;

/** Draw one head as lines or as a matrix, or several heads. */
export const drawPicture: DrawPicture<ViewState> = (saved, request) => {
  const state = drawnState(saved);
  const sheet = new Sheet(request);
  const head = state.selected.at(-1);
  const model = state._source.model;
  const shown = head ? shownHeads(state, head, null).shown : null;
  if (!head || !shown) {
    sheet.title(FIGURE, model);
    // The error of a head without a map says why there is none.
    sheet.text(state._error || NO_SELECTION, { size: LABEL_SIZE, color: request.theme.text });
    const none = caption(FIGURE, {
      model,
      head: head ? wholeName(head, state) : NO_HEAD,
      notes: [state._error],
    });
    return { sheet, caption: none, table: { columns: ["from", "to", "weight"], rows: [] } };
  }
  const map = visibleOf(state, shown);
  const { several, quantity, unit } = shown;
  // Two compared attentions have their names above their maps.
  const named = several?.names ? shareOf(several) : "";
  sheet.title(
    several
      ? severalTitle(several, quantity, unit, state, state.scale)
      : title(head, quantity, unit, state, state.scale),
    named ? "" : model,
  );
  const room = roomFor(sheet.room, several);
  const scene = sceneOf(state, shown, map, {
    theme: request.theme,
    room,
    font: FONT,
    ruler: tableRuler,
    active: {},
    density: request.density,
    dense: request.dense,
    cropped: true,
  });
  const range = linesRange(scene);
  let drawing: string[] = [];
  if (map.rows.length * map.cols.length === 0)
    sheet.text(ALL_HIDDEN, { size: LABEL_SIZE, color: request.theme.text });
  else {
    drawing = drawHeads(sheet, scene);
    const row = lockedRow(scene);
    const { width, height } = curveSize(scene);
    if (row) sheet.place(width, height, (pen) => paintCurve(pen, scene, row));
    if (room < sheet.room) sheet.aside(ASIDE);
    // A minimap of the complete map would equal the figure, so draw it only for a part.
    if (hasMinimap(scene) && !isWhole(sizeOf(map), scene.part))
      sheet.place(MINIMAP, MINIMAP, (pen) => paintMinimap(pen, scene));
    readOut(sheet, scene);
    const { texts, words } = legendOf(scene, range, shown.quantity);
    const { ofMaps, ofDifference } = barsOfTwo(scene);
    if (ofMaps) sheet.colorBar(texts, words, barOf(scene));
    if (ofDifference)
      sheet.colorBar(
        differenceScale(scene.map, quantity).texts,
        DIFFERENCE,
        differenceBarOf(scene),
      );
    const second = secondOf(shown);
    if (second) sheet.text(second, { color: request.theme.second });
  }
  const words = captionOf(state, shown, scene.map, drawing, range);
  const said = scene.places ? placesSaid(scene) : [];
  sheet.notes(...words.notes.filter((note) => note !== named && !said.includes(note)));
  const inMatrix = several ? severalTable : (of: Scene) => tableOf(of, quantity);
  const table = scene.places ? placesTable(scene) : inMatrix(scene);
  return { sheet, caption: words, table };
};

/** Add the weight of a locked pair and the strongest links of a locked token. */
function readOut(sheet: Sheet, scene: Scene): void {
  const target = leads(scene);
  const style = { size: LABEL_SIZE, color: scene.theme.text, line: 16 };
  const asTarget = isPair(target) || scene.several ? targetText(scene, target) : "";
  const text = scene.places ? placesLine(scene) : asTarget;
  if (text) {
    sheet.text(text, style);
    sheet.gap();
  }
  const isSaid = scene.several || standsBeside(scene);
  for (const strongest of [isSaid ? undefined : strongestOf(scene), linksListed(scene)])
    if (strongest) readList(sheet, scene, strongest);
}

/** Add weights under a heading. */
function readList(
  sheet: Sheet,
  scene: Scene,
  strongest: NonNullable<ReturnType<typeof linksListed>>,
): void {
  const style = { size: LABEL_SIZE, color: scene.theme.text, line: 16 };
  sheet.text(strongest.of);
  const first = strongest.listed.slice(0, LISTED);
  const listed = first.map(({ label, weight }) => `${label} ${weight}`);
  // In a narrow column, each weight has its own line.
  for (const text of sheet.room <= ASIDE ? listed : [listed.join(" · ") || "nothing"])
    sheet.text(text, style);
  sheet.gap();
}

interface Entry {
  name: string;
  color: string;
  x: number;
  y: number;
}

/** Key of head colors, in as many lines as needed. */
interface ColorKey {
  entries: Entry[];
  width: number;
  height: number;
}

function headKey({ several, colors = [], ruler, font, state }: Scene, room: number): ColorKey {
  const measure = ruler(labelFont(font));
  const entries: Entry[] = [];
  let x = 0;
  let y = 0;
  let width = 0;
  for (const [i, head] of (several?.heads ?? []).entries()) {
    const name = shortName(head, state);
    const wide = SWATCH + 4 + measure(name);
    if (x > 0 && x + wide > room) [x, y] = [0, y + LINE];
    entries.push({ name, color: colors[i] ?? "", x, y });
    width = Math.max(width, x + wide);
    x += wide + GAP;
  }
  return { entries, width, height: y + LINE };
}

function paintKey(pen: Pen, { entries }: ColorKey, { theme, font }: Scene): void {
  pen.font = labelFont(font);
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  for (const { name, color, x, y } of entries) {
    pen.fillStyle = color;
    pen.fillRect(x, y + (LINE - SWATCH) / 2, SWATCH, SWATCH);
    pen.fillStyle = theme.text;
    pen.fillText(name, x + SWATCH + 4, y + LINE / 2);
  }
}

/** Drawing of one scene: its size, painter and notes. */
interface Drawing extends Record<"width" | "height", number> {
  paint(pen: Pen): void;
  notes: string[];
}

/** Draw the heads of a scene and return the caption notes. */
function drawHeads(sheet: Sheet, scene: Scene): string[] {
  const { several, state } = scene;
  if (several?.arrangement === "overlay") {
    const key = headKey(scene, sheet.room);
    sheet.place(key.width, key.height, (pen) => paintKey(pen, key, scene));
  }
  let drawing: Drawing;
  if (scene.places) drawing = placesDrawing(scene);
  else if (several?.arrangement === "beside") drawing = besideDrawing(sheet, scene);
  else if (state.mode === "matrix") drawing = matrixDrawing(scene, arrangeMatrix(scene));
  else
    drawing = linesDrawing(
      sheet,
      scene,
      sight(scene, (...at) => arrangeLines(scene, ...at)),
    );
  sheet.figure(drawing.width, drawing.height, drawing.paint);
  return [...severalNotes(scene), ...drawing.notes, ...tiledNotes(scene)];
}

/** Return the layout in which the last locked token is visible. */
function sight(scene: Scene, arrange: (top: number, whole: boolean) => LinesLayout): LinesLayout {
  const whole = Math.max(scene.map.rows.length, scene.map.cols.length) <= MOST_WHOLE;
  const first = arrange(0, whole);
  const { query, key } = lastLock(scene);
  const top = scrollToMiddle(first, query ?? key ?? 0);
  return top > 0 ? arrange(top, whole) : first;
}

function linesDrawing(sheet: Sheet, scene: Scene, at: LinesLayout): Drawing {
  const all = allLines(scene, at);
  const focused = focusedLines(scene, at);
  const lines = (pen: Pen) => {
    paintAllLines(pen, at, all, scene, focused ? FADED : 1);
    paintOverLines(pen, at, focused, scene);
  };
  const paint = (pen: Pen) => {
    paintHeadings(pen, at, scene);
    pen.translate(0, HEADING);
    if (at.part || at.fullHeight > at.height)
      sheet.pen.clipped(at.width, at.height, () => lines(pen));
    else lines(pen);
  };
  return {
    width: at.width,
    height: HEADING + at.height,
    paint,
    notes: linesNotes(at, all, scene),
  };
}

function placesDrawing(scene: Scene): Drawing {
  const all = arrangePlaces(scene);
  return {
    width: all.width,
    height: all.height,
    paint: (pen) => paintPlaces(pen, all, scene),
    notes: placesNotes(all, scene),
  };
}

function matrixDrawing(scene: Scene, at: MatrixLayout): Drawing {
  const paint = (pen: Pen) => {
    paintMatrix(pen, at, scene);
    paintMatrixLabels(pen, at, scene);
  };
  return { width: at.width, height: at.height, paint, notes: matrixNotes(at, scene) };
}

function besideDrawing(sheet: Sheet, scene: Scene): Drawing {
  let all = arrangeBeside(scene);
  if (scene.state.mode === "lines")
    sight(scene, (...at) => {
      all = arrangeBeside(scene, ...at);
      return all.panels[0]?.lines as LinesLayout;
    });
  const drawings = all.panels.map(({ scene: part, lines, matrix }) =>
    matrix ? matrixDrawing(part, matrix) : linesDrawing(sheet, part, lines as LinesLayout),
  );
  const paint = (pen: Pen) => {
    paintNames(pen, all, scene);
    for (const [i, { x, y }] of all.panels.entries()) {
      pen.save();
      pen.translate(x, y + TITLE);
      drawings[i]?.paint(pen);
      pen.restore();
    }
  };
  const notes = [...new Set(drawings.flatMap((drawing) => drawing.notes))];
  return { width: all.width, height: all.height, paint, notes };
}
