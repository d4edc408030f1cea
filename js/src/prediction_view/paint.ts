import { type Cell, corner, outline } from "../shared/cells.js";
import { diverging, NO_CHANGE } from "../shared/color.js";
import { paintBar, strip } from "../shared/color_bar.js";
import { cssWord } from "../shared/color_levels.js";
import { AXIS_LABEL_SIZE, drawToken, labelFont, shorten, write } from "../shared/labels.js";
import type { Pen } from "../shared/pen.js";
import { paintLayerAnswers } from "./layer_answers.js";
import { mapTitle } from "./prediction_text.js";
import { effectAt, effectPrinter, GAP, HEADER, NUMBERS, type Scene } from "./scene.js";

const LINE = 10;
const BAR = 12;
const THIN = 9;
const BETWEEN = 2;
const MARK = 8;
/** Opacity of the earlier values, which keeps a contrast of 3:1. */
const PALE = 0.7;
const HATCH = 6;
/** Cell size from which a cell can show a sign. */
const SIGNED = 12;

/** Cells under the pointer and the keyboard cursor. */
interface Pointer {
  hovered: Cell | undefined;
  focused: Cell | undefined;
}
const NOWHERE: Pointer = { hovered: undefined, focused: undefined };

/** Draw the bars of the answers, and the map of heads. */
export function paintPredictions(pen: Pen, scene: Scene, pointer = NOWHERE): void {
  pen.textBaseline = "middle";
  pen.direction = "ltr";
  paintBars(pen, scene);
  paintMap(pen, scene, pointer);
  if (scene.layers) paintLayerAnswers(pen, scene.layers, scene);
}

function paintBars(pen: Pen, scene: Scene): void {
  const { bars, row, start, longest, columns, theme, font, isEdited } = scene;
  pen.font = labelFont(font, false, AXIS_LABEL_SIZE);
  for (const [i, { name, right }] of columns.entries()) {
    write(pen, name, [right, LINE], theme.muted, "right");
    if (!isEdited || i > 1) continue;
    const x = right - pen.measureText(name).width - MARK - 4;
    pen.fillStyle = i ? theme.accent : theme.muted;
    pen.globalAlpha = i ? 1 : PALE;
    pen.fillRect(x, LINE - MARK / 2, MARK, MARK);
    pen.globalAlpha = 1;
  }
  for (const [i, { answer, before, after, followed, texts }] of bars.entries()) {
    const middle = HEADER + (i + 0.5) * row;
    pen.font = labelFont(font, followed);
    pen.fillStyle = theme.text;
    drawToken(pen, answer, start - GAP, middle, "right", start - GAP);
    const long = (share: number) => Math.max(share ? 1 : 0, longest * share);
    pen.fillStyle = isEdited ? theme.muted : theme.accent;
    if (isEdited) {
      pen.globalAlpha = PALE;
      pen.fillRect(start, middle - BETWEEN / 2 - THIN, long(before), THIN);
      pen.globalAlpha = 1;
      pen.fillStyle = theme.accent;
      pen.fillRect(start, middle + BETWEEN / 2, long(after), THIN);
    } else pen.fillRect(start, middle - BAR / 2, long(before), BAR);
    for (const [n, text] of texts.entries()) {
      const strong = isEdited && n === 2;
      pen.font = labelFont(font, strong && followed);
      write(
        pen,
        text,
        [columns[n]?.right ?? 0, middle],
        strong || followed ? theme.text : theme.muted,
        "right",
      );
    }
  }
  pen.fillStyle = theme.hairline;
  pen.fillRect(start - 1, HEADER, 1, bars.length * row);
}

function paintMap(pen: Pen, scene: Scene, { hovered, focused }: Pointer): void {
  const {
    map,
    theme,
    values,
    reach,
    mapLeft,
    mapTop,
    mapWidth,
    font,
    effects,
    selected,
    disabled,
  } = scene;
  const { cell, rows, cols } = map;
  const table = diverging(theme);
  pen.font = labelFont(font, true, AXIS_LABEL_SIZE);
  const measure = (text: string) => pen.measureText(text).width;
  write(pen, shorten(measure, mapTitle(scene), mapWidth), [mapLeft, mapTop + LINE], theme.text);
  for (let row = 0; row < rows; row++)
    for (let col = 0; col < cols; col++) {
      const effect = effectAt(scene, [row, col]);
      if (Number.isNaN(effect)) continue;
      const share = effect === undefined || !reach ? 0 : effect / reach;
      pen.fillStyle = cssWord(table[Math.round(NO_CHANGE * (1 + share) - share)]);
      const [x, y] = corner(map, [row, col]);
      pen.fillRect(x, y, cell, cell);
      // Forced colors have no hues, so print the sign.
      if (theme.forced && effect && cell >= SIGNED) {
        pen.font = labelFont(font, true, AXIS_LABEL_SIZE);
        write(
          pen,
          effect < 0 ? "−" : "+",
          [x + cell / 2, y + cell / 2],
          Math.abs(share) > 0.5 ? theme.background : theme.text,
          "center",
        );
      }
    }
  if (!values || effects?.estimate) hatch(pen, scene);
  for (const at of disabled) strike(pen, scene, at);
  for (const at of selected) {
    outline(pen, map, at, theme.background, 1, 0);
    outline(pen, map, at, theme.accent, 2, 1);
  }
  if (hovered) outline(pen, map, hovered, theme.text, 1, 0.5);
  if (focused) {
    outline(pen, map, focused, theme.background, 4, 1);
    outline(pen, map, focused, theme.text, 2, 1);
  }
  paintNames(pen, scene, hovered ?? focused);
  if (values) paintScale(pen, scene, table);
}

/** Hatch the map with lines of background color, if its values are not exact. */
function hatch(pen: Pen, { map, theme }: Scene): void {
  const { x0, y0, cell, rows, cols } = map;
  const width = cols * (cell + 1) - 1;
  const height = rows * (cell + 1) - 1;
  pen.beginPath();
  for (let c = HATCH; c < width + height; c += HATCH) {
    const from = Math.max(0, c - height);
    const to = Math.min(width, c);
    pen.moveTo(x0 + from, y0 + c - from);
    pen.lineTo(x0 + to, y0 + c - to);
  }
  pen.strokeStyle = theme.background;
  pen.lineWidth = 1.5;
  pen.stroke();
}

/** Draw a cross over a head that is off. */
function strike(pen: Pen, { map, theme }: Scene, at: Cell): void {
  const [x, y] = corner(map, at);
  const near = 2;
  const far = map.cell - 2;
  pen.beginPath();
  for (const [from, to] of [
    [near, far],
    [far, near],
  ] as const) {
    pen.moveTo(x + near, y + from);
    pen.lineTo(x + far, y + to);
  }
  pen.strokeStyle = theme.text;
  pen.lineWidth = 1.5;
  pen.stroke();
}

function paintNames(
  pen: Pen,
  { map, theme, font, mapTop, selected }: Scene,
  at: Cell | undefined,
): void {
  const { cell, rows, cols } = map;
  const step = (size: number) =>
    [1, 2, 5, 10, 20].find((every) => every * (cell + 1) >= size) ?? 50;
  const cells = at ? [...selected.slice(-1), at] : selected.slice(-1);
  const marked = (side: 0 | 1) => new Set(cells.map((cell) => cell[side]));
  const name = (text: string, place: [number, number], strong: boolean, align: CanvasTextAlign) => {
    pen.font = labelFont(font, strong, AXIS_LABEL_SIZE);
    write(pen, text, place, strong ? theme.text : theme.muted, align);
  };
  const across = step(16);
  const heads = marked(1);
  const nearHead = (col: number) =>
    [...heads].some((other) => other !== col && Math.abs(other - col) < across);
  const line = mapTop + HEADER + NUMBERS / 2;
  name("head", [map.x0 - GAP, line], false, "right");
  for (let col = 0; col < cols; col++)
    if (heads.has(col) || (col % across === 0 && !nearHead(col)))
      name(String(col), [corner(map, [0, col])[0] + cell / 2, line], heads.has(col), "center");
  const down = step(12);
  const layers = marked(0);
  const nearLayer = (row: number) =>
    [...layers].some((other) => other !== row && Math.abs(other - row) < down);
  for (let row = 0; row < rows; row++)
    if (layers.has(row) || (row % down === 0 && !nearLayer(row)))
      name(
        row ? String(row) : "layer 0",
        [map.x0 - GAP, corner(map, [row, 0])[1] + cell / 2],
        layers.has(row),
        "right",
      );
}

/** Draw the range of the colors, and the meaning of each end. */
function paintScale(pen: Pen, scene: Scene, table: Uint32Array): void {
  const { map, reach, theme, font, mapLeft, mapWidth, effects } = scene;
  const top = map.y0 + map.rows * (map.cell + 1) + GAP;
  const left = mapLeft;
  const width = mapWidth - 4;
  paintBar(pen, strip(table), left, top, width, 8);
  pen.strokeStyle = theme.hairline;
  pen.lineWidth = 1;
  pen.strokeRect(left - 0.5, top - 0.5, width + 1, 9);
  pen.font = labelFont(font, false, AXIS_LABEL_SIZE);
  const line = top + 18;
  const print = effectPrinter(scene);
  const [less, more] = effects?.versus
    ? [`for “${effects.versus}”`, `for “${effects.name}”`]
    : ["less likely", "more likely"];
  const fitted = (text: string) =>
    effects?.versus ? shorten((part) => pen.measureText(part).width, text, width / 2 - GAP) : text;
  write(pen, fitted(`${print(-reach)} ${less}`), [left, line], theme.muted);
  write(pen, "0", [left + width / 2, line], theme.muted, "center");
  write(pen, fitted(`${more} ${print(reach)}`), [left + width, line], theme.muted, "right");
}
