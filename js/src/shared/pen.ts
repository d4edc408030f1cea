/**
 * Part of the canvas context that figures use. A page passes a real context; a picture passes a pen
 * that writes SVG, so that both run the same code.
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

/** Pixels as ABGR words (the bytes R, G, B, A of `ImageData`), drawn without smoothing. */
export interface Raster {
  across: number;
  down: number;
  words: Uint32Array;
  /** Canvas with these pixels, cached after the first drawing. */
  canvas?: HTMLCanvasElement;
}

/** Pen that takes pixels directly, unlike the context of a canvas. */
export interface RasterPen extends Pen {
  image(raster: Raster, x: number, y: number, width: number, height: number): void;
}

/** Draw pixels in a rectangle. */
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

/**
 * Resize and clear a canvas in CSS pixels and return its context, or null if there are no canvases.
 */
export function fresh(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D | null {
  const ratio = globalThis.devicePixelRatio || 1;
  const across = Math.round(width * ratio);
  const down = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  // Setting the size allocates new memory even if it is unchanged, and figures that follow the
  // pointer keep their size.
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

/** Pen that clips with an SVG element instead of a clip path. */
interface ClippingPen extends Pen {
  clipped(width: number, height: number, draw: () => void): void;
}

/** Draw clipped to a rectangle at the pen's origin. */
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
