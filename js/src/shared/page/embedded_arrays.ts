import { revive, WIDTH } from "../wire.js";
import { DamagedError } from "./damage.js";

/** Decode base64 text. Throw if it is damaged or does not have `length` bytes. */
export function bytesOf(text: string, length?: number): Uint8Array<ArrayBuffer> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    throw new DamagedError("its bytes cannot be read");
  }
  if (length !== undefined && bytes.length !== length)
    throw new DamagedError(`it has ${bytes.length} of ${length} bytes`);
  return bytes;
}

/** Return embedded state with base64 texts decoded to the bytes of their arrays. */
export const embedded = (value: unknown): unknown =>
  revive(value, (text, { shape, dtype }) => {
    const width = WIDTH[dtype as keyof typeof WIDTH];
    const counts = Array.isArray(shape) ? shape : [Number.NaN];
    const items = counts.reduce((product: number, count) => product * count, 1);
    if (!width || !counts.every((count) => Number.isInteger(count) && count >= 0))
      throw new DamagedError(`an array has the shape ${JSON.stringify(shape)} and type ${dtype}`);
    return new DataView(bytesOf(String(text), items * width).buffer);
  });
