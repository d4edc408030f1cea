import { drawPicture as card } from "../atlas_view/picture.js";
import { drawPicture as arcs } from "../dependency_arcs/picture.js";
import { drawPicture as grid } from "../head_grid/picture.js";
import type { GridState } from "../head_grid/state.js";
import { drawPicture as headScatter } from "../head_scatter/picture.js";
import { drawPicture as view } from "../head_view/picture.js";
import type { ViewState } from "../head_view/state.js";
import { drawPicture as why } from "../link_view/picture.js";
import { drawPicture as predictions } from "../prediction_view/picture.js";
import type { PredictionState } from "../prediction_view/state.js";
import { drawPicture as table } from "../relation_table/picture.js";
import { type Caption, caption, type Table } from "../shared/caption.js";
import {
  AXIS_LABEL_SIZE,
  inQuotes,
  LABEL_SIZE,
  labelFont,
  shorten,
  tableRuler,
} from "../shared/labels.js";
import { counted } from "../shared/numbers.js";
import { type Drawn, type DrawPicture, FONT, Sheet } from "../shared/picture/sheet.js";
import { answersHeight, paintAnswers } from "./answers_paint.js";
import { gridSides, leftWidth } from "./arrangement.js";
import { type ExplorerState, NO_PANELS, PANELS, type Panel, TITLES } from "./explorer_types.js";
import { paintWithScale } from "./head_strip/strip_paint.js";
import { SCALE_WIDTH, STRIP_HEIGHT, stripScene, stripText } from "./head_strip/strip_scene.js";
import { withLinkCut } from "./link/link_guess.js";
import { linkLines } from "./link/link_line.js";
import { lockedLink } from "./link/link_state.js";
import { withScaledLink } from "./link/scaled_reading.js";
import { isPair } from "./locks.js";
import { afterName, askedOf, type Guess, guessOf } from "./sentence/guess.js";
import { lineOf, lineText } from "./sentence/line.js";
import { paintSentence, sentencePicture } from "./sentence/paint.js";
import { type Reading, readingOf } from "./sentence/reading.js";
import { canAsk, needsLine, needsOf, type WordNeeds } from "./sentence/word_needs.js";
import { fitsSentence } from "./sentence/words.js";

/** State of an explorer with its visible panels and the predictions about the shown text. */
type Whole = ExplorerState & {
  _drawn: Partial<Record<Panel, { state: never }>>;
  _answers: PredictionState | null;
};

const FIGURES: Record<Panel, DrawPicture<never>> = {
  grid,
  view,
  head_scatter: headScatter,
  predictions,
  why,
  card,
  table,
  arcs,
};
const OWN_WIDTH = 1000;
const GAP = 32;
const TEXT_LINES = 2;
/** Font size and height of the line of words. */
const LINE_SIZE = 14;
const LINE_HEIGHT = 20;
const ANSWERS_WIDTH = 460;
const STRIP_WIDTH = 640;
/** Width from which a picture has two columns. */
const TWO_COLUMNS = 760;
const MOST_ROWS = 20;
/** Drawing all panels takes a second, so a display in the notebook shows only these two. */
const QUICK: Panel[] = ["grid", "view"];

/** Return rows of columns of panels: all heads next to one head, and the detail below. */
function rowsFor(width: number, shown: Panel[]): Panel[][][] {
  const details = shown.filter((name) => !QUICK.includes(name));
  const main = shown.filter((name) => QUICK.includes(name));
  const isOne = width < TWO_COLUMNS;
  return [...(isOne ? main.map((name) => [[name]]) : [main.map((name) => [name])]), [details]];
}

/** Return the texts of the picture: the line, and the model's guess in it. */
function said(state: Whole): {
  reading: Reading | undefined;
  guess: Guess | undefined;
  needs: WordNeeds | undefined;
  line: string;
} {
  const view = state._drawn.view?.state as ViewState | undefined;
  const grid = state._drawn.grid?.state as GridState | undefined;
  const predictions = state._answers ?? undefined;
  const screen = { explorer: state, grid, view, predictions, peeked: null, pointed: null };
  const read = view && readingOf({ ...screen, view });
  const link = lockedLink(read, predictions, state);
  const reading = withScaledLink(read, link);
  const guess = withLinkCut(reading && guessOf(reading, predictions), link, reading);
  const needs = canAsk(reading, guess) ? needsOf(guess, predictions) : undefined;
  if (!reading) return { reading, guess, needs, line: "" };
  const line =
    guess && needs
      ? needsLine(reading, guess, needs)
      : lineOf(reading, grid, guess, linkLines(reading, guess, link));
  return { reading, guess, needs, line: lineText(line) };
}

/** Draw the visible panels, arranged as on the page. */
export const drawPicture: DrawPicture<Whole> = (state, request) => {
  const whole = request.width ?? OWN_WIDTH;
  const sheet = new Sheet({ ...request, width: whole });
  const open = PANELS.filter((name) => state._drawn[name]);
  const quick = open.filter((name) => QUICK.includes(name));
  const shown = request.brief && quick.length ? quick : open;
  const drawn: Partial<Record<Panel, Drawn>> = {};
  const { reading, guess, needs, line } = said(state);
  const draw = (name: Panel, width: number): Sheet[] => {
    const panel = state._drawn[name];
    if (!panel) return [];
    // On the page the table scrolls, and its box shows the first rows.
    const brief = request.brief || name === "table";
    const childRequest = {
      ...request,
      width,
      brief,
      caption: false,
      letter: "",
      knownModel: state._source.model,
      rasters: sheet.rasters,
    };
    const made = FIGURES[name](panel.state, childRequest);
    drawn[name] = made;
    return [made.sheet];
  };
  const { text, pair, target, versus_text: other } = state._shown;
  const both = [text, pair, target, other && `compared with: ${other}`].filter(Boolean).join(" | ");
  const measure = tableRuler(labelFont(FONT, false, AXIS_LABEL_SIZE));
  const cut = shorten(measure, both, TEXT_LINES * (whole - 64));
  const count = cut === both ? "" : ` (${counted(state._stacks[0]?.n_query ?? 0, "token")})`;
  const isDrawn =
    reading && !reading.compared.length && fitsSentence(reading.words) && !request.brief;
  const { query, key } = reading?.axes ?? {};
  const input = query?.placed || key?.placed ? "attention" : "attention to a text";
  sheet.title(`${state._source.model}: ${input}`, isDrawn ? "" : cut + count);
  if (isDrawn) {
    const at = sentencePicture(reading, needs, sheet.room, FONT, tableRuler);
    sheet.place(at.width, at.height, (pen) => paintSentence(pen, at, reading, request.theme, FONT));
  }
  if (line) {
    sheet.text(line, { size: LINE_SIZE, color: request.theme.text, line: LINE_HEIGHT });
    sheet.gap();
  }
  if (!shown.length) sheet.text(NO_PANELS, { size: LABEL_SIZE, color: request.theme.text });
  for (const row of rowsFor(whole - 16, shown)) {
    const filled = row.filter((names) => names.length);
    if (!filled.length) continue;
    // All heads have the same share of the width as on the page.
    const left = leftWidth(whole, gridSides(state._stacks).columns);
    const rooms = filled.length > 1 ? [left, whole - GAP - left] : [whole];
    sheet.columns(
      filled.map((names, i) => names.flatMap((name) => draw(name, rooms[i] ?? whole))),
      filled.length > 1 ? GAP : 0,
    );
  }
  if (reading && guess && !request.brief) {
    const { lead, word, rest } = askedOf(guess, reading);
    const after = afterName(guess, reading.head);
    sheet.text(`${lead}${word && inQuotes(word)}${rest} says`, { bold: true });
    sheet.text(`gray: whole${after && `, blue: ${after}`}`);
    const across = Math.min(ANSWERS_WIDTH, sheet.room);
    sheet.place(across, answersHeight(guess), (pen) =>
      paintAnswers(pen, guess, across, request.theme, FONT, tableRuler),
    );
    if (!needs) placeStrip(sheet, state, reading, guess);
  }
  return {
    sheet,
    caption: captionOf(
      state,
      [line, stripNote(state, request.brief || needs ? undefined : guess)],
      shown,
      drawn,
    ),
    table: tableOf(state, line, drawn),
  };
};

/** Draw the strip of all heads below the answers. */
function placeStrip(sheet: Sheet, state: Whole, reading: Reading, guess: Guess): void {
  const effects = shownEffects(state, guess);
  if (!effects) return;
  const width = Math.min(STRIP_WIDTH, sheet.room);
  const room = { width: width - SCALE_WIDTH, look: sheet.look };
  const strip = stripScene(effects, reading.head, false, room);
  sheet.gap();
  sheet.place(width, STRIP_HEIGHT, (pen) => paintWithScale(pen, strip));
}

/** Return the effects of all heads on the answer; undefined if the picture does not show them. */
const shownEffects = ({ tokens }: Whole, guess: Guess | undefined) =>
  isPair(tokens) ? undefined : guess?.effects;

/** Return the note about the strip of all heads; "" without a strip. */
function stripNote(state: Whole, guess: Guess | undefined): string {
  const effects = shownEffects(state, guess);
  return effects ? `bars below the answers: ${stripText(effects)}` : "";
}

function captionOf(
  state: Whole,
  lines: string[],
  shown: Panel[],
  drawn: Partial<Record<Panel, Drawn>>,
): Caption {
  const names = (panels: Panel[]) => panels.map((name) => TITLES[name]);
  const notes = new Set(shown.map((name) => state._notes[name] ?? "").filter(Boolean));
  const noted = [...notes].map((note) => {
    const panels = shown.filter((name) => state._notes[name] === note);
    return `${names(panels).join(" and ")} ${note}`;
  });
  const { tab } = state;
  const isMissing = tab !== null && tab in state.progress && state.panels.includes(tab);
  const of = drawn.grid?.caption ?? drawn.view?.caption;
  const figureNotes = of?.notes ?? [];
  return caption("Attention to one input", {
    model: state._source.model,
    head: of?.head ?? "",
    quantity: of?.quantity ?? "",
    scale: of?.scale ?? "",
    notes: [
      ...lines,
      `panels: ${names(shown).join(", ") || "none"}`,
      ...noted,
      isMissing ? `not measured yet: ${TITLES[tab]}` : "",
      ...figureNotes,
    ],
  });
}

/** Return the table of the input, the heads, and the numbers of the shown head. */
function tableOf(state: Whole, line: string, drawn: Partial<Record<Panel, Drawn>>): Table {
  const { text, pair, target, versus_text: other } = state._shown;
  const input = {
    text,
    "second sentence": pair,
    target,
    "compared with": other,
    "to see": line,
    model: state._source.model,
  };
  const rows = Object.entries(input).flatMap(([name, value]) =>
    value ? [["input", name, value]] : [],
  ) as string[][];
  const heads = drawn.grid?.caption.head;
  if (heads) rows.push(["heads", "selected", heads]);
  const cells = ({ table: { columns, rows } }: Drawn, ...names: string[]) =>
    rows.map((row) => names.map((name) => row[columns.indexOf(name)] ?? ""));
  if (drawn.table)
    for (const [relation, head, share] of cells(drawn.table, "relation", "best head", "accuracy %"))
      rows.push(["best head", `${relation}`, `${head}: ${share}\u00a0%`]);
  return { columns: ["part", "name", "value"], rows: rows.slice(0, MOST_ROWS) };
}
