import { canvasSize, type GridLayout } from "../shared/cells.js";
import { clamp } from "../shared/clamp.js";
import { AXIS_LABEL_SIZE, LABEL_SIZE, labelFont, shorten } from "../shared/labels.js";
import type { Look } from "../shared/mount.js";
import { wrapped } from "../shared/text_width.js";
import { printed, type Scene } from "./scene.js";
import { COLUMNS, type Column } from "./state.js";

/**
 * Heights of a row and of the headings, with the line under them; and of a line above the table.
 */
export const ROW = 25;
export const LINE = 16;
const ABOVE = 4;
/** At both ends of a relation's name, and of a head's with its frame. */
export const NAME = 4;
/** Room for the arrow beside a heading. */
export const ARROW = 12;
/** Room at the end of a row for its asterisk. */
export const STAR = 9;
/**
 * Between a bar and its number, the number and its interval, the offset's accuracy and the offset.
 */
const BAR_GAP = 8;
const INTERVAL_GAP = 6;
const OFFSET_GAP = 4;
/** What fills the room that is left: space between columns first, then the bars. */
const MOST = { pad: 12, bar: 240 };

export const TITLES: Record<Column, string> = {
  relation: "relation",
  n: "n",
  head: "best head",
  direction: "looks at",
  accuracy: "accuracy %",
  baseline: "offset %",
  gain: "gain",
};
/** The short heading for narrow tables. */
const SHORT: Partial<Record<Column, string>> = {
  head: "head",
  direction: "to",
  accuracy: "acc. %",
  baseline: "off. %",
};

/**
 * The parts of a row, by the smallest width of the figure that has room for them: bars go before
 * numbers. In the narrowest figure the offset column is dropped (its accuracy is the head's minus
 * the gain), and long names are cut short.
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
/** What a name keeps at least of its room. */
const LEAST_NAME = 40;
// Columns that stand on the right of their place. A number that has no bar does too.
const RIGHT: Column[] = ["n", "head", "baseline", "gain"];
const LEFT_OUT = "offset %: accuracy less gain";
type RowLook = (typeof LOOKS)[number];

export interface TableLayout {
  width: number;
  height: number;
  /** What stands over the table. */
  lines: string[];
  /** Where the headings start. */
  top: number;
  headings: Record<Column, string>;
  /** Columns that are shown. */
  shown: Column[];
  /** Relations as there is room for them. */
  names: string[];
  /**
   * Start and end of each column's texts; the share of the table that the column takes with the
   * space before it.
   */
  columns: Record<Column, { left: number; right: number; whole: number }>;
  /** Columns whose texts end alike; the others start alike. */
  toTheRight: ReadonlySet<Column>;
  pad: number;
  /** 0 where there are no bars. */
  bar: number;
  /**
   * Room, with the space before it, of a bar's number, its interval (0: not printed) and an offset.
   */
  number: number;
  interval: number;
  offset: number;
  /** Width of the frame round a head's name, and from the name to its end. */
  frame: number;
  chip: number;
  /** Directions and headings are shortened. */
  short: boolean;
  /** Of the rows' letters. */
  size: number;
}

/** Width there is for the table, and for the whole figure. */
interface Room extends Pick<Look, "font" | "ruler"> {
  room: number;
  whole: number;
}

export const directionOf = (direction: string, { short }: { short: boolean }) =>
  short ? `${direction.slice(0, 3)}.` : direction;

/** The richest table that fits in its room; numbers that need more make it wider. */
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
  /** Digits are all as wide as the widest on a page. */
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
  const headings = look.short ? { ...TITLES, ...SHORT } : TITLES;
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
    baseline: of("baseline") + offset,
    gain: of("gain"),
  };
  const width = Object.fromEntries(
    COLUMNS.map((name) => {
      const heading = widest([headings[name]], true, AXIS_LABEL_SIZE) + ARROW;
      return [name, Math.max(content[name], heading + (name === "relation" ? NAME : 0))];
    }),
  ) as Record<Column, number>;
  const shown = COLUMNS.filter((name) => !look.tight || name !== "baseline");
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
  for (const name of COLUMNS) {
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
 * Of the map: room for numbers at its left and top, after its last column; the size of its cells.
 */
const MAP = { left: 28, top: 18, right: 4, smallest: 8, largest: 30 };

/** Cells of a map of layers x heads, as large as `width` allows; the smallest may need more. */
export function heatLayout(width: number, rows: number, cols: number, dpr: number): GridLayout {
  const snap = (x: number) => Math.round(x * dpr) / dpr;
  const gap = snap(2);
  const room = (width - MAP.left - MAP.right) / Math.max(1, cols) - gap;
  const cell = Math.floor(clamp(room, MAP.smallest, MAP.largest) * dpr) / dpr;
  return { x0: snap(MAP.left), y0: snap(MAP.top), cell, tall: cell, gap, band: 0, dpr, rows, cols };
}

/** Whether the smallest cells of so many heads fit in a width. */
export const heatFits = (width: number, heads: number) =>
  canvasSize(heatLayout(width, 1, heads, 1))[0] <= width;

/** From this width on the map stands beside the table, at least so wide. */
const WIDE = 960;
const ASIDE = 384;
/** Between the table and the map. */
const SPACE = 24;

interface Arranged {
  table: TableLayout;
  heat: GridLayout;
  /** Room for the map beside the table; 0 where it stands below. */
  aside: number;
}

type Page = Omit<Look, "theme">;

/**
 * Where table and map stand; the table's scroll bar takes `gutter` of the width. In one column, the
 * map stands below the table at any width.
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
    // Nothing is left out of the table for the map's sake.
    if (!beside.table.short && beside.aside >= ASIDE) return beside;
  }
  return arranged(0);
}
