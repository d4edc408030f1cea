import { bounded } from "../bounded.js";
import { type Caption, captionText, type Table } from "../caption.js";
import { ramp } from "../color.js";
import { paintBar, strip } from "../color_bar.js";
import { AXIS_LABEL_SIZE, labelFont, tableRuler } from "../labels.js";
import { type Look, UNATTACHED } from "../look.js";
import type { Pen } from "../pen.js";
import { wrapped } from "../text_width.js";
import type { Theme } from "../theme.js";
import { type PlacedRaster, SvgPen } from "./svg_pen.js";

/**
 * Font families with the widths of the table. The first comes with the converter that writes files.
 */
export const FONT = "'Liberation Sans', Arial, Helvetica, sans-serif";
const MARGIN = 8;
const GAP = 8;
const LINE = 15;
const TITLE_LINE = 18;
const BAR = { width: 160, height: 8 };
/** Distance from the letter of a panel to its title. */
const LETTER = 20;
const HEADING = ({ text }: Theme) => ({ bold: true, size: 13, color: text, line: TITLE_LINE });

/** Options of a requested picture. */
export interface Request {
  /** Width of the picture in pixels, or null for the figure's default. */
  width: number | null;
  theme: Theme;
  /** Pixels of the picture per pixel of the figure, so that cells fall on full pixels. */
  density: number;
  /** Whether only the size is needed. */
  blank: boolean;
  /** Whether to draw lines as pixels, which is faster than thousands of strokes. */
  dense: boolean;
  /**
   * Whether the picture is stored in the notebook with each display: it must be small and fast to
   * draw.
   */
  brief: boolean;
  /** Whether the complete caption is printed under the figure instead of its notes. */
  caption: boolean;
  /** Whether the title is drawn; default: true. */
  title?: boolean;
  /** Letter of a panel, printed in bold before the title. */
  letter?: string;
  /** Model that an enclosing figure has named already. */
  knownModel?: string;
  /** List to which a nested figure adds its pixels. */
  rasters?: PlacedRaster[];
}

/** Result of drawing a figure without a page. */
export interface Drawn {
  sheet: Sheet;
  caption: Caption;
  table: Table;
}

/** Function that draws a figure without a page. */
export type DrawPicture<T> = (state: T, request: Request) => Drawn;

/** Region of a figure in its picture, to compare it with the page. */
type Region = Record<"x" | "y" | "width" | "height", number>;

/** Picture with its parts from top to bottom: title, figure, legend, sentences. */
export class Sheet {
  readonly rasters: PlacedRaster[];
  readonly pen: SvgPen;
  readonly figures: Region[] = [];
  private x = MARGIN;
  private y: number;
  private widest = 0;
  private lowest = 0;
  private columnRoom: number | undefined;
  private indent = 0;

  /** `own`: Width of the content if the request has no width. `top`: Space above the first part. */
  constructor(
    readonly request: Request,
    private readonly own = UNATTACHED - 2 * MARGIN,
    top = MARGIN,
  ) {
    this.y = top;
    this.rasters = request.rasters ?? [];
    this.pen = new SvgPen(this.rasters);
  }

  /** Available width of a figure. */
  get room(): number {
    return (this.columnRoom ?? this.fullRoom) - this.indent;
  }

  /** Look for the layout of a figure. */
  get look(): Look {
    const { theme, density } = this.request;
    return { theme, width: this.room, font: FONT, ruler: tableRuler, density };
  }

  private get fullRoom(): number {
    return this.request.width === null ? this.own : this.request.width - 2 * MARGIN;
  }

  /** Width of the picture: the requested width, or more if a part would not fit. */
  get width(): number {
    return Math.max(this.request.width ?? 0, Math.ceil(this.widest + 2 * MARGIN));
  }

  get height(): number {
    return Math.ceil(Math.max(this.y, this.lowest) - GAP + MARGIN);
  }

  get theme(): Theme {
    return this.request.theme;
  }

  /** Add the title, with its source in gray below, as the request's `title` and `letter` ask. */
  title(name: string, ...lines: string[]): void {
    const { title = true, letter, knownModel } = this.request;
    const top = this.y;
    if (letter) this.text(letter, HEADING(this.theme));
    if (!title) return;
    if (letter) {
      this.y = top;
      this.indent = LETTER;
    }
    this.x += this.indent;
    this.heading(name, ...lines.filter((line) => line !== knownModel));
    this.x -= this.indent;
    this.indent = 0;
  }

  /** Add the heading of a part of the figure, with its source in gray below. */
  heading(name: string, ...lines: string[]): void {
    this.text(bounded(name), HEADING(this.theme));
    for (const line of lines.filter(Boolean)) this.text(bounded(line));
    this.gap();
  }

  /** Add a figure of this size, drawn by the code that draws it on a page. */
  figure(width: number, height: number, paint: (pen: Pen) => void): void {
    this.place(width, height, paint);
    this.figures.push({ x: this.x, y: this.y - height - GAP, width, height });
  }

  /** Put the next parts in a second column next to the last figure. */
  aside(width: number): void {
    const last = this.figures.at(-1);
    if (!last) return;
    this.lowest = this.y;
    this.x = last.x + last.width + 3 * GAP;
    this.y = last.y;
    this.columnRoom = width;
  }

  /** Make the picture at least wide enough for a figure of this width. */
  reserve(width: number): void {
    this.widest = Math.max(this.widest, width);
  }

  /** Put the next parts under both columns, over the full width. */
  under(): void {
    [this.x, this.y] = [MARGIN, Math.max(this.y, this.lowest)];
    this.columnRoom = undefined;
  }

  /** Add space before the next part. */
  gap(): void {
    this.y += GAP;
  }

  /** Add any other part, for example a legend or a table. */
  place(width: number, height: number, paint: (pen: Pen) => void): void {
    this.pen.save();
    this.pen.translate(this.x, this.y);
    if (!this.request.blank) paint(this.pen);
    this.pen.restore();
    this.widest = Math.max(this.widest, this.x - MARGIN + width);
    this.y += height + GAP;
  }

  /** Add a scale of color or thickness with its values and a description. */
  colorBar(
    [low, middle, high]: [string, string, string],
    words: string,
    bar = strip(ramp(this.theme)),
  ): void {
    const measure = tableRuler(labelFont(FONT, false, AXIS_LABEL_SIZE));
    const left = measure(low) / 2;
    // Long values widen the bar, so that they never touch.
    const halves = Math.max(measure(low), measure(high)) + measure(middle) + 2 * GAP;
    const width = Math.max(BAR.width, Math.ceil(halves));
    const beside = left + width + measure(high) / 2 + 2 * GAP;
    const fits = beside + measure(words) <= this.room;
    this.place(fits ? beside + measure(words) : beside, fits ? 26 : 22, (pen) => {
      paintBar(pen, bar, left, 0, width, BAR.height);
      pen.strokeStyle = this.theme.hairline;
      pen.strokeRect(left - 0.5, -0.5, width + 1, BAR.height + 1);
      pen.font = labelFont(FONT, false, AXIS_LABEL_SIZE);
      pen.fillStyle = this.theme.text;
      pen.textAlign = "center";
      for (const [i, text] of [low, middle, high].entries())
        pen.fillText(text, left + (i * width) / 2, 21);
      pen.textAlign = "left";
      pen.fillStyle = this.theme.muted;
      if (fits) pen.fillText(words, beside, 8);
    });
    if (fits) return;
    this.text(words);
    this.gap();
  }

  /** Add other pictures in columns, `gap` pixels apart. Each column runs from top to bottom. */
  columns(columns: Sheet[][], gap: number): void {
    let left = 0;
    let lowest = this.y;
    for (const column of columns) {
      let y = this.y;
      for (const { pen, figures, height } of column) {
        this.pen.copy(pen, left, y);
        for (const box of figures) this.figures.push({ ...box, x: box.x + left, y: box.y + y });
        y += height;
      }
      left += Math.max(0, ...column.map(({ width }) => width)) + gap;
      lowest = Math.max(lowest, y);
    }
    this.widest = Math.max(this.widest, left - gap - 2 * MARGIN);
    this.y = lowest;
  }

  /** Add a sentence, wrapped to the picture's width. */
  text(
    text: string,
    { bold = false, size = AXIS_LABEL_SIZE, color = this.theme.muted, line = LINE } = {},
  ): void {
    const measure = tableRuler(labelFont(FONT, bold, size));
    const lines = wrapped(text, this.room, measure);
    const { pen } = this;
    pen.save();
    pen.translate(this.x, this.y);
    pen.font = labelFont(FONT, bold, size);
    pen.fillStyle = color;
    for (const [i, part] of lines.entries()) pen.fillText(part, 0, i * line + size);
    pen.restore();
    this.widest = Math.max(this.widest, this.x - MARGIN + Math.max(0, ...lines.map(measure)));
    this.y += lines.length * line;
    // The last part of a picture also needs the margin below it.
    this.lowest = Math.max(this.lowest, this.y + GAP);
  }

  /** Add the notes on omissions as one paragraph, with space after it. */
  notes(...sentences: string[]): void {
    const said = sentences.filter(Boolean);
    if (!said.length || this.request.caption) return;
    this.text(said.join(" · "));
    this.gap();
  }

  /** Add the complete caption below all parts, over the full width. */
  caption(said: Caption): void {
    this.under();
    this.text(captionText(said));
    this.gap();
  }
}
