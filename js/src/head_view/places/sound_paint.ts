import { cssWord, levelOf } from "../../shared/color_levels.js";
import { AXIS_LABEL_SIZE, labelFont, write } from "../../shared/labels.js";
import { type Pen, paintRaster, type Raster } from "../../shared/pen.js";
import { asFloat32, type WireArray } from "../../shared/wire.js";
import type { Scene } from "../scene.js";
import { LEVELS, tablesOf } from "../several/head_colors.js";
import type { PlacesPanel, Plate, SoundPlate } from "./places_layout.js";
import { paintStaircase } from "./staircase.js";

/** Space in pixels for one label of the time axis. */
const TICK_ROOM = 56;
const TICK = 4;
const THOUSAND = 1000;

/** Return as many round times for an axis as there is room for. */
export function timesOn(seconds: number, width: number): number[] {
  const least = (seconds * TICK_ROOM) / Math.max(1, width);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((times) => times * power).find((each) => each >= least) ?? 1;
  const count = Math.floor(seconds / step + 1e-6);
  return Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(6)));
}

const waveforms = new WeakMap<WireArray, Float32Array>();

function waveformOf(wire: WireArray): Float32Array {
  const known = waveforms.get(wire) ?? asFloat32(wire);
  waveforms.set(wire, known);
  return known;
}

/** Return the weights of spans in device pixels. A pixel shows the largest of its spans. */
function weightsRaster({ scene, layout, row }: PlacesPanel, plate: Plate, top: number): Raster {
  const { density, state, map } = scene;
  const across = Math.max(1, Math.round(plate.width * density));
  const height = plate.height - top;
  const down = Math.max(1, Math.round(height * density));
  const words = new Uint32Array(across * down);
  if (layout.placed !== row.painted) return { across, down, words };
  const level = levelOf(state.scale, map.maximum, map.signed);
  const table = tablesOf(scene).first;
  const size = (position: number) => Math.abs(row.values[position] || 0);
  for (const { position, x, y, width, height } of plate.spots.toSorted(
    (a, b) => size(a.position) - size(b.position),
  )) {
    const value = row.values[position] ?? Number.NaN;
    if (Number.isNaN(value)) continue;
    const word = table[LEVELS * (row.strongest?.[position] ?? 0) + level(value)] ?? 0;
    const left = Math.min(across - 1, Math.round((x - plate.x) * density));
    const right = Math.min(across, Math.round((x + width - plate.x) * density));
    const bottom = Math.min(down, Math.round((y + height - plate.y - top) * density));
    for (let line = Math.max(0, Math.round((y - plate.y - top) * density)); line < bottom; line++)
      words.fill(word, line * across + left, line * across + Math.max(left + 1, right));
  }
  return { across, down, words };
}

function paintWaveform(pen: Pen, { theme }: Scene, plate: Plate, sound: SoundPlate): void {
  const samples = waveformOf(sound.waveform);
  const parts = samples.length / 2;
  const loudest = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0) || 1;
  const columns = Math.max(1, Math.round(plate.width));
  const middle = plate.y + sound.strip / 2;
  const reach = sound.strip / 2 - 2;
  pen.strokeStyle = theme.muted;
  pen.lineWidth = 1;
  pen.beginPath();
  for (let column = 0; column < columns; column++) {
    const first = Math.floor((column / columns) * parts);
    const end = Math.max(first + 1, Math.floor(((column + 1) / columns) * parts));
    let [high, low] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let part = first; part < end; part++) {
      high = Math.max(high, samples[2 * part] ?? 0);
      low = Math.min(low, samples[2 * part + 1] ?? 0);
    }
    const x = plate.x + column + 0.5;
    pen.moveTo(x, middle - (high / loudest) * reach - 0.25);
    pen.lineTo(x, middle - (low / loudest) * reach + 0.25);
  }
  pen.stroke();
}

function paintTimes(pen: Pen, { theme, font }: Scene, plate: Plate, sound: SoundPlate): void {
  const below = plate.y + plate.height;
  pen.font = labelFont(font, false, AXIS_LABEL_SIZE);
  pen.textBaseline = "top";
  const times = timesOn(sound.seconds, plate.width);
  for (const [i, time] of times.entries()) {
    const x = plate.x + (time / sound.seconds) * plate.width;
    pen.fillStyle = theme.muted;
    pen.fillRect(Math.min(x, plate.x + plate.width - 1), below, 1, TICK);
    const align = i === 0 ? "left" : x > plate.x + plate.width - 12 ? "right" : "center";
    write(pen, `${time} s`, [x, below + TICK + 1], theme.muted, align);
  }
}

/** Draw the frequencies at the top and the bottom of a time-frequency plane. */
function paintHertz(pen: Pen, { theme, font }: Scene, plate: Plate, sound: SoundPlate): void {
  pen.font = labelFont(font, false, AXIS_LABEL_SIZE);
  pen.textBaseline = "middle";
  const top =
    sound.hertz < THOUSAND ? `${sound.hertz} Hz` : `${Number((sound.hertz / 1000).toFixed(1))} kHz`;
  const right = plate.x - 4;
  write(pen, top, [right, plate.y + sound.strip + 6], theme.muted, "right");
  write(pen, "0 Hz", [right, plate.y + plate.height - 6], theme.muted, "right");
}

/** Draw a sound: its waveform, and the weights below it, where the waveform does not cover them. */
export function paintSound(pen: Pen, panel: PlacesPanel, plate: Plate, sound: SoundPlate): void {
  const { scene } = panel;
  const { x, y, width, height } = plate;
  const top = sound.strip;
  pen.fillStyle = cssWord(tablesOf(scene).first[scene.map.signed ? 128 : 0]);
  pen.fillRect(x, y, width, height);
  if (sound.steps) paintStaircase(pen, panel, plate);
  else paintRaster(pen, weightsRaster(panel, plate, top), x, y + top, width, height - top);
  paintWaveform(pen, scene, plate, sound);
  pen.strokeStyle = scene.theme.hairline;
  pen.lineWidth = 1;
  pen.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  paintTimes(pen, scene, plate, sound);
  if (sound.hertz > 0) paintHertz(pen, scene, plate, sound);
}
