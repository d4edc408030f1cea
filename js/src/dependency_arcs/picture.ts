import { caption } from "../shared/caption.js";
import { barTexts } from "../shared/color_bar.js";
import { AXIS_LABEL_SIZE, LABEL_SIZE, tableRuler } from "../shared/labels.js";
import { type DrawPicture, FONT, Sheet } from "../shared/picture/sheet.js";
import { type Shape, shape } from "../shared/svg.js";
import type { Theme } from "../shared/theme.js";
import {
  centerOf,
  hangingIn,
  rowsOf,
  type Widths,
  WORD_SIZE,
  type WordRow,
  widthsIn,
} from "./arcs_layout.js";
import { matricesOf, paintMatrices } from "./distances_paint.js";
import {
  annotatedArcs,
  BASELINE,
  barAt,
  hangingHeight,
  LINE,
  pointing,
  predictedArcs,
  verdict,
} from "./paint.js";
import {
  captionOf,
  heldTexts,
  heldWord,
  type Scene,
  sceneOf,
  sharesOf,
  sourceTexts,
  tableOf,
} from "./scene.js";
import type { ArcsState } from "./state.js";
import { DISTANCES, edges } from "./structural_probe_answerer.js";

/** Space between two rows of words. */
const BETWEEN = 16;
/** Height of the marks above and below the held word. */
const MARK = 2;
/** Bars are translucent, because arcs end inside them. */
const BAR_OPACITY = 0.35;

/** Draw a sentence with its arcs. A picture cannot scroll, so a long sentence breaks into rows. */
export const drawPicture: DrawPicture<ArcsState> = (state, request) => {
  const sheet = new Sheet(request);
  const { theme } = request;
  const scene = sceneOf(state);
  if (!scene)
    return { sheet, caption: caption("Dependency arcs"), table: { columns: [], rows: [] } };
  const said = captionOf(scene, request.brief);
  sheet.title(scene.title, scene.rightness, sourceTexts(scene).join(" · "));
  const { problem } = scene.drawn;
  if (problem) sheet.text(problem, { size: LABEL_SIZE, color: theme.text, line: 16 });
  else {
    const widths = widthsIn(tableRuler, FONT);
    const rows = rowsOf(scene.tree, widths, sheet.room);
    const drawn: Shape[] = [];
    let y = 0;
    for (const row of rows) {
      if (y) y += BETWEEN;
      const { shapes, height } = drawRow(row, scene, widths, theme);
      drawn.push(shape("g", { transform: `translate(0 ${y})` }, shapes));
      y += height;
    }
    const across = Math.max(0, ...rows.map((row) => row.across));
    sheet.figure(Math.ceil(across), y, () => sheet.pen.add(...drawn));
    if (scene.answers) {
      let x = 5;
      const marks = scene.answerer.legend.flatMap(([outcome, text]) => {
        const start = { x: x + 8, y: 11, fill: theme[outcome], "font-size": AXIS_LABEL_SIZE };
        const parts = [verdict(x, 7, outcome, theme), shape("text", start, text)];
        x += 32 + widths.relation(text);
        return parts;
      });
      sheet.place(x - 24, 14, () => sheet.pen.add(...marks));
      const bars = heldWord(scene) === undefined ? "" : scene.answerer.barsOf(state);
      if (bars) sheet.text(`bars: ${bars}`);
      for (const text of heldTexts(scene))
        sheet.text(text, { size: LABEL_SIZE, color: theme.text, line: 16 });
    }
    drawMatrices(sheet, scene);
  }
  return { sheet, caption: said, table: tableOf(scene, request.brief) };
};

/** Draw the distances of a structural probe next to those of the tree. */
function drawMatrices(sheet: Sheet, scene: Scene): void {
  const matrices = matricesOf(scene, sheet.look);
  if (!matrices) return;
  sheet.gap();
  const { width, height } = matrices.layout;
  sheet.figure(width, height, (pen) => paintMatrices(pen, matrices, sheet.look, heldWord(scene)));
  sheet.colorBar(barTexts("linear", matrices.most, edges), DISTANCES);
}

/** Return a row of words with the arcs that end there. */
function drawRow(row: WordRow, scene: Scene, widths: Widths, theme: Theme) {
  const { tree, answers, shown } = scene;
  const word = heldWord(scene);
  const look = { y: row.height + BASELINE, fill: theme.text, "font-size": WORD_SIZE };
  const words = tree.words.slice(row.start, row.end).map((text, i) => {
    const x = centerOf(row, row.start + i);
    const fill = row.start + i === word ? theme.accent : look.fill;
    return shape("text", { x, ...look, fill, "text-anchor": "middle" }, text);
  });
  const bottom = row.height + LINE;
  if (word !== undefined && word >= row.start && word < row.end) {
    const width = row.widths[word - row.start] ?? 0;
    const across = { x: centerOf(row, word) - width / 2, width, height: MARK, fill: theme.accent };
    for (const y of [row.height - MARK, bottom]) words.push(shape("rect", { ...across, y }));
  }
  const shapes = [...pointing(annotatedArcs(row, scene, widths, theme), word), ...words];
  if (!answers) return { shapes, height: bottom };
  const hanging = hangingIn(tree, row, shown, widths);
  const transform = `translate(0 ${bottom})`;
  const shares = word === undefined ? [] : sharesOf(scene, word).slice(row.start, row.end);
  const bars = shares.map((share, i) =>
    shape("rect", {
      ...barAt(centerOf(row, row.start + i), share),
      fill: theme.accent,
      "fill-opacity": BAR_OPACITY,
    }),
  );
  shapes.push(
    shape("g", { transform }, [...bars, ...pointing(predictedArcs(hanging, theme), word)]),
  );
  return { shapes, height: bottom + hangingHeight(hanging) };
}
