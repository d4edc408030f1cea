import { canvasSize, type GridLayout } from "../shared/cells.js";
import { clamp } from "../shared/clamp.js";
import { AXIS_LABEL_SIZE, LABEL_SIZE, labelFont, shorten } from "../shared/labels.js";
import type { Look } from "../shared/mount.js";
import { wrapped } from "../shared/text_width.js";
import { printed, type Scene } from "./scene.js";
import { COLUMNS, type Column } from "./state.js";

/**
 * Height of a row and of the headings, including the line below, and of a line of text above the
 * table.
 */
export const ROW = 25;
export const LINE = 16;
const ABOVE = 4;
/** Padding at both ends of a relation's name, and of a head's name in its frame. */
export const NAME = 4;
/** Space for the arrow next to a heading. */
export const ARROW = 12;
/** Space at the end of a row for its asterisk. */
export const STAR = 9;
/**
 * Gaps between a bar and its number, a number and its interval, and an offset's accuracy and the
 * offset.
 */
const BAR_GAP = 8;
const INTERVAL_GAP = 6;
const OFFSET_GAP = 4;
/** Limits for using extra space: first for space between columns, then for the bars. */
const MOST = { pad: 12, bar: 200 };

const TITLES: Record<Column, string> = {
  relation: "relation",
  n: "n",
  head: "best head",
  direction: "looks at",
  accuracy: "accuracy %",
  other_texts: "other texts %",
  baseline: "offset %",
  gain: "gain",
};
/** Short headings for narrow tables. */
const SHORT: Partial<Record<Column, string>> = {
  head: "head",
  direction: "to",
  accuracy: "acc. %",
  baseline: "off. %",
};

/** Return the full headings; the heading of other texts names their corpus. */
export function titlesOf({ other }: Scene): Record<Column, string> {
  if (!other) return TITLES;
  return { ...TITLES, other_texts: `on ${other.corpus} %` };
}

/**
 * Layouts of a row with the smallest width of the figure for each: bars are dropped before numbers.
 * The narrowest figure has no offset column (its accuracy is the head's minus the gain), and long
 * names are cut.
 */
const LOOKS = [
  {
    from: 560,
    bar: 48,
    pad: 8,
    chip: 7,
    intervals: true,
    short: false,
    tight: false,
    size: LABEL_SIZE,
  },
  {
    from: 448,
    bar: 24,
    pad: 6,
    chip: 3,
    intervals: true,
    short: true,
    tight: false,
    size: LABEL_SIZE,
  },
  {
    from: 416,
    bar: 0,
    pad: 4,
    chip: 3,
    intervals: true,
    short: true,
    tight: false,
    size: LABEL_SIZE,
  },
  {
    from: 0,
    bar: 0,
    pad: 4,
    chip: 3,
    intervals: false,
    short: true,
    tight: false,
    size: LABEL_SIZE,
  },
  {
    from: 0,
    bar: 0,
    pad: 2,
    chip: 3,
    intervals: false,
    short: true,
    tight: false,
    size: AXIS_LABEL_SIZE,
  },
  {
    from: 0,
    bar: 0,
    pad: 2,
    chip: 2,
    intervals: false,
    short: true,
    tight: true,
    size: AXIS_LABEL_SIZE,
  },
] as const;
/** Smallest width of a cut name. */
const LEAST_NAME = 40;
// Columns that are aligned to the right, like the accuracy if it has no bar.
const RIGHT: Column[] = ["n", "head", "other_texts", "baseline", "gain"];
const LEFT_OUT = "offset %: accuracy less gain";
type RowLook = (typeof LOOKS)[number];

export interface TableLayout {
  width: number;
  height: number;
  /** Lines of text above the table. */
  lines: string[];
  /** Top of the headings. */
  top: number;
  headings: Record<Column, string>;
  /** Visible columns. */
  shown: Column[];
  /** Names of relations, cut to the available width. */
  names: string[];
  /**
   * Left and right end of each column's texts, and the width of the column with the space before
   * it.
   */
  columns: Record<Column, { left: number; right: number; whole: number }>;
  /** Columns whose texts are aligned to the right; the others are aligned to the left. */
  toTheRight: ReadonlySet<Column>;
  pad: number;
  /** Width of the bars; 0 if there are none. */
  bar: number;
  /**
   * Widths, with the space before them, of a bar's number, its interval (0 if not printed) and an
   * offset.
   */
  number: number;
  interval: number;
  offset: number;
  /** Width of the frame around a head's name, and its padding. */
  frame: number;
  chip: number;
  /** Whether directions and headings are shortened. */
  short: boolean;
  /** Font size of the rows. */
  size: number;
}

/** Available width for the table, and for the whole figure. */
interface Room extends Pick<Look, "font" | "ruler"> {
  room: number;
  whole: number;
}

export const directionOf = (direction: string, { short }: { short: boolean }) =>
  short ? `${direction.slice(0, 3)}.` : direction;

/** Return the most detailed table that fits. A table whose numbers need more space is wider. */
function tableLayout(scene: Scene, ground: Room): TableLayout {
  let widest: TableLayout | undefined;
  for (const look of LOOKS) {
    if (ground.whole < look.from) continue;
    widest = arranged(scene, ground, look);
    if (widest.width <= ground.room) break;
  }
  return widest as TableLayout;
}

function arranged(scene: Scene, { room, font, ruler }: Room, look: RowLook): TableLayout {
  const rows = scene.rows.map(printed);
  /** Replace digits by 0, because the page uses digits of equal width. */
  const widest = (texts: string[], bold = false, size: number = look.size) => {
    const measure = ruler(labelFont(font, bold, size));
    return Math.ceil(
      texts.reduce((most, text) => Math.max(most, measure(text.replace(/\d/g, "0"))), 0),
    );
  };
  const of = (name: keyof (typeof rows)[number], bold = false) =>
    widest(
      rows.map((row) => row[name]),
      bold,
    );
  const titles = titlesOf(scene);
  const brief = scene.other ? { ...SHORT, other_texts: scene.other.corpus } : SHORT;
  const headings = look.short ? { ...titles, ...brief } : titles;
  const number = of("accuracy", true) + (look.bar ? BAR_GAP : 0);
  const interval = look.intervals ? INTERVAL_GAP + of("interval") : 0;
  const offset = OFFSET_GAP + of("offset");
  const frame = of("head") + 2 * look.chip;
  const content: Record<Column, number> = {
    relation: of("relation", true) + 2 * NAME,
    n: of("n"),
    head: frame,
    direction: widest(rows.map(({ direction }) => directionOf(direction, look))),
    accuracy: look.bar + number + interval,
    other_texts: of("other_texts"),
    baseline: of("baseline") + offset,
    gain: of("gain"),
  };
  const width = Object.fromEntries(
    COLUMNS.map((name) => {
      const heading = widest([headings[name]], true, AXIS_LABEL_SIZE) + ARROW;
      return [name, Math.max(content[name], heading + (name === "relation" ? NAME : 0))];
    }),
  ) as Record<Column, number>;
  const shown = scene.columns.filter((name) => !look.tight || name !== "baseline");
  const gaps = shown.length - 1;
  const needed = () => shown.reduce((sum, name) => sum + width[name], gaps * pad + STAR);
  let pad: number = look.pad;
  pad = Math.min(MOST.pad, pad + Math.max(0, Math.floor((room - needed()) / gaps)));
  if (look.tight)
    width.relation = clamp(width.relation + room - needed(), LEAST_NAME, width.relation);
  const rest = number + interval;
  if (look.bar) {
    const most = Math.max(width.accuracy, MOST.bar + rest);
    width.accuracy = Math.min(most, width.accuracy + Math.max(0, room - needed()));
  }
  const columns = {} as TableLayout["columns"];
  let x = 0;
  for (const name of scene.columns) {
    const left = x && x + pad;
    const taken = shown.includes(name) ? left + width[name] : x;
    const end = taken + (name === "gain" ? STAR : 0);
    columns[name] = { left, right: taken, whole: end - x };
    x = end;
  }
  const bold = ruler(labelFont(font, true, look.size));
  const said = look.tight ? `${scene.said} · ${LEFT_OUT}` : scene.said;
  const lines = wrapped(said, x, ruler(labelFont(font, false, AXIS_LABEL_SIZE)));
  const top = lines.length * LINE + ABOVE;
  return {
    width: x,
    height: top + ROW * (rows.length + 1),
    lines,
    top,
    headings,
    shown,
    columns,
    pad,
    names: rows.map(({ relation }) => shorten(bold, relation, width.relation - 2 * NAME)),
    toTheRight: new Set<Column>(look.bar ? RIGHT : [...RIGHT, "accuracy"]),
    bar: look.bar && width.accuracy - rest,
    number,
    interval,
    offset,
    frame,
    chip: look.chip,
    short: look.short,
    size: look.size,
  };
}

/**
 * Space for numbers to the left of the map and above it, space after its last column, and the
 * limits of its cell size.
 */
const MAP = { left: 28, top: 18, right: 4, smallest: 8, largest: 30 };

/**
 * Return the layout of a map of layers x heads with cells as large as `width` allows; the smallest
 * cells may need more.
 */
export function heatLayout(width: number, rows: number, cols: number, dpr: number): GridLayout {
  const snap = (x: number) => Math.round(x * dpr) / dpr;
  const gap = snap(2);
  const room = (width - MAP.left - MAP.right) / Math.max(1, cols) - gap;
  const cell = Math.floor(clamp(room, MAP.smallest, MAP.largest) * dpr) / dpr;
  return { x0: snap(MAP.left), y0: snap(MAP.top), cell, tall: cell, gap, band: 0, dpr, rows, cols };
}

/** Return whether the smallest cells of this many heads fit into a width. */
export const heatFits = (width: number, heads: number) =>
  canvasSize(heatLayout(width, 1, heads, 1))[0] <= width;

/** Width from which the map is next to the table, and its smallest width there. */
const WIDE = 960;
const ASIDE = 384;
/** Space between the table and the map. */
const SPACE = 24;

interface Arranged {
  table: TableLayout;
  heat: GridLayout;
  /** Width of the map next to the table; 0 if the map is below. */
  aside: number;
}

type Page = Omit<Look, "theme">;

/**
 * Return the layout of table and map. The table's scroll bar takes `gutter` of the width. Without
 * `hasColumns`, the map is always below the table.
 */
export function arrange(
  scene: Scene,
  { width: room, density, ...type }: Page,
  gutter = 0,
  hasColumns = true,
): Arranged {
  const layers = scene.heat?.layers ?? 0;
  const heads = scene.heat?.heads ?? 0;
  const arranged = (rest: number): Arranged => {
    const available = room - gutter - rest;
    const table = tableLayout(scene, { room: available, whole: room, ...type });
    const aside = rest && room - gutter - table.width - SPACE;
    return { table, aside, heat: heatLayout(aside || room, layers, heads, density) };
  };
  if (hasColumns && room >= WIDE && heatFits(ASIDE, heads)) {
    const beside = arranged(ASIDE + SPACE);
    // Put the map next to the table only if the table stays complete.
    if (!beside.table.short && beside.aside >= ASIDE) return beside;
  }
  return arranged(0);
}
