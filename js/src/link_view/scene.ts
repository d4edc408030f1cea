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
/** Largest width of the panel on the whole weight. */
const WIDEST = 760;
/** Largest absolute logarithm of a factor that is drawn, and smallest distance between ticks. */
const LARGEST = Math.log(1e5);
const APART = 48;
const BELOW = 20;
const TITLE_LINE = 18;
const LINE = 15;
export const ROW = 18;
/** Height of a row of a factor, and of the ticks above it. */
const FACTOR_ROW = 22;
export const TICKS = 16;
const GAP = 8;
/** Largest share of a panel's width for labels. */
const LABELS = 0.5;

/** Line of text with its position; `y` is its vertical center. */
interface PlacedLine {
  text: string;
  y: number;
  isTitle: boolean;
}

/** Labeled line of a scale. */
interface Tick {
  text: string;
  x: number;
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
  /** Ticks above the bars; none without a logarithmic scale. */
  ticks: Tick[];
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
  const [why, ...others] = panelsOf(state, link);
  if (!why) return null;
  const most = room >= THREE ? 3 : room >= TWO ? 2 : 1;
  const count = Math.min(most, others.length);
  const width = Math.floor((room - BETWEEN * (count - 1)) / count);
  const first = { ...placedPanel(why, Math.min(room, WIDEST), look), x: 0, y: 0 };
  const lowest = Array.from({ length: count }, () => first.height + BELOW);
  const panels = others.map((panel, i) => {
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
    said: [why, ...others],
    panels: [first, ...panels],
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
  const { heading, isFactors = false } = block;
  const widest = (texts: string[]) => {
    const measures = [false, true].map((bold) => ruler(labelFont(font, bold)));
    return Math.max(...texts.flatMap((text) => measures.map((measure) => measure(text))));
  };
  const labels = Math.ceil(Math.min(widest(block.rows.map(({ label }) => label)), LABELS * width));
  const start = labels + GAP;
  const end = width - Math.ceil(widest(block.rows.map(({ text }) => text))) - GAP;
  const bars = block.rows.map((row) => ({
    ...row,
    value: isFactors ? Math.max(-LARGEST, Math.min(LARGEST, row.value)) : row.value,
  }));
  const values = bars.flatMap(({ value, stroke = 0 }) => [value, stroke]);
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  const scale = (end - start) / (high - low || 1);
  const zero = start - low * scale;
  const height = isFactors ? FACTOR_ROW : ROW;
  const above = isFactors ? TICKS : 0;
  const rows = bars.map((row, i) => ({ ...row, y: top + above + (i + 0.5) * height }));
  const ticks = isFactors ? factorTicks(low, high, APART / scale) : [];
  return {
    heading,
    top,
    bottom: top + above + rows.length * height,
    labels,
    start,
    end,
    numbers: width,
    zero,
    scale,
    ticks: ticks.map((factor) => ({ text: tickText(factor), x: zero + Math.log(factor) * scale })),
    rows,
  };
}

/** Return the factors to label: 1, and 2, 5, 10, 20 ... and their inverses, if they fit. */
function factorTicks(low: number, high: number, apart: number): number[] {
  const steps = [0, 1, 2, 3, 4, 5].flatMap((power) =>
    [1, 2, 5].map((digit) => digit * 10 ** power),
  );
  const upTo = (limit: number): number[] => {
    const ticks = [1];
    for (const step of steps) {
      const isApart = Math.log(step) - Math.log(ticks.at(-1) ?? 1) >= apart;
      if (isApart && Math.log(step) <= limit + 1e-9) ticks.push(step);
    }
    return ticks;
  };
  const below = upTo(-low).slice(1);
  return [...below.reverse().map((step) => 1 / step), ...upTo(high)];
}

const tickText = (factor: number) =>
  factor === 1
    ? "equal"
    : `× ${factor >= 1 ? factor.toLocaleString("en-US") : Number(factor.toPrecision(1))}`;
