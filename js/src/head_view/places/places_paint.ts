import { clamp } from "../../shared/clamp.js";
import { cssWord, levelOf } from "../../shared/color_levels.js";
import { paintPicture } from "../../shared/encoded_picture.js";
import { drawToken, labelFont, write } from "../../shared/labels.js";
import { type Pen, paintRaster, type Raster } from "../../shared/pen.js";
import { coverOf, groundOf, unseen } from "../../shared/places/picture_cover.js";
import type { Scene } from "../scene.js";
import { LEVELS, tablesOf } from "../several/head_colors.js";
import { paintNames } from "../several/heads_side_by_side.js";
import { picturesOf } from "./picture_files.js";
import {
  type Chip,
  headingFont,
  LABEL,
  type PlacesLayout,
  type PlacesPanel,
  type PlacesPanels,
  type Plate,
  type Spot,
  topOf,
} from "./places_layout.js";
import { chosenOf, pointedOf, type ShownRow } from "./shown_row.js";
import { paintSound } from "./sound_paint.js";

/** Multiple of the even share from which a token has an outline. */
export const OUTLINED = 3;
/** Smallest outlined weight: among many keys, three even shares are negligible. */
export const LEAST_OUTLINED = 0.01;
const DARK = "#000000";
const LIGHT = "#ffffff";

/** Return the brightness of a color, 0 to 255. */
const brightness = (word: number) =>
  0.2126 * (word & 255) + 0.7152 * ((word >> 8) & 255) + 0.0722 * ((word >> 16) & 255);

/** Return whether a value gets an outline. */
export const standsOut = (
  { state }: Pick<Scene, "state">,
  { values, even }: ShownRow,
  position: number,
): boolean => {
  const value = values[position] ?? 0;
  const least = state.quantity === "weights" ? LEAST_OUTLINED : 0;
  return (
    even !== undefined && value > 0 && value >= Math.max(least, OUTLINED * (even[position] ?? 1))
  );
};

/** Return the function from a value to its level in the color tables of a scene. */
function levels({ state, map }: Scene) {
  const level = levelOf(state.scale, map.maximum, map.signed);
  return (value: number) => (Number.isNaN(value) ? 0 : level(value));
}

/** Return the number of the overlaid head with the largest value; 0 for a single head. */
const headOf = ({ strongest }: ShownRow, position: number): number => strongest?.[position] ?? 0;

/** Return the cover of a picture in device pixels, so that regions meet without seams. */
function coverRaster(scene: Scene, { layout, row }: PlacesPanel, plate: Plate): Raster {
  const { theme, density, map, colors } = scene;
  const across = Math.max(1, Math.round(plate.width * density));
  const down = Math.max(1, Math.round(plate.height * density));
  const dark = unseen(theme);
  const words = new Uint32Array(across * down).fill(dark);
  const isPainted = layout.placed === row.painted;
  const tables = (colors ?? [undefined]).map((color) =>
    coverOf(theme, map.signed, theme.forced ? undefined : color),
  );
  const level = levels(scene);
  const [plain = new Uint32Array()] = tables;
  for (const { position, x, y, width, height } of plate.spots) {
    const value = isPainted ? (row.values[position] ?? Number.NaN) : 0;
    const table = tables[headOf(row, position)] ?? plain;
    const word = Number.isNaN(value) ? dark : (table[level(value)] ?? dark);
    const edge = (at: number) => Math.round(at * density);
    const [left, right] = [edge(x - plate.x), Math.min(across, edge(x + width - plate.x))];
    const bottom = Math.min(down, edge(y + height - plate.y));
    for (let line = edge(y - plate.y); line < bottom; line++)
      words.fill(word, line * across + left, line * across + right);
  }
  return { across, down, words };
}

type Edge = [x0: number, y0: number, x1: number, y1: number];

/** Return the edges around regions. An edge between two of the regions is left out. */
export function edgesRound(spots: Spot[]): Edge[] {
  const edges = new Map<string, Edge>();
  for (const { x, y, width, height } of spots)
    for (const edge of [
      [x, y, x + width, y],
      [x, y + height, x + width, y + height],
      [x, y, x, y + height],
      [x + width, y, x + width, y + height],
    ] as Edge[]) {
      const key = edge.map((at) => at.toFixed(2)).join();
      if (!edges.delete(key)) edges.set(key, edge);
    }
  return [...edges.values()];
}

/** Draw lines with a rim, so that they contrast with every picture. */
function rimmed(pen: Pen, color: string, rim: string, width: number, draw: () => void): void {
  for (const [style, line] of [
    [rim, width + 2],
    [color, width],
  ] as const) {
    pen.strokeStyle = style;
    pen.lineWidth = line;
    draw();
  }
}

/** Return a point limited to a plate with a margin, so that lines do not stick out. */
const inside = ({ x, y, width, height }: Plate, distance: number, atX: number, atY: number) =>
  [
    clamp(atX, x + distance, x + width - distance),
    clamp(atY, y + distance, y + height - distance),
  ] as const;

function paintOutlines(pen: Pen, scene: Scene, row: ShownRow, plate: Plate): void {
  const { forced, text, background } = scene.theme;
  const edges = edgesRound(plate.spots.filter(({ position }) => standsOut(scene, row, position)));
  if (!edges.length) return;
  // A sound is drawn on the background of the page, a picture on a dark one.
  const isOnPage = forced || plate.sound !== undefined;
  rimmed(pen, isOnPage ? text : LIGHT, isOnPage ? background : DARK, 1, () => {
    pen.beginPath();
    for (const [x0, y0, x1, y1] of edges) {
      pen.moveTo(...inside(plate, 1.5, x0, y0));
      pen.lineTo(...inside(plate, 1.5, x1, y1));
    }
    pen.stroke();
  });
}

/**
 * Return the line widths of the frames around selected and locked tokens and the token under the
 * pointer.
 */
function marksOf(scene: Scene, { row, layout }: PlacesPanel): Map<number, number> {
  const marks = new Map<number, number>();
  const { of, side } = chosenOf(scene);
  const isOneText = scene.places?.isOneText ?? false;
  const pointed = pointedOf(scene);
  if (pointed !== undefined && layout.placed === row.painted) marks.set(pointed, 1);
  if (layout.placed === row.painted)
    for (const locked of scene.locked[row.painted]) marks.set(locked, 2);
  if (of !== undefined && (isOneText || layout.placed === side)) marks.set(of, 2);
  return marks;
}

function paintMarks(pen: Pen, panel: PlacesPanel, plate: Plate): void {
  const { scene } = panel;
  const marks = marksOf(scene, panel);
  const { accent, background } = scene.theme;
  for (const { position, x, y, width, height } of plate.spots) {
    const line = marks.get(position);
    if (line === undefined) continue;
    const rim = scene.theme.forced || plate.sound ? background : LIGHT;
    const [left, top] = inside(plate, line / 2 + 1, x, y);
    const [right, bottom] = inside(plate, line / 2 + 1, x + width, y + height);
    rimmed(pen, accent, rim, line, () => pen.strokeRect(left, top, right - left, bottom - top));
    // A dot distinguishes a lock from an outline.
    if (line > 1 && Math.min(width, height) >= 8) {
      pen.fillStyle = accent;
      pen.fillRect(x + width / 2 - 2, y + height / 2 - 2, 4, 4);
    }
  }
}

function paintPlate(pen: Pen, panel: PlacesPanel, plate: Plate): void {
  const { scene, row, layout } = panel;
  const { medium, x, y, width, height, label } = plate;
  const { theme } = scene;
  if (label) {
    pen.font = headingFont(scene);
    pen.textBaseline = "middle";
    write(pen, label, [x, y - LABEL / 2], theme.muted);
  }
  if (plate.sound) paintSound(pen, panel, plate, plate.sound);
  else {
    paintPicture(pen, picturesOf(scene.state)[medium], groundOf(theme), x, y, width, height);
    paintRaster(pen, coverRaster(scene, panel, plate), x, y, width, height);
  }
  if (layout.placed === row.painted && !plate.sound?.steps) paintOutlines(pen, scene, row, plate);
  paintMarks(pen, panel, plate);
}

/** Draw a token next to the picture, on the color of its weight. */
function paintChip(pen: Pen, { scene, row }: PlacesPanel, chip: Chip): void {
  const { theme, font, size, locked, active, places, absent } = scene;
  const { side, position, text, x, y, width, height } = chip;
  const { of, side: chosenSide } = chosenOf(scene);
  const isPainted = side === row.painted;
  const value = isPainted ? (row.values[position] ?? Number.NaN) : Number.NaN;
  const table = tablesOf(scene).first;
  const at = LEVELS * headOf(row, position) + levels(scene)(value);
  const word = table[at] ?? 0;
  const isInked = isPainted && !Number.isNaN(value) && at % LEVELS !== 0;
  if (isInked) {
    pen.fillStyle = cssWord(word);
    pen.fillRect(x, y, width, height);
  }
  const isBright = brightness(word) > 125;
  const onInk = theme.forced
    ? at % LEVELS > 127
      ? theme.background
      : theme.text
    : isBright
      ? "#15151a"
      : LIGHT;
  const isChosen = position === of && (places?.isOneText || side === chosenSide);
  const isMarked = isChosen || locked[side].has(position);
  const isPointed =
    active[side] === position || (places?.isOneText && pointedOf(scene) === position);
  const isOut = isPainted && standsOut(scene, row, position);
  const line = isMarked ? 2 : isOut ? 1.5 : 1;
  pen.lineWidth = line;
  pen.strokeStyle = isMarked || isPointed ? theme.accent : isOut ? theme.text : theme.hairline;
  pen.strokeRect(x + line / 2, y + line / 2, width - line, height - line);
  if (isMarked) {
    pen.fillStyle = theme.accent;
    pen.fillRect(x + 2, y + height / 2 - 2, 4, 4);
  }
  pen.font = labelFont(font, false, size);
  const isMasked = (isPainted && Number.isNaN(value)) || absent?.[side].has(position);
  pen.fillStyle = isInked ? onInk : isMasked ? theme.muted : theme.text;
  const left = x + Math.max(4, (width - pen.measureText(text).width) / 2);
  drawToken(pen, text, left, y + height / 2, "left", width - 8);
}

function paintLayout(pen: Pen, panel: PlacesPanel): void {
  const { scene, layout } = panel;
  for (const plate of layout.plates) paintPlate(pen, panel, plate);
  pen.font = headingFont(scene);
  pen.textBaseline = "middle";
  for (const { text, x, y } of layout.headings) write(pen, text, [x, y], scene.theme.muted);
  for (const chip of layout.chips) paintChip(pen, panel, chip);
}

/** Draw every head with its name. */
export function paintPlaces(pen: Pen, all: PlacesPanels, scene: Scene): void {
  if (all.panels.some(({ name }) => name)) paintNames(pen, all, scene);
  for (const panel of all.panels) {
    pen.save();
    pen.translate(panel.x, topOf(panel));
    paintLayout(pen, panel);
    pen.restore();
  }
}

/** Return the tokens of a layout; tokens on top come last. */
export const elementsOf = (layout: PlacesLayout): Chip[] => [
  ...layout.plates.flatMap(({ spots, sound }) => {
    const regions = spots.map((spot) => ({ ...spot, side: layout.placed, text: "" }));
    return regions.concat(sound?.steps ?? []);
  }),
  ...layout.chips,
];
