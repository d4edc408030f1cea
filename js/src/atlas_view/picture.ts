import { caption, keptRows } from "../shared/caption.js";
import { LABEL_SIZE, labelFont, tableRuler, write } from "../shared/labels.js";
import { percentText } from "../shared/percent_text.js";
import { type DrawPicture, FONT, Sheet } from "../shared/picture/sheet.js";
import {
  captionOf,
  cardSentences,
  cardTitle,
  type EffectRow,
  effectNote,
  effectRows,
  effectTitle,
  examplesOfName,
  FIGURE,
  IN_TEXT_TITLE,
  inTextCounts,
  inTextNote,
  isWhole,
  linksInText,
  MEANING,
  NO_CARD,
  NOTHING,
  NOTHING_IN_TEXT,
  RULE_TITLE,
  rowsText,
  ruleGroupText,
  ruleNote,
  ruleRows,
  SHARES_TITLE,
  scoreTexts,
  sharesNote,
  shownScores,
  tableOf,
  writesText,
} from "./card_text.js";
import { exampleLine } from "./example_line.js";
import { type AtlasLayout, layoutOf, SPACE, WEIGHT } from "./layout.js";
import {
  BAR_HEIGHT,
  EXAMPLE_BASE,
  EXAMPLE_HEIGHT,
  effectRange,
  paintEffect,
  paintExample,
  paintScore,
} from "./paint.js";
import {
  DISTANCES_HEIGHT,
  DISTANCES_NOTE,
  DISTANCES_TITLE,
  distancesText,
  distancesWidth,
  paintDistances,
} from "./paint_distances.js";
import { type BarRow, paintBarRows, paintRows, rowsHeight } from "./paint_rows.js";
import { paintShares, sharesHeight, WIDEST_SHARES } from "./paint_shares.js";
import { noteOf, rowsOf, shownRows } from "./rows.js";
import type { AtlasState, Card, Example } from "./state.js";

/** Distance of the kind of a link above its weight. */
const KIND_ABOVE = 16;
/** Largest number of table rows in a picture. */
const MOST_ROWS = 24;

/** Draw the table of heads, and the card of the selected head. */
export const drawPicture: DrawPicture<AtlasState> = (state, request) => {
  const sheet = new Sheet(request);
  const { theme, room } = sheet;
  const layout = layoutOf(room, state.table);
  const all = state._heads ? rowsOf(state._heads) : [];
  const rows = shownRows(all, state);
  const drawn = rows.slice(0, MOST_ROWS);
  const said = captionOf(state, rows, all.length);
  const cut = drawn.length < rows.length ? `, the first ${drawn.length} are drawn` : "";
  sheet.title(
    FIGURE,
    said.model,
    state.table ? rowsText(rows.length, all.length, state) + cut : "",
  );
  if (state.table) {
    const height = rowsHeight(drawn);
    sheet.figure(layout.table, height, (pen) =>
      paintRows(pen, theme, FONT, { rows: drawn, state, width: layout.table }),
    );
    if (!rows.length) sheet.text(NOTHING, { size: LABEL_SIZE, color: theme.text });
    if (layout.isWide) sheet.aside(room - layout.table - SPACE);
    else sheet.gap();
  }
  if (state._card) drawCard(sheet, state, state._card, layout);
  else sheet.text(NO_CARD, { size: LABEL_SIZE, color: theme.text });
  sheet.under();
  sheet.gap();
  sheet.notes(state._source.note, ...MEANING);
  const [table, note] = keptRows(tableOf(rows), request.brief);
  return { sheet, caption: caption(FIGURE, { ...said, notes: [...said.notes, note] }), table };
};

function drawCard(sheet: Sheet, state: AtlasState, card: Card, layout: AtlasLayout): void {
  const { theme } = sheet;
  const heading = { bold: true, color: theme.text, line: 18 };
  const words = { size: LABEL_SIZE, color: theme.text, line: 16 };
  const bars = (rows: BarRow[]) =>
    sheet.place(layout.column, BAR_HEIGHT * rows.length, (pen) =>
      paintBarRows(pen, theme, FONT, { rows, layout, height: BAR_HEIGHT }),
    );
  sheet.text(cardTitle(card), { ...heading, size: 13 });
  for (const text of cardSentences(card)) sheet.text(text, words);
  const note = noteOf(card.head, state.notes);
  if (note) for (const line of `Note: ${note}`.split("\n")) sheet.text(line, words);
  sheet.gap();
  drawShares(sheet, card, layout);
  drawDistances(sheet, card);
  if (!isWhole(card, state)) return;
  const effectBars = (rows: EffectRow[], range: [number, number]) =>
    bars(
      rows.map((row) => ({
        label: row.label,
        isBold: false,
        numbers: [row.text, ""],
        paint: (pen) => paintEffect(pen, theme, row, range, layout.bar),
      })),
    );
  if (card.rule) {
    const rows = card.rule.groups.map(ruleRows);
    sheet.text(RULE_TITLE, heading);
    sheet.text(card.rule.coverage, words);
    for (const [number, group] of card.rule.groups.entries()) {
      sheet.text(ruleGroupText(group), words);
      effectBars(rows[number] ?? [], effectRange(rows.flat()));
    }
    sheet.text(ruleNote(card.rule));
    sheet.gap();
  }
  if (card.effect) {
    const rows = effectRows(card.effect);
    sheet.text(effectTitle(card.effect), heading);
    effectBars(rows, effectRange(rows));
    sheet.text(effectNote(card.effect));
    sheet.gap();
  }
  sheet.text("scores", heading);
  bars(
    shownScores(card, state.all_scores).map((score) => ({
      label: score.behavior,
      isBold: score.names,
      numbers: scoreTexts(score),
      paint: (pen) => paintScore(pen, theme, score, layout.bar),
    })),
  );
  if (card.writes.length) {
    sheet.text("writes", heading);
    for (const item of card.writes) sheet.text(writesText(item), words);
    sheet.gap();
  }
  drawInText(sheet, card);
  drawExamples(sheet, state, card);
}

function drawInText(sheet: Sheet, { in_text }: Card): void {
  if (!in_text) return;
  if (!in_text.predictions) {
    sheet.text(NOTHING_IN_TEXT);
    sheet.gap();
    return;
  }
  const links = linksInText(in_text);
  drawExampleList(
    sheet,
    `${IN_TEXT_TITLE}: ${inTextCounts(in_text)}`,
    links.map(([, example]) => example),
    null,
    links.map(([kind]) => kind),
  );
  const note = inTextNote(in_text);
  if (note) sheet.text(note);
  sheet.gap();
}

function drawShares(sheet: Sheet, { shares }: Card, layout: AtlasLayout): void {
  if (!shares) return;
  const { theme } = sheet;
  const measure = tableRuler(labelFont(FONT));
  const width = Math.min(layout.card, WIDEST_SHARES);
  sheet.text(SHARES_TITLE, { bold: true, color: theme.text, line: 18 });
  sheet.place(width, sharesHeight(shares, width, measure), (pen) =>
    paintShares(pen, theme, FONT, { shares, width, measure }),
  );
  sheet.text(sharesNote(shares));
  sheet.gap();
}

function drawDistances(sheet: Sheet, { distances }: Card): void {
  if (!distances.length) return;
  const { theme } = sheet;
  sheet.text(`${DISTANCES_TITLE}: ${distancesText(distances)}`, {
    bold: true,
    color: theme.text,
    line: 18,
  });
  sheet.place(distancesWidth(distances), DISTANCES_HEIGHT, (pen) =>
    paintDistances(pen, theme, distances),
  );
  sheet.text(DISTANCES_NOTE);
  sheet.gap();
}

function drawExamples(sheet: Sheet, state: AtlasState, card: Card): void {
  const { examples, n_examples } = state;
  for (const [kind, few] of examplesOfName(card, examples))
    drawExampleList(sheet, `examples of the name: ${kind}`, few, null);
  const shown = (card.examples[examples] ?? []).slice(0, n_examples);
  if (shown.length) drawExampleList(sheet, `examples: ${examples}`, shown, state.example);
}

function drawExampleList(
  sheet: Sheet,
  title: string,
  shown: readonly Example[],
  opened: number | null,
  kinds: readonly string[] = [],
): void {
  const { theme, room } = sheet;
  const measure = tableRuler(labelFont(FONT));
  sheet.text(title, { bold: true, color: theme.text, line: 18 });
  sheet.place(room, EXAMPLE_HEIGHT * shown.length, (pen) => {
    for (const [number, example] of shown.entries()) {
      const isOpen = number === opened;
      pen.save();
      pen.font = labelFont(FONT, isOpen);
      pen.textBaseline = "middle";
      const color = isOpen ? theme.accent : theme.muted;
      write(pen, percentText(example.weight), [0, EXAMPLE_BASE], color);
      write(pen, kinds[number] ?? "", [0, EXAMPLE_BASE - KIND_ABOVE], color);
      pen.translate(WEIGHT + 2, 0);
      paintExample(pen, theme, FONT, exampleLine(example, measure, room - WEIGHT - 4));
      pen.restore();
      pen.translate(0, EXAMPLE_HEIGHT);
    }
  });
}
