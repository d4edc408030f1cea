import type { WireMedia } from "../../shared/places/place_types.js";
import type { TokenPlace } from "../../shared/places/token_places.js";
import { asUint8 } from "../../shared/wire.js";
import type { Scene } from "../scene.js";
import { indicesOf } from "./places_layout.js";
import { chosenOf, shownRow } from "./shown_row.js";

type WireSound = WireMedia["sounds"][number];

/** A shorter sound is not heard: a part of this length round its middle is played. */
const SHORTEST = 0.4;

/** A part of a sound that can be played. */
interface PlayedPart {
  sound: WireSound;
  start: number;
  end: number;
}

/** Where the sound of a token is: of a locked key, of the chosen token, or of the strongest key. */
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

/** The part of a sound that the button plays; undefined without one. */
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

/** What the button says. */
export const playText = ({ start, end }: PlayedPart): string =>
  `play ${start.toFixed(2)}–${end.toFixed(2)} s`;

let audio: AudioContext | undefined;
let playing: AudioBufferSourceNode | undefined;
const decoded = new WeakMap<WireSound, Promise<AudioBuffer>>();

/** Play a part of a sound, in the place of a part that still plays. */
export async function play({ sound, start, end }: PlayedPart): Promise<void> {
  if (!globalThis.AudioContext) return;
  audio ??= new AudioContext();
  const context = audio;
  // Without a loudspeaker this promise stays open.
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
