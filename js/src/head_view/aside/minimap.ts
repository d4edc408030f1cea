import { clamp } from "../../shared/clamp.js";
import type { Pen } from "../../shared/pen.js";
import { paintRaster, type Raster } from "../../shared/pen.js";
import { isWhole, wholeOf } from "../../shared/window.js";
import { paintFrame, paintGround } from "../matrix/matrix_paint.js";
import { type Pixels, pixelsOf } from "../matrix/matrix_pixels.js";
import { isZoomable, type Scene } from "../scene.js";
import { tablesOf } from "../several/head_colors.js";
import { sourceOf } from "../source/source_of.js";
import { sizeOf } from "../source/window_of.js";

/** Width and height in CSS pixels. */
export const MINIMAP = 128;
/** Smallest size of the viewport frame, so that it stays easy to grab. */
const LEAST = 6;

const made = new WeakMap<Float32Array, { key: unknown[]; pixels: Pixels }>();

/** Return whether a map is too large, or zoomed in too far, to be read without a minimap. */
export const hasMinimap = ({ state, map, part }: Scene): boolean =>
  (!sourceOf(map).isComplete && state.mode !== "places") ||
  (isZoomable(state, map) && !isWhole(sizeOf(map), part));

/** Draw the complete map with a frame around the visible part. */
export function paintMinimap(pen: Pen, scene: Scene): void {
  const { theme, part, map, density, state, colors = [], highlighted } = scene;
  const size = sizeOf(map);
  const ground = { rows: 1, cols: 1, cellWidth: MINIMAP, cellHeight: MINIMAP, dpr: density };
  paintGround(pen, scene, ground);
  const { overview } = sourceOf(map);
  const { step, rows, cols } = overview;
  const most = Math.round(MINIMAP * density);
  const { cells }: { cells: Raster } = pixelsOf(
    overview,
    wholeOf(overview),
    () => overview,
    [Math.min(cols, most), Math.min(rows, most)],
    {
      theme,
      scale: state.scale,
      maximum: map.maximumOfAll ?? map.maximum,
      signed: map.signed ?? false,
      tables: tablesOf(scene),
      colors,
      lit: highlighted,
    },
    made,
  );
  const share = (count: number, all: number) => (MINIMAP * count * step) / all;
  paintRaster(pen, cells, 0, 0, share(cols, size.cols), share(rows, size.rows));
  paintFrame(pen, theme, MINIMAP, MINIMAP, density);
  if (isWhole(size, part)) return;
  const marked = (from: number, to: number, count: number): [number, number] => {
    const length = Math.max(LEAST, ((to - from) / count) * MINIMAP);
    const middle = ((from + to) / 2 / count) * MINIMAP;
    return [clamp(middle - length / 2, 0, MINIMAP - length), length];
  };
  const [top, height] = marked(part[0], part[1], size.rows);
  const [left, width] = marked(part[2], part[3], size.cols);
  for (const [color, line] of [
    [theme.background, 4],
    [theme.accent, 2],
  ] as const) {
    pen.strokeStyle = color;
    pen.lineWidth = line;
    pen.strokeRect(left + 1, top + 1, width - 2, height - 2);
  }
}
