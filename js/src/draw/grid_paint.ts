import type { Theme } from "../model/theme.js";
import { type Cell, canvasSize, corner, type GridLayout } from "./grid_layout.js";

/** What is drawn around and over the thumbnails. */
export interface Marks {
  layer: number;
  /** The last one is the head that a view shows. */
  selected: Cell[];
  hovered: Cell | undefined;
  focused: Cell | undefined;
  nKeyHeads: number;
  /** How far the grid is scrolled: row labels stay in sight. */
  scrolled: number;
  font: string;
}

type Context = CanvasRenderingContext2D;

function outline(context: Context, layout: GridLayout, cell: Cell, width: number, grow: number) {
  const [x, y] = corner(layout, cell);
  context.lineWidth = width;
  context.strokeRect(x - grow, y - grow, layout.cell + 2 * grow, layout.cell + 2 * grow);
}

/** A triangle in the corner where causal maps are masked: solid on the head that is shown. */
function notch(context: Context, layout: GridLayout, cell: Cell, theme: Theme, solid: boolean) {
  const [x, y] = corner(layout, cell);
  const right = x + layout.cell + 1;
  const triangle = (size: number) => {
    context.beginPath();
    context.moveTo(right - size, y - 1);
    context.lineTo(right, y - 1);
    context.lineTo(right, y - 1 + size);
    context.closePath();
    context.fill();
  };
  context.fillStyle = theme.background;
  triangle(13);
  context.fillStyle = theme.accent;
  triangle(11);
  if (solid) return;
  context.fillStyle = theme.background;
  context.beginPath();
  context.moveTo(right - 6, y + 1);
  context.lineTo(right - 2, y + 1);
  context.lineTo(right - 2, y + 5);
  context.fill();
}

function columnLabels(context: Context, layout: GridLayout, theme: Theme, marks: Marks) {
  context.textAlign = "center";
  context.fillStyle = theme.muted;
  const marked = new Set(marks.selected.map(([, col]) => col)).add(marks.hovered?.[1] ?? -1);
  for (let col = 0; col < layout.cols; col++) {
    context.fillStyle = marked.has(col) ? theme.text : theme.muted;
    context.fillText(String(col), corner(layout, [0, col])[0] + layout.cell / 2, 9);
  }
  const group = layout.cols / marks.nKeyHeads;
  if (!(group > 1)) return;
  context.fillStyle = theme.muted;
  for (let band = 0; band < marks.nKeyHeads; band++) {
    const start = corner(layout, [0, Math.round(band * group)])[0];
    const end = corner(layout, [0, Math.round((band + 1) * group)])[0] - layout.gap;
    context.fillRect(start + 1, layout.y0 - 8, end - start - 2, 2);
  }
}

function rowLabels(context: Context, layout: GridLayout, theme: Theme, marks: Marks) {
  const right = marks.scrolled + layout.x0 - 8;
  if (marks.scrolled) {
    context.fillStyle = theme.background;
    context.fillRect(marks.scrolled, 0, layout.x0 - layout.gap, canvasSize(layout)[1]);
  }
  context.textAlign = "right";
  context.fillStyle = theme.muted;
  context.fillText("head", right, 9);
  for (let row = 0; row < layout.rows; row++) {
    const current = row === marks.layer;
    context.fillStyle = current || row === marks.hovered?.[0] ? theme.text : theme.muted;
    const middle = corner(layout, [row, 0])[1] + layout.cell / 2;
    context.fillText(row ? String(row) : "layer 0", right, middle);
  }
}

/** Redraw everything from the composed thumbnails, `image`. */
export function paint(
  context: Context,
  layout: GridLayout,
  theme: Theme,
  image: HTMLCanvasElement | null,
  marks: Marks,
): void {
  const [width, height] = canvasSize(layout);
  const { x0, cell, gap, dpr } = layout;
  context.setTransform(dpr, 0, 0, dpr, 0, 0);
  context.imageSmoothingEnabled = false;
  context.fillStyle = theme.background;
  context.fillRect(0, 0, width, height);
  context.font = marks.font;
  context.textBaseline = "middle";
  if (image) {
    context.drawImage(image, x0, layout.y0, image.width / dpr, image.height / dpr);
  } else {
    context.fillStyle = theme.hairline;
    for (let row = 0; row < layout.rows; row++)
      for (let col = 0; col < layout.cols; col++)
        context.fillRect(...corner(layout, [row, col]), cell, cell);
  }
  columnLabels(context, layout, theme, marks);
  if (marks.layer < layout.rows) {
    const [x, y] = corner(layout, [marks.layer + 1, 0]);
    context.fillStyle = theme.text;
    context.fillRect(x, y - gap, layout.cols * (cell + gap) - gap, gap);
  }
  for (const [i, at] of marks.selected.entries()) {
    // A line of background keeps the accent apart from cells of a like colour.
    context.strokeStyle = theme.background;
    outline(context, layout, at, 1, -0.5);
    context.strokeStyle = theme.accent;
    outline(context, layout, at, gap, gap / 2);
    notch(context, layout, at, theme, i === marks.selected.length - 1);
  }
  if (marks.hovered) {
    context.strokeStyle = theme.text;
    outline(context, layout, marks.hovered, 1, 0.5);
  }
  if (marks.focused) {
    context.strokeStyle = theme.background;
    outline(context, layout, marks.focused, 2, -3);
    context.strokeStyle = theme.text;
    outline(context, layout, marks.focused, 2, -1);
  }
  rowLabels(context, layout, theme, marks);
}
