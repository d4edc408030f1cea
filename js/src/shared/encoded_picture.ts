import type { Pen } from "./pen.js";

/** Encoded image file. A page decodes the file; an SVG embeds it unchanged. */
export interface EncodedPicture {
  bytes: Uint8Array<ArrayBuffer>;
  type: string;
  /** Width of the image in pixels. */
  across: number;
  /** Decoded pixels, once available. */
  decoded?: ImageBitmap;
  isDecoding?: boolean;
}

/** Pen that takes encoded files, unlike the context of a canvas, which takes pixels. */
interface FilePen extends Pen {
  file(
    picture: EncodedPicture,
    isSharp: boolean,
    x: number,
    y: number,
    width: number,
    height: number,
  ): void;
}

/** Magnification from which pixels are drawn with sharp edges. */
const SHARP_FROM = 3;

/** Decode an image on a page and call `decoded` when its pixels are available. */
export function decode(picture: EncodedPicture, decoded: () => void): void {
  if (picture.decoded || picture.isDecoding || !globalThis.createImageBitmap) return;
  picture.isDecoding = true;
  createImageBitmap(new Blob([picture.bytes], { type: picture.type })).then(
    (pixels) => {
      picture.decoded = pixels;
      decoded();
    },
    // If a file cannot be decoded, the weights are still drawn on the background color.
    () => {},
  );
}

/**
 * Draw an image over its background color. A page draws only the background until the file is
 * decoded.
 */
export function paintPicture(
  pen: Pen,
  picture: EncodedPicture | undefined,
  ground: string,
  x: number,
  y: number,
  width: number,
  height: number,
): void {
  pen.fillStyle = ground;
  pen.fillRect(x, y, width, height);
  if (!picture) return;
  const isSharp = width / picture.across >= SHARP_FROM;
  if ("file" in pen) {
    (pen as FilePen).file(picture, isSharp, x, y, width, height);
    return;
  }
  if (!picture.decoded) return;
  const context = pen as CanvasRenderingContext2D;
  context.imageSmoothingEnabled = !isSharp;
  context.imageSmoothingQuality = "high";
  context.drawImage(picture.decoded, x, y, width, height);
}

const SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Return bytes as base64 text: the engine that draws pictures has no `btoa`. */
export function base64(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let i = 0; i < bytes.length; i += 3) {
    const [a = 0, b, c] = bytes.subarray(i, i + 3);
    const word = (a << 16) | ((b ?? 0) << 8) | (c ?? 0);
    const signs = [18, 12, 6, 0].map((shift) => SIGNS[(word >> shift) & 63]);
    if (b === undefined) signs.splice(2, 2, "=", "=");
    else if (c === undefined) signs.splice(3, 1, "=");
    parts.push(signs.join(""));
  }
  return parts.join("");
}
