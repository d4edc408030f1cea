/**
 * The part of a canvas context that figures use: a page passes a real canvas context, a picture
 * passes a context that writes SVG, so that both run the same code.
 */
export type Pen = Pick<
  CanvasRenderingContext2D,
  | "fillStyle"
  | "strokeStyle"
  | "lineWidth"
  | "lineJoin"
  | "font"
  | "textAlign"
  | "textBaseline"
  | "direction"
  | "globalAlpha"
  | "globalCompositeOperation"
  | "save"
  | "restore"
  | "translate"
  | "rotate"
  | "beginPath"
  | "closePath"
  | "moveTo"
  | "lineTo"
  | "bezierCurveTo"
  | "quadraticCurveTo"
  | "arc"
  | "fill"
  | "stroke"
  | "fillRect"
  | "strokeRect"
  | "fillText"
  | "strokeText"
  | "measureText"
  | "setLineDash"
>;

/** Pixels as ABGR words, the bytes R, G, B, A that `ImageData` holds; shown without smoothing. */
export interface Raster {
  across: number;
  down: number;
  words: Uint32Array;
  /** The result on a page, kept so that it is computed once. */
  canvas?: HTMLCanvasElement;
}

/** A pen that takes pixels as they are; a canvas's context does not. */
export interface RasterPen extends Pen {
  image(raster: Raster, x: number, y: number, width: number, height: number): void;
}

/** Place pixels in a rectangle. */
export function paintRaster(
  pen: Pen,
  raster: Raster,
  x: number,
  y: number,
  width: number,
  height: number,
): void {
  if (raster.across * raster.down === 0) return;
  if ("image" in pen) {
    (pen as RasterPen).image(raster, x, y, width, height);
    return;
  }
  const context = pen as CanvasRenderingContext2D;
  const { across, down, words } = raster;
  if (!raster.canvas) {
    raster.canvas = context.canvas.ownerDocument.createElement("canvas");
    raster.canvas.width = across;
    raster.canvas.height = down;
    const inner = raster.canvas.getContext("2d");
    const image = inner?.createImageData(across, down);
    if (!inner || !image) return;
    new Uint32Array(image.data.buffer).set(words);
    inner.putImageData(image, 0, 0);
  }
  context.imageSmoothingEnabled = false;
  context.drawImage(raster.canvas, x, y, width, height);
}

/** A canvas's context, sized to CSS pixels and cleared; null where there are no canvases. */
export function fresh(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D | null {
  const ratio = globalThis.devicePixelRatio || 1;
  const across = Math.round(width * ratio);
  const down = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  // A new size allocates new memory, even if it equals the old size: a figure that follows the
  // pointer keeps its size.
  if (canvas.width === across && canvas.height === down && context?.reset) context.reset();
  else {
    canvas.width = across;
    canvas.height = down;
  }
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** A pen that clips in its own way: an SVG element holds what is within. */
interface ClippingPen extends Pen {
  clipped(width: number, height: number, draw: () => void): void;
}

/** Draw within a rectangle, from where the pen is. */
export function clippedTo(pen: Pen, width: number, height: number, draw: () => void): void {
  if ("clipped" in pen) {
    (pen as ClippingPen).clipped(width, height, draw);
    return;
  }
  const context = pen as CanvasRenderingContext2D;
  context.save();
  context.beginPath();
  context.rect(0, 0, width, height);
  context.clip();
  draw();
  context.restore();
}
