import { AXIS_LABEL_SIZE, LABEL_SIZE, labelFont } from "../shared/labels.js";
import type { Look } from "../shared/mount.js";
import { wrapped } from "../shared/text_width.js";
import { type Curve, curveOf } from "./distance_curve.js";
import { type AnswerPanel, type Block, panelsOf, type Row } from "./link_text.js";
import type { Link, LinkState } from "./state.js";

/** Widths from which panels are in two and in three columns. */
const TWO = 600;
const THREE = 940;
const BETWEEN = 32;
const BELOW = 20;
const TITLE_LINE = 18;
const LINE = 15;
export const ROW = 18;
const GAP = 8;
/** Largest share of a panel's width for labels. */
const LABELS = 0.5;

/** Line of text with its position; `y` is its vertical center. */
interface PlacedLine {
  text: string;
  y: number;
  isTitle: boolean;
}

/** Row with its position; `y` is its vertical center. */
interface PlacedRow extends Row {
  y: number;
}

/** Bars with their positions, relative to the left edge of the panel. */
export interface PlacedBlock extends Pick<Block, "heading"> {
  top: number;
  bottom: number;
  /** Right end of labels, start and end of bars, right end of numbers, and position of zero. */
  labels: number;
  start: number;
  end: number;
  numbers: number;
  zero: number;
  /** Pixels per unit. */
  scale: number;
  rows: PlacedRow[];
}

/** Panel with its position in the figure. */
export interface PlacedPanel {
  x: number;
  y: number;
  width: number;
  height: number;
  lines: PlacedLine[];
  blocks: PlacedBlock[];
}

/** Complete description of the drawing of a link. */
export interface Scene extends Look {
  link: Link;
  /** Texts of the panels, for readers who do not see the bars. */
  said: AnswerPanel[];
  panels: PlacedPanel[];
  height: number;
  /** Curve of the weight by distance, or the reason why there is none. */
  curve: Curve | null;
  noCurve: string;
}

/** Return the scene of a link; null without a link. */
export function sceneOf(state: LinkState, look: Look): Scene | null {
  const link = state._link;
  if (!link) return null;
  const { width: room } = look;
  const count = room >= THREE ? 3 : room >= TWO ? 2 : 1;
  const width = Math.floor((room - BETWEEN * (count - 1)) / count);
  const said = panelsOf(state, link);
  const lowest = Array.from({ length: count }, () => 0);
  const panels = said.map((panel, i) => {
    const column = i < count ? i : lowest.indexOf(Math.min(...lowest));
    const y = lowest[column] ?? 0;
    const placed = placedPanel(panel, width, look);
    lowest[column] = y + placed.height + BELOW;
    return { ...placed, x: column * (width + BETWEEN), y };
  });
  const [curve, noCurve] = curveOf(state, link, look);
  return {
    ...look,
    link,
    said,
    panels,
    height: Math.max(...lowest) - BELOW,
    curve,
    noCurve,
  };
}

function placedPanel(panel: AnswerPanel, width: number, look: Look): Omit<PlacedPanel, "x" | "y"> {
  const { ruler, font } = look;
  const lines: PlacedLine[] = [];
  let y = 0;
  const write = (text: string, isTitle = false) => {
    const size = isTitle ? LABEL_SIZE : AXIS_LABEL_SIZE;
    const measure = ruler(labelFont(font, isTitle, size));
    const height = isTitle ? TITLE_LINE : LINE;
    for (const line of wrapped(text, width, measure)) {
      lines.push({ text: line, y: y + height / 2, isTitle });
      y += height;
    }
  };
  write(panel.title, true);
  for (const text of panel.above.filter(Boolean)) write(text);
  const blocks = panel.blocks.map((block) => {
    y += GAP;
    write(block.heading);
    const placed = placedBlock(block, y, width, look);
    y = placed.bottom;
    return placed;
  });
  if (blocks.length) y += GAP / 2;
  for (const text of panel.below.filter(Boolean)) write(text);
  return { width, height: y, lines, blocks };
}

function placedBlock(block: Block, top: number, width: number, look: Look): PlacedBlock {
  const { ruler, font } = look;
  const widest = (texts: string[]) => {
    const measures = [false, true].map((bold) => ruler(labelFont(font, bold)));
    return Math.max(...texts.flatMap((text) => measures.map((measure) => measure(text))));
  };
  const labels = Math.ceil(Math.min(widest(block.rows.map(({ label }) => label)), LABELS * width));
  const start = labels + GAP;
  const end = width - Math.ceil(widest(block.rows.map(({ text }) => text))) - GAP;
  const values = block.rows.flatMap(({ value, stroke = 0 }) => [value, stroke]);
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  const scale = (end - start) / (high - low || 1);
  const rows = block.rows.map((row, i) => ({ ...row, y: top + (i + 0.5) * ROW }));
  return {
    heading: block.heading,
    top,
    bottom: top + rows.length * ROW,
    labels,
    start,
    end,
    numbers: width,
    zero: start - low * scale,
    scale,
    rows,
  };
}
