import type { WireMedia } from "../../shared/places/place_types.js";
import type { TokenPlace } from "../../shared/places/token_places.js";
import { asUint8 } from "../../shared/wire.js";
import type { Scene } from "../scene.js";
import { indicesOf } from "./places_layout.js";
import { chosenOf, shownRow } from "./shown_row.js";

type WireSound = WireMedia["sounds"][number];

/**
 * Smallest duration in seconds. A shorter sound is inaudible, so its neighborhood is played too.
 */
const SHORTEST = 0.4;

/** Part of a sound to play. */
interface PlayedPart {
  sound: WireSound;
  start: number;
  end: number;
}

/**
 * Return the region of the sound to play: of a locked key, the selected token, or the strongest
 * key.
 */
function heardPlace(scene: Scene): TokenPlace | undefined {
  const { places, state, locked } = scene;
  const pictures = state._media?.pictures.length ?? 0;
  const row = shownRow(scene);
  const placeOf = (side: typeof row.side, position: number | undefined) => {
    const place = places?.[side][indicesOf(scene, side)[position ?? -1] ?? -1];
    return place && place.medium >= pictures ? place : undefined;
  };
  const { side, of } = chosenOf(scene);
  const chosen = placeOf(row.painted, [...locked[row.painted]].at(-1)) ?? placeOf(side, of);
  if (chosen) return chosen;
  let best: number | undefined;
  for (const [position, value] of row.values.entries())
    if (placeOf(row.painted, position) && !(value <= (row.values[best ?? -1] ?? 0)))
      best = Number.isNaN(value) ? best : position;
  return placeOf(row.painted, best);
}

/** Return the part of a sound that the button plays; undefined if there is none. */
export function playedPart(scene: Scene): PlayedPart | undefined {
  const media = scene.state._media;
  const place = heardPlace(scene);
  const sound = place && media?.sounds[place.medium - media.pictures.length];
  if (!place || !sound) return undefined;
  const around = Math.max(0, SHORTEST - (place.right - place.left)) / 2;
  const start = Math.max(0, place.left - around);
  const end = Math.min(sound.played, place.right + around);
  return end > start ? { sound, start, end } : undefined;
}

/** Return the text of the play button. */
export const playText = ({ start, end }: PlayedPart): string =>
  `play ${start.toFixed(2)}–${end.toFixed(2)} s`;

let audio: AudioContext | undefined;
let playing: AudioBufferSourceNode | undefined;
const decoded = new WeakMap<WireSound, Promise<AudioBuffer>>();

/** Play a part of a sound and stop the part that is still playing. */
export async function play({ sound, start, end }: PlayedPart): Promise<void> {
  if (!globalThis.AudioContext) return;
  audio ??= new AudioContext();
  const context = audio;
  // Without an audio output this promise never settles.
  context.resume().catch(() => {});
  const known = decoded.get(sound) ?? context.decodeAudioData(asUint8(sound.file).slice().buffer);
  decoded.set(sound, known);
  const buffer = await known;
  playing?.stop();
  playing = context.createBufferSource();
  playing.buffer = buffer;
  playing.connect(context.destination);
  playing.start(0, start, end - start);
}
