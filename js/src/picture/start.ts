import pictures from "virtual:figures/picture";
import { plain } from "../shared/bidi.js";
import { captionText } from "../shared/caption.js";
import { type DrawPicture, FONT, type Request } from "../shared/picture/sheet.js";
import type { PlacedRaster } from "../shared/picture/svg_pen.js";
import { THEMES } from "../shared/theme.js";
import { revive } from "../shared/wire.js";
import { drawPanels } from "./panels.js";

/** Drawing functions by name: every figure, and several figures as panels. */
const FIGURES: Record<string, DrawPicture<never>> = { ...pictures, panels: drawPanels(pictures) };

interface Wish extends Omit<Request, "theme" | "density" | "blank"> {
  figure: string;
  state: unknown;
  theme: keyof typeof THEMES;
  /**
   * Pixels per pixel of the picture, or null for the largest number from 1 to 2 that `pixels` in
   * total allow.
   */
  density: number | null;
  pixels: number;
}

let rasters: PlacedRaster[] = [];

/**
 * Draw a figure from its widget's state, whose arrays are ranges in `bytes`. The answer is JSON;
 * pixels are requested separately for each image.
 */
export function draw(wish: Wish, bytes: Uint8Array): string {
  const { figure, state: stored, theme } = wish;
  const drawPicture = FIGURES[figure] as DrawPicture<unknown> | undefined;
  if (!drawPicture) throw new Error(`there is no figure ${figure}`);
  const viewOf = (stored: unknown) => {
    const [start, length] = stored as [number, number];
    return new DataView(bytes.buffer, bytes.byteOffset + start, length);
  };
  const state = revive(stored, viewOf);
  const ask = (density: number, blank: boolean) =>
    drawPicture(state, { ...wish, density, blank, theme: THEMES[theme] });
  let density = wish.density;
  if (density === null) {
    const { width, height } = ask(1, true).sheet;
    density = Math.min(2, Math.max(1, Math.sqrt(wish.pixels / (width * height))));
  }
  const { sheet, caption, table } = ask(density, false);
  if (wish.caption) sheet.caption(caption);
  rasters = sheet.rasters;
  return JSON.stringify({
    width: sheet.width,
    height: sheet.height,
    density,
    figures: sheet.figures,
    body: `<g font-family="${FONT}">${sheet.pen.body}</g>`,
    caption,
    said: captionText(caption),
    table: { ...table, rows: table.rows.map((row) => row.map(plain)) },
    ground: THEMES[theme].background,
    rasters: rasters.map(({ raster: { across, down }, width, height }) => ({
      across,
      down,
      width,
      height,
    })),
  });
}

/** Return the bytes of one image of the last figure: R, G, B, A, row by row. */
export function pixels(index: number): Uint8Array {
  const words = rasters[index]?.raster.words ?? new Uint32Array();
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}

/** Allocate memory for the bytes of a state. */
export const room = (length: number): Uint8Array => new Uint8Array(length);
