import { bounded } from "../bounded.js";
import { base64, type EncodedPicture } from "../encoded_picture.js";
import type { Raster, RasterPen } from "../pen.js";
import type { Shape } from "../svg.js";
import { parseFont, textWidth } from "../text_width.js";

const FORBIDDEN = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;
const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
/** Escape markup, and replace characters that XML forbids. */
const escaped = (text: string): string =>
  text.replace(FORBIDDEN, "\ufffd").replace(/[&<>"]/g, (sign) => ENTITIES[sign] ?? sign);

/** Number of pixels above which a raster is written as an image. */
const MOST_CELLS = 900;

/** Format with at most three decimals, without trailing zeros. */
const number = (x: number): string => String(Math.round(x * 1000) / 1000 || 0);

/** Return the XML text of a shape. */
function elementText({ tag, attributes, inside }: Shape): string {
  const listed = Object.entries(attributes)
    .filter(([name]) => !/^(class$|data-)/.test(name))
    .map(([name, value]) => {
      const text = typeof value === "number" ? number(value) : escaped(value);
      return ` ${name}="${text}"`;
    });
  const inner = typeof inside === "string" ? escaped(inside) : inside.map(elementText).join("");
  return `<${tag}${listed.join("")}>${inner}</${tag}>`;
}

const RGB = /^rgb\((\d+)[ ,]+(\d+)[ ,]+(\d+)\)$/;
/** Return a color as "#rrggbb", which SVG readers support better than newer notations. */
function hex(color: string): string {
  const match = RGB.exec(color);
  if (!match) return escaped(color);
  const channels = match.slice(1, 4).map((x) => Number(x).toString(16).padStart(2, "0"));
  return `#${channels.join("")}`;
}

/** Pixels and their size in the picture. */
export interface PlacedRaster {
  raster: Raster;
  width: number;
  height: number;
}

const START = {
  fillStyle: "#000000",
  strokeStyle: "#000000",
  lineWidth: 1,
  lineJoin: "miter" as CanvasLineJoin,
  font: "10px sans-serif",
  textAlign: "start" as CanvasTextAlign,
  direction: "ltr" as CanvasDirection,
  textBaseline: "alphabetic" as CanvasTextBaseline,
  globalAlpha: 1,
  dash: [] as number[],
  globalCompositeOperation: "source-over" as GlobalCompositeOperation,
  /** Transformation as in SVG: x' = a x + c y + e. */
  matrix: [1, 0, 0, 1, 0, 0] as [a: number, b: number, c: number, d: number, e: number, f: number],
};
type State = typeof START;
const ANCHORS: Partial<Record<CanvasTextAlign, string>> = {
  center: "middle",
  right: "end",
  end: "end",
};
/**
 * Offset in font sizes from the baseline to the middle and the top of a line, as canvases place
 * them in Liberation Sans.
 */
const BASELINES: Partial<Record<CanvasTextBaseline, number>> = { middle: 0.31, top: 0.81 };

export interface SvgPen extends State {}

/**
 * Pen that writes SVG elements. Pixels become `<image href="raster:i">` for the program that stores
 * them as files.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor assigns START
export class SvgPen implements RasterPen {
  private parts: string[] = [];
  private path: string[] = [];
  private kept: State[] = [];
  private stroked = "";
  private blended: GlobalCompositeOperation = "source-over";

  constructor(private rasters: PlacedRaster[]) {
    Object.assign(this, START);
  }

  /** Return the SVG text drawn so far. */
  get body(): string {
    this.blend("source-over");
    return this.parts.join("");
  }

  /** Add shapes unchanged. */
  add(...shapes: Shape[]): void {
    this.write("<g", `${shapes.map(elementText).join("")}</g>`);
  }

  /** Add the drawing of another pen at (x, y). */
  copy(other: SvgPen, x: number, y: number): void {
    this.write(`<g transform="translate(${number(x)} ${number(y)})"`, `${other.body}</g>`);
  }

  /** Draw clipped to a rectangle. */
  clipped(width: number, height: number, draw: () => void): void {
    const [x, y] = this.matrix.slice(4) as [number, number];
    const outside = this.matrix;
    this.parts.push(`${this.box(x, y, width, height).replace("<rect", "<svg")}>`);
    this.matrix = [1, 0, 0, 1, 0, 0];
    draw();
    this.blend("source-over");
    this.parts.push("</svg>");
    this.matrix = outside;
  }

  save(): void {
    const names = Object.keys(START) as (keyof State)[];
    this.kept.push(Object.fromEntries(names.map((name) => [name, this[name]])) as State);
  }

  restore(): void {
    Object.assign(this, this.kept.pop());
  }

  translate(x: number, y: number): void {
    const [a, b, c, d, e, f] = this.matrix;
    this.matrix = [a, b, c, d, a * x + c * y + e, b * x + d * y + f];
  }

  rotate(angle: number): void {
    const [a, b, c, d, e, f] = this.matrix;
    const cos = Math.cos(angle);
    const sin = Math.sin(angle);
    this.matrix = [
      a * cos + c * sin,
      b * cos + d * sin,
      c * cos - a * sin,
      d * cos - b * sin,
      e,
      f,
    ];
  }

  setLineDash(dash: number[]): void {
    this.dash = dash;
  }

  beginPath(): void {
    this.path = [];
  }

  closePath(): void {
    this.path.push("Z");
  }

  private point(command: string, ...numbers: number[]): void {
    this.path.push(command + numbers.map(number).join(" "));
  }

  moveTo(x: number, y: number): void {
    this.point("M", x, y);
  }

  lineTo(x: number, y: number): void {
    this.point(this.path.length ? "L" : "M", x, y);
  }

  bezierCurveTo(...places: [number, number, number, number, number, number]): void {
    this.point("C", ...places);
  }

  quadraticCurveTo(...places: [number, number, number, number]): void {
    this.point("Q", ...places);
  }

  /** Add a full circle, the only arc that figures draw. */
  arc(x: number, y: number, radius: number): void {
    this.point("M", x + radius, y);
    this.point("A", radius, radius, 0, 1, 1, x - radius, y);
    this.point("A", radius, radius, 0, 1, 1, x + radius, y);
    this.path.push("Z");
  }

  fill(): void {
    if (this.path.length) this.write(`<path d="${this.path.join("")}"${this.fills()}`);
  }

  /** Draw the path. Consecutive lines with the same style become one element. */
  stroke(): void {
    if (!this.path.length) return;
    const look = `" fill="none"${this.strokes()}${this.place()}/>`;
    const path = this.path.join("");
    this.blend(this.globalCompositeOperation);
    const last = this.parts.at(-1);
    if (this.stroked === look && last?.endsWith(look))
      this.parts[this.parts.length - 1] = last.slice(0, -look.length) + path + look;
    else this.parts.push(`<path d="${path}${look}`);
    this.stroked = look;
  }

  private box(x: number, y: number, width: number, height: number): string {
    const box = { x, y, width, height };
    return Object.entries(box).reduce((all, [key, n]) => `${all} ${key}="${number(n)}"`, "<rect");
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    if (width > 0 && height > 0) this.write(this.box(x, y, width, height) + this.fills());
  }

  strokeRect(x: number, y: number, width: number, height: number): void {
    this.write(`${this.box(x, y, width, height)} fill="none"${this.strokes()}`);
  }

  fillText(text: string, x: number, y: number): void {
    this.text(bounded(text), x, y, this.fills());
  }

  strokeText(text: string, x: number, y: number): void {
    this.text(bounded(text), x, y, ` fill="none"${this.strokes()}`);
  }

  private text(text: string, x: number, y: number, look: string): void {
    if (!text) return;
    const { size, bold } = parseFont(this.font);
    const anchor = ANCHORS[this.textAlign];
    const base = y + size * (BASELINES[this.textBaseline] ?? 0);
    this.write(
      `<text x="${number(x)}" y="${number(base)}" font-size="${number(size)}"` +
        `${bold ? ' font-weight="700"' : ""}${anchor ? ` text-anchor="${anchor}"` : ""}${look}`,
      `${escaped(text)}</text>`,
    );
  }

  measureText(text: string): TextMetrics {
    const { size, bold } = parseFont(this.font);
    return { width: textWidth(text, size, bold) } as TextMetrics;
  }

  image(raster: Raster, x: number, y: number, width: number, height: number): void {
    if (raster.down > 1 && raster.across * raster.down <= MOST_CELLS) {
      this.cells(raster, x, y, width / raster.across, height / raster.down);
      return;
    }
    const box = this.box(x, y, width, height).replace("<rect", "<image");
    this.write(
      `${box} preserveAspectRatio="none" ` +
        `href="raster:${this.rasters.push({ raster, width, height }) - 1}"`,
    );
  }

  /** Embed an encoded image file unchanged. */
  file(
    { bytes, type }: EncodedPicture,
    isSharp: boolean,
    x: number,
    y: number,
    width: number,
    height: number,
  ): void {
    const box = this.box(x, y, width, height).replace("<rect", "<image");
    const sharp = isSharp ? ' style="image-rendering: pixelated"' : "";
    this.write(
      `${box} preserveAspectRatio="none"${sharp} xlink:href="data:${type};base64,${base64(bytes)}"`,
    );
  }

  /** Draw a small raster as separate elements, which can be edited in a drawing program. */
  private cells({ across, words }: Raster, x0: number, y0: number, dx: number, dy: number): void {
    const boxes = new Map<number, string>();
    for (const [i, word] of words.entries()) {
      if (word >>> 24 === 0) continue;
      const x = x0 + (i % across) * dx;
      const y = y0 + Math.floor(i / across) * dy;
      const box = `M${number(x)} ${number(y)}h${number(dx)}v${number(dy)}h${number(-dx)}Z`;
      boxes.set(word, (boxes.get(word) ?? "") + box);
    }
    for (const [word, path] of boxes) {
      const color = `rgb(${word & 255} ${(word >> 8) & 255} ${(word >> 16) & 255})`;
      // Antialiasing would show thin lines of background between cells.
      this.write(`<path d="${path}" shape-rendering="crispEdges" fill="${hex(color)}"`);
    }
  }

  private fills(): string {
    const { fillStyle, globalAlpha } = this;
    const opacity = globalAlpha < 1 ? ` fill-opacity="${number(globalAlpha)}"` : "";
    return ` fill="${hex(fillStyle)}"${opacity}`;
  }

  private strokes(): string {
    const { strokeStyle, lineWidth, lineJoin, dash, globalAlpha } = this;
    return [
      ` stroke="${hex(strokeStyle)}"`,
      lineWidth === 1 ? "" : ` stroke-width="${number(lineWidth)}"`,
      lineJoin === "miter" ? "" : ` stroke-linejoin="${lineJoin}"`,
      dash.length ? ` stroke-dasharray="${dash.map(number).join(" ")}"` : "",
      globalAlpha < 1 ? ` stroke-opacity="${number(globalAlpha)}"` : "",
    ].join("");
  }

  /**
   * Group everything drawn with the same blend mode: SVG readers are slow with many blended
   * elements.
   */
  private blend(operation: GlobalCompositeOperation): void {
    if (operation === this.blended) return;
    if (this.blended !== "source-over") this.parts.push("</g>");
    if (operation !== "source-over") this.parts.push(`<g style="mix-blend-mode:${operation}">`);
    this.blended = operation;
  }

  private place(): string {
    const [a, b, c, d, e, f] = this.matrix;
    const moved = `${number(e)} ${number(f)}`;
    if (a === 1 && b === 0) return e || f ? ` transform="translate(${moved})"` : "";
    return ` transform="matrix(${[a, b, c, d].map((x) => x.toFixed(5)).join(" ")} ${moved})"`;
  }

  private write(opening: string, inner?: string): void {
    this.blend(this.globalCompositeOperation);
    this.parts.push(`${opening}${this.place()}${inner === undefined ? "/>" : `>${inner}`}`);
  }
}
