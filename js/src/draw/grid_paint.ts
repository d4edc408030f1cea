import type { MetricState } from "../model/head_types.js";
import type { Theme } from "../model/theme.js";
import { drawBadges } from "./grid_badges.js";
import { type Cell, canvasSize, corner, type GridLayout } from "./grid_layout.js";
import { headIn, type Metric, type Order } from "./grid_order.js";

/** What is drawn around and over the thumbnails; all places are cells, wherever their heads come from. */
export interface Marks {
  layer: number;
  order: Order;
  metric: Metric | undefined;
  filter: MetricState["filter"];
  /** How the heads are sorted, in words; "" where they are not. */
  sorting: string;
  /** The last one is the head that a view shows. */
  selected: Cell[];
  hovered: Cell | undefined;
  focused: Cell | undefined;
  nKeyHeads: number;
  /** How far the grid is scrolled: row labels stay in sight. */
  scrolled: number;
  /** Font family of the labels. */
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
  if (marks.sorting) {
    context.textAlign = "left";
    context.fillStyle = theme.text;
    context.fillText(marks.sorting, marks.scrolled + layout.x0, 9);
    return;
  }
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
  const ranks = marks.order.sort === "all";
  if (!marks.sorting) context.fillText("head", right, 9);
  if (ranks) context.fillText("rank", right, 9);
  for (let row = 0; row < layout.rows; row++) {
    const current = row === marks.layer && !ranks;
    context.fillStyle = current || row === marks.hovered?.[0] ? theme.text : theme.muted;
    const middle = corner(layout, [row, 0])[1] + layout.cell / 2;
    const layer = row ? String(row) : "layer 0";
    context.fillText(ranks ? String(row * layout.cols + 1) : layer, right, middle);
  }
}

/** A line under the stepped layer: its row, or each of its heads where they are scattered. */
function layerLine(context: Context, layout: GridLayout, theme: Theme, { layer, order }: Marks) {
  const { cell, gap, band, rows, cols } = layout;
  context.fillStyle = theme.text;
  if (order.sort !== "all") {
    if (layer >= rows) return;
    const [x, y] = corner(layout, [layer + 1, 0]);
    context.fillRect(x, y - gap, cols * (cell + gap) - gap, gap);
    return;
  }
  for (const i of order.heads.keys()) {
    const at = [Math.floor(i / cols), i % cols] as const;
    const [x, y] = corner(layout, at);
    if (headIn(order, at)?.[0] === layer) context.fillRect(x, y + cell + band - gap, cell, gap);
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
  const { x0, cell, dpr, gap } = layout;
  context.setTransform(dpr, 0, 0, dpr, 0, 0);
  context.imageSmoothingEnabled = false;
  context.fillStyle = theme.background;
  context.fillRect(0, 0, width, height);
  context.font = `11px ${marks.font}`;
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
  layerLine(context, layout, theme, marks);
  if (marks.metric && image)
    drawBadges(context, layout, theme, marks.order, marks.metric, marks.filter, marks.font);
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
  context.font = `11px ${marks.font}`;
  rowLabels(context, layout, theme, marks);
}
