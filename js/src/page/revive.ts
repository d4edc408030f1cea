import { revive } from "../shared/wire.js";

/** Bytes of a base64 text. */
export const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

/** State as it was embedded, with every array's base64 text turned back into a view of its bytes. */
export const embedded = (value: unknown): unknown =>
  revive(value, (text) => new DataView(bytesOf(text as string).buffer));
