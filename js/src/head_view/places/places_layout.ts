import { clamp } from "../../shared/clamp.js";
import { shortName } from "../../shared/head_names.js";
import { AXIS_LABEL_SIZE, labelFont, labelOf, shorten } from "../../shared/labels.js";
import { counted } from "../../shared/numbers.js";
import type { Side } from "../../shared/types.js";
import type { WireArray } from "../../shared/wire.js";
import type { Scene } from "../scene.js";
import { type HeadPanel, TITLE } from "../several/heads_side_by_side.js";
import { absentIn, PLACES_OF_TWO } from "../several/two_maps.js";
import { directionOf, otherSide, type ShownRow, shownRow } from "./shown_row.js";
import { type Step, stairsHeight, stepsOf } from "./staircase.js";

export const GAP = 12;
const CHIP_GAP = 4;
/** Height of a chip, large enough for touch. */
const CHIP_HEIGHT = 24;
const CHIP_PADDING = 8;
const WIDEST_CHIP = 140;
/** Height of the name above each of several pictures. */
export const LABEL = 16;
const WIDEST = 520;
const TALLEST = 400;
const TALLEST_OF_SEVERAL = 280;
/** Least space on the right of the picture for tokens to be placed there. */
const BESIDE = 168;
const WIDEST_BESIDE = 320;
/** Scale of a complete picture next to its tiles. */
const SMALLER = 0.4;
const WIDEST_SOUND = 960;
/** Heights of a waveform, of the weights below it, and of a time-frequency plane. */
const STRIP = 40;
const BAND = 32;
const PLANE = 160;
/** Space for the frequency labels of a plane. */
const HERTZ = 44;
/** Space for the time labels below a sound. */
const TIMES = 20;
const LEAST_PANEL = 200;
/**
 * Largest number of chips (tokens without a region). Of more tokens, only the strongest are drawn.
 */
const MOST_CHIPS = 300;

/** Region of a token on a picture. */
export interface Spot {
  position: number;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Data of a sound, besides the regions of its tokens. */
export interface SoundPlate {
  seconds: number;
  waveform: WireArray;
  /** Height of the waveform. */
  strip: number;
  /** Highest frequency of a time-frequency plane; 0 if spans cover all frequencies. */
  hertz: number;
  /** Rows of the words that a decoder writes; absent if a single row is painted. */
  steps?: Step[];
}

/** Picture or sound with its tokens. */
export interface Plate extends Omit<Spot, "position"> {
  medium: number;
  /**
   * Level of its regions: 0 for the smallest, 1 for a complete picture whose tiles have regions
   * too.
   */
  level: number;
  /** Name of the picture; "" for a single one. */
  label: string;
  spots: Spot[];
  sound?: SoundPlate;
}

/** Token without a region. */
export interface Chip extends Spot {
  side: Side;
  text: string;
}

/** Layout of pictures and tokens in CSS pixels. */
export interface PlacesLayout extends Record<"width" | "height", number> {
  /** Side whose regions are drawn. */
  placed: Side;
  plates: Plate[];
  chips: Chip[];
  /** Headings of groups of chips, with their positions. */
  headings: { text: string; x: number; y: number }[];
  /** Number of tokens without a region that are not drawn. */
  leftOut: number;
}

/** Panel of one head, with a name if there are several. */
export interface PlacesPanel extends HeadPanel {
  row: ShownRow;
  layout: PlacesLayout;
}

export interface PlacesPanels extends Record<"width" | "height", number> {
  panels: PlacesPanel[];
}

/** Return the visible positions of a side as indices of the complete axis. */
export const indicesOf = ({ map }: Scene, side: Side): number[] =>
  side === "query" ? map.rows : map.cols;

/** Return the side whose regions are drawn: the painted side if it has regions. */
function placedSide({ places, ...scene }: Scene): Side {
  const painted = otherSide(directionOf(scene));
  return places?.[painted].some(Boolean) ? painted : otherSide(painted);
}

interface Group {
  medium: number;
  level: number;
  positions: number[];
}

/** Return the tokens of each picture and level: pictures in order, the smallest regions first. */
function groupsOf(scene: Scene, side: Side): Group[] {
  const groups = new Map<string, Group>();
  const { places } = scene;
  for (const [position, index] of indicesOf(scene, side).entries()) {
    const place = places?.[side][index];
    if (!place) continue;
    const level = places?.levels[side][index] ?? 0;
    const key = `${place.medium} ${level}`;
    const group = groups.get(key) ?? { medium: place.medium, level, positions: [] };
    group.positions.push(position);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => a.medium - b.medium || a.level - b.level);
}

/** Return the name of a picture; "" for a single picture. */
function plateName({ medium, level }: Plate, plates: Plate[]): string {
  const media = new Set(plates.map((plate) => plate.medium));
  const isTiled = plates.some((plate) => plate.medium === medium && plate.level > 0);
  const pictures = plates.filter(({ sound }) => !sound);
  const first = new Set(pictures.map((plate) => plate.medium)).size;
  const isSound = plates.some((plate) => plate.medium === medium && plate.sound);
  const names = [
    media.size > 1 ? (isSound ? `sound ${medium + 1 - first}` : `picture ${medium + 1}`) : "",
    isTiled ? (level > 0 ? "whole" : "tiles") : "",
  ];
  return names.filter(Boolean).join(", ");
}

/** Return pictures in rows, each complete picture next to its tiles, and sounds below them. */
function platesIn(scene: Scene, side: Side, room: number, tallest: number): Plate[] {
  const groups = groupsOf(scene, side);
  const pictures = scene.state._media?.pictures ?? [];
  const large = groups.filter(({ level, medium }) => level === 0 && pictures[medium]).length;
  const isTiled = groups.some(({ level }) => level > 0);
  const columns = clamp(Math.floor((room + GAP) / (LEAST_PANEL + GAP)), 1, large);
  const share = (room - GAP * (columns - 1)) / columns;
  const widest = Math.min(WIDEST, isTiled ? (share - GAP) / (1 + SMALLER) : share);
  const plates: Plate[] = [];
  const top = groups.length > 1 ? LABEL : 0;
  let [x, y, lowest] = [0, 0, 0];
  for (const { medium, level, positions } of groups) {
    const picture = pictures[medium];
    if (!picture) continue;
    const scale =
      Math.min(widest / picture.width, tallest / picture.height) * (level > 0 ? SMALLER : 1);
    const width = Math.round(picture.width * scale);
    const height = Math.round(picture.height * scale);
    if (x > 0 && x + width > room) [x, y] = [0, lowest + GAP];
    const plate: Plate = { medium, level, label: "", x, y: y + top, width, height, spots: [] };
    plate.spots = positions.map((position) => spotOn(scene, plate, side, position));
    plates.push(plate);
    x += width + GAP;
    lowest = Math.max(lowest, plate.y + height);
  }
  for (const group of groups) {
    const plate = soundIn(scene, side, group, room, lowest > 0 ? lowest + GAP : 0);
    if (!plate) continue;
    plates.push(plate);
    lowest = plate.y + plate.height + TIMES;
  }
  for (const plate of plates) plate.label = plateName(plate, plates);
  return plates;
}

/** Return a sound as a strip of time or as a time-frequency plane; undefined for a picture. */
function soundIn(
  scene: Scene,
  side: Side,
  { medium, level, positions }: Group,
  room: number,
  top: number,
): Plate | undefined {
  const media = scene.state._media;
  const sound = media?.sounds[medium - media.pictures.length];
  if (!sound) return undefined;
  const indices = indicesOf(scene, side);
  const placeOf = (position: number) => scene.places?.[side][indices[position] ?? -1];
  const hertz = positions.reduce((most, at) => Math.max(most, placeOf(at)?.bottom || 0), 0);
  const x = hertz > 0 ? HERTZ : 0;
  const width = Math.round(Math.min(WIDEST_SOUND, room) - x);
  // The staircase of decoder words belongs to the first sound.
  const stairs =
    hertz === 0 && side === "key" && media?.sounds[0] === sound ? scene.stairs : undefined;
  const height = STRIP + (stairs ? stairsHeight(stairs) : hertz > 0 ? PLANE : BAND);
  // If there are several media, the name of a sound is above it.
  const y = top + ((media?.sounds.length ?? 0) + (media?.pictures.length ?? 0) > 1 ? LABEL : 0);
  const { seconds, waveform } = sound;
  const plate: Plate = { medium, level, label: "", x, y, width, height, spots: [] };
  plate.sound = { seconds, waveform, strip: STRIP, hertz };
  if (stairs) plate.sound.steps = stepsOf(scene, stairs, plate, y + STRIP);
  plate.spots = positions.flatMap((position) => {
    const place = placeOf(position);
    // Skip padding, which lies behind the end of the sound.
    if (!place || place.left >= seconds) return [];
    const left = Math.max(0, place.left / seconds) * width;
    const right = Math.min(1, place.right / seconds) * width;
    const [low, high] =
      hertz > 0 && !Number.isNaN(place.bottom)
        ? [height - (PLANE * place.top) / hertz, height - (PLANE * place.bottom) / hertz]
        : [height, hertz > 0 ? STRIP : 0];
    return [{ position, x: x + left, y: y + high, width: right - left, height: low - high }];
  });
  return plate;
}

function spotOn(scene: Scene, plate: Plate, side: Side, position: number): Spot {
  const place = scene.places?.[side][indicesOf(scene, side)[position] ?? -1];
  const picture = scene.state._media?.pictures[plate.medium];
  if (!place || !picture) return { position, x: 0, y: 0, width: 0, height: 0 };
  const across = plate.width / picture.width;
  const down = plate.height / picture.height;
  const inside = (at: number, end: number) => clamp(at, 0, end);
  const left = inside(place.left * across, plate.width);
  const top = inside(place.top * down, plate.height);
  return {
    position,
    x: plate.x + left,
    y: plate.y + top,
    width: inside(place.right * across, plate.width) - left,
    height: inside(place.bottom * down, plate.height) - top,
  };
}

/**
 * Return the positions of a side's tokens without a region, limited to the strongest, and the
 * number of tokens left out.
 */
function chipPositions(scene: Scene, side: Side, values?: Float32Array): [number[], number] {
  const { places } = scene;
  const { special } = scene.axes[side];
  // Padding is silence or empty pixels, so it has no chip; the line of words reports its share.
  const all = [...indicesOf(scene, side).entries()].flatMap(([position, index]) =>
    places?.[side][index] || special[index] === "padding" ? [] : [position],
  );
  if (all.length <= MOST_CHIPS) return [all, 0];
  const weight = (position: number) => Math.abs(values?.[position] || 0);
  const always = new Set([...scene.locked[side], places?.start ?? -1]);
  const strongest = all.toSorted(
    (a, b) => Number(always.has(b)) - Number(always.has(a)) || weight(b) - weight(a),
  );
  const kept = strongest.slice(0, MOST_CHIPS).sort((a, b) => a - b);
  return [kept, all.length - kept.length];
}

/** Lay out tokens in lines from (x, y) on; also return the bottom of the last line. */
function flow(
  scene: Scene,
  side: Side,
  positions: number[],
  [left, top, room]: [x: number, y: number, room: number],
): { chips: Chip[]; bottom: number } {
  const measure = scene.ruler(labelFont(scene.font, false, scene.size));
  const indices = indicesOf(scene, side);
  const chips: Chip[] = [];
  let [x, y] = [left, top];
  for (const position of positions) {
    const most = Math.min(WIDEST_CHIP, room) - 2 * CHIP_PADDING;
    const index = indices[position] ?? 0;
    const written = side === "query" ? writtenLabel(scene, index) : undefined;
    const text = shorten(measure, written ?? labelOf(scene.axes[side], index), most);
    const width = Math.ceil(Math.max(CHIP_HEIGHT, measure(text) + 2 * CHIP_PADDING));
    if (x > left && x + width > left + room) [x, y] = [left, y + CHIP_HEIGHT + CHIP_GAP];
    chips.push({ side, position, text, x, y, width, height: CHIP_HEIGHT });
    x += width + CHIP_GAP;
  }
  return { chips, bottom: chips.length ? y + CHIP_HEIGHT : top };
}

/** Return the layout of the pictures and tokens of one head. */
function placesLayout(scene: Scene, row: ShownRow, tallest: number): PlacesLayout {
  const { room, places } = scene;
  const placed = placedSide(scene);
  const plates = platesIn(scene, placed, room, tallest);
  const right = Math.max(0, ...plates.map(({ x, width }) => x + width));
  const below = Math.max(
    0,
    ...plates.map(({ y, height, sound }) => y + height + (sound ? TIMES : 0)),
  );
  const left = room - right - GAP >= BESIDE && plates.length > 0 ? right + GAP : 0;
  const width = left > 0 ? Math.min(WIDEST_BESIDE, room - left) : room;
  // The rows of a staircase represent the written words, so they need no chips.
  const hasSteps = plates.some(({ sound }) => sound?.steps);
  const sides: Side[] = places?.isOneText ? [row.painted] : hasSteps ? ["key"] : ["query", "key"];
  const layout: PlacesLayout = {
    placed,
    plates,
    chips: [],
    headings: [],
    leftOut: 0,
    width: right,
    height: below,
  };
  let y = left > 0 || plates.length === 0 ? 0 : below + GAP;
  for (const side of sides) {
    const values = side === row.painted ? row.values : undefined;
    const [positions, leftOut] = chipPositions(scene, side, values);
    layout.leftOut += leftOut;
    if (!positions.length) continue;
    if (sides.length > 1) {
      const isWritten = side === "query" && places?.writes;
      const from = isWritten ? "rows, by what each writes" : "from";
      const text = `${side === "query" ? from : "to"}: ${counted(positions.length, "token")}`;
      layout.headings.push({ text, x: left, y: y + LABEL / 2 });
      y += LABEL;
    }
    const { chips, bottom } = flow(scene, side, positions, [left, y, width]);
    layout.chips.push(...chips);
    y = bottom + GAP;
  }
  const end = Math.max(0, ...layout.chips.map((chip) => chip.y + chip.height));
  layout.width = Math.max(right, ...layout.chips.map((chip) => chip.x + chip.width));
  layout.height = Math.max(below, end);
  return layout;
}

/** Return the panels of one head, or of several heads side by side. */
export function arrangePlaces(scene: Scene): PlacesPanels {
  const { map, several, room, state } = scene;
  if (several?.arrangement !== "beside") {
    const row = shownRow(scene);
    const layout = placesLayout(scene, row, TALLEST);
    const { width, height } = layout;
    const panel = { scene, name: "", x: 0, y: 0, middle: width / 2, width, height, row, layout };
    return { panels: [panel], width, height };
  }
  const drawn = several.names && PLACES_OF_TWO[state.comparison_part];
  const members = [...(map.members ?? []).entries()].filter(
    ([place]) => !drawn || drawn.includes(place),
  );
  const most = Math.max(1, Math.floor((room + GAP) / (LEAST_PANEL + GAP)));
  const columns = Math.ceil(members.length / Math.ceil(members.length / most));
  const share = Math.floor((room - GAP * (columns - 1)) / columns);
  const panels: PlacesPanel[] = [];
  let [y, below, widest] = [0, 0, 0];
  for (const [i, member] of members) {
    const column = panels.length % columns;
    if (column === 0 && panels.length > 0) y = below + GAP;
    const part: Scene = { ...scene, map: member, several: undefined, room: share, slim: true };
    if (several.names) part.absent = absentIn(i, scene.axes, member);
    const row = shownRow(part);
    const layout = placesLayout(part, row, TALLEST_OF_SEVERAL);
    const head = several.heads[i];
    const x = column * (share + GAP);
    const { width, height } = layout;
    const plates = Math.max(0, ...layout.plates.map((plate) => plate.x + plate.width));
    panels.push({
      scene: part,
      name: several.names?.[i] ?? (head ? shortName(head, state) : ""),
      x,
      y,
      middle: (plates || width) / 2,
      width,
      height: TITLE + height,
      row,
      layout,
    });
    below = Math.max(below, y + TITLE + height);
    widest = Math.max(widest, x + width);
  }
  return { panels, width: widest, height: below };
}

/** Return the top of a panel's pictures, below its name if it has one. */
export const topOf = ({ name, y }: PlacesPanel): number => (name ? y + TITLE : y);

export const headingFont = ({ font }: Scene) => labelFont(font, false, AXIS_LABEL_SIZE);

/** Return the label of a row: the next token, which the row predicts; "…" for the last row. */
function writtenLabel({ axes, places }: Scene, index: number): string | undefined {
  if (!places?.writes) return undefined;
  const next = index + 1;
  return `→ ${next < axes.query.text.length ? labelOf(axes.query, next) : "…"}`;
}
