import { cssWord, lineLevelOf, mixed, type Tables, thickness } from "../../shared/color_levels.js";
import { AXIS_LABEL_SIZE, labelFont, write } from "../../shared/labels.js";
import { counted } from "../../shared/numbers.js";
import { type Pen, paintRaster } from "../../shared/pen.js";
import { offNote } from "../../shared/strike.js";
import { wrapped } from "../../shared/text_width.js";
import { isWhole } from "../../shared/window.js";
import { isZoomable, type Positions, type Scene, widestOf } from "../scene.js";
import { LEVELS } from "../several/head_colors.js";
import { paintHeadCells, together } from "../several/overlay_lines.js";
import { DIFFERENCE, OF_BOTH } from "../several/two_maps.js";
import { sourceOf, weightAt } from "../source/source_of.js";
import { isPair } from "../source/target.js";
import type { VisibleMap } from "../source/visible_map.js";
import { cellTable, lineTables } from "./line_tables.js";
import { type Lines, linesInView, linesOfPairs, type Span } from "./lines_choose.js";
import { LABEL_GAP, paintColumns } from "./lines_columns.js";
import { focusOf, linesRange } from "./lines_focus.js";
import {
  EASED,
  HEADING,
  type LinesLayout,
  linesLayout,
  rowCenter,
  rowsInSight,
  STRAIGHT,
} from "./lines_layout.js";
import { rasterLines } from "./lines_raster.js";

/** Smallest thickness of the line under the pointer. */
const LEAST_MARK = 2.5;
/** Number of lines above which curves cost more than they show. */
const MOST_CURVES = 4000;
/** Space for a scroll bar. */
export const SCROLLBAR = 16;
/** Strength of the other lines while the lines of a token are highlighted. */
export const FADED = 0.2;

/** Return the layout of a scene. `whole` makes all rows visible. */
export function arrangeLines(scene: Scene, scrollTop: number, whole = false): LinesLayout {
  const { map, size } = scene;
  const widest = Math.max(widestOf(scene, "query", size), widestOf(scene, "key", size));
  const room = scene.room - (scene.slim ? 0 : SCROLLBAR);
  return linesLayout(room, scrollTop, widest, map.rows.length, map.cols.length, {
    size,
    whole,
    slim: scene.slim ?? false,
    part: isZoomable(scene.state, map) ? scene.part : undefined,
  });
}

/**
 * Return the note on the smallest weight with a line. Maps and differences have different rules.
 */
function leastNote({ map, absent }: Scene): string {
  if (!map.least) return "";
  const of = map.signed ? `${DIFFERENCE}: ` : absent ? `${OF_BOTH}: ` : "";
  const share = map.signed ? "20\u00a0% of its scale" : "1.5 times an even share";
  return `${of}no lines below ${share}, or below ${map.signed ? 0.1 : 3}\u00a0%`;
}

const NO_LINES = "No link is stronger than 1.5 times an even share.";
const NO_DIFFERENCES = "No link differs by 0.1\u00a0% of the scale of A and B.";

/** Return the map of one head, or the maps of all overlaid heads. */
const drawnMaps = (map: VisibleMap): VisibleMap[] => map.members ?? [map];

function linesOf({ map, state }: Scene, at: LinesLayout, maximum: number, focus?: Positions) {
  const toLevel = lineLevelOf(state.scale, maximum, map.signed);
  const query = rowsInSight(at, "query");
  const key = rowsInSight(at, "key");
  const sight = { start: Math.min(query.start, key.start), end: Math.max(query.end, key.end) };
  return together(
    drawnMaps(map).map((drawnMap) => {
      const source = sourceOf(drawnMap);
      if (!source.links) return linesInView(drawnMap, sight, toLevel, focus);
      const rows = [...(focus?.query ?? [])].flatMap((query) => source.row(query)?.strongest ?? []);
      return linesOfPairs([...rows, ...source.links], drawnMap, toLevel, focus);
    }),
  );
}

/** Return all visible lines. */
export const allLines = (scene: Scene, at: LinesLayout): Lines =>
  linesOf(scene, at, scene.map.maximum);

/** Return the lines of tokens that are locked or under the pointer; undefined if there are none. */
export function focusedLines(scene: Scene, at: LinesLayout): Lines | undefined {
  const focus = focusOf(scene);
  return focus && linesOf(scene, at, linesRange(scene).maximum, focus);
}

/** Return the notes on lines that are left out. */
export function linesNotes(layout: LinesLayout, lines: Lines, scene: Scene): string[] {
  const { map } = scene;
  const { rows, cols } = map;
  if (map.off) return [];
  const query = rowsInSight(layout, "query");
  const key = rowsInSight(layout, "key");
  const span = (shown: number[], { start, end }: Span) =>
    `${shown[start] ?? 0} to ${shown[end - 1] ?? 0}`;
  if (layout.part) {
    const counts = rows.length === cols.length ? rows.length : `${rows.length} × ${cols.length}`;
    return [
      isWhole({ rows: rows.length, cols: cols.length }, layout.part)
        ? ""
        : `zoomed: queries ${span(rows, query)} and keys ${span(cols, key)} of ${counts} in sight`,
      `the strongest ${counted(lines.count, "link")} in sight; weaker links are not shown`,
      leastNote(scene),
    ].filter(Boolean);
  }
  const count = Math.max(layout.rows, layout.cols);
  const start = Math.min(query.start, key.start);
  const end = Math.max(query.end, key.end);
  return [
    leastNote(scene),
    end - start < count
      ? `tokens ${start} to ${end - 1} of ${count} in sight, with their lines`
      : "",
    lines.leftOut > 0 ? `the strongest ${lines.count} lines in sight are drawn` : "",
  ].filter(Boolean);
}

/** Draw the name of its side above each column. */
export function paintHeadings(pen: Pen, at: LinesLayout, { font, theme }: Scene): void {
  pen.font = labelFont(font, false, AXIS_LABEL_SIZE);
  pen.textBaseline = "middle";
  write(pen, "from", [at.x0 - LABEL_GAP, HEADING / 2], theme.muted, "right");
  write(pen, "to", [at.x1 + LABEL_GAP, HEADING / 2], theme.muted);
}

/** Return the rectangle of the lines. */
const boxOf = ({ x0, x1, height }: LinesLayout) => ({ x: x0, y: 0, width: x1 - x0, height });

/** Draw all lines between the two columns. If tokens are highlighted, the other lines are pale. */
export function paintAllLines(
  pen: Pen,
  at: LinesLayout,
  lines: Lines,
  scene: Scene,
  fade = 1,
): void {
  const tables = lineTables(scene);
  const some = scene.highlighted.query.size + scene.highlighted.key.size > 0;
  const base = some ? { ...tables, first: tables.faded } : tables;
  const pale = (table: Uint32Array) => (fade < 1 ? mixed(scene.theme, table, fade) : table);
  paintBoth(pen, at, lines, { ...base, first: pale(base.first), second: pale(base.second) }, scene);
  paintNoLines(pen, at, lines, scene);
}

/**
 * Return why there are no lines (the head is off, or no weight is large enough), or "" if there
 * are.
 */
function reasonForNoLines(at: LinesLayout, lines: Lines, { map, state }: Scene): string {
  if (map.off) return `${offNote("This head", state._source.method)}.`;
  const isWholeInSight = at.fullHeight <= at.height && !at.part;
  if (lines.count > 0 || !map.least || !isWholeInSight) return "";
  return map.signed ? NO_DIFFERENCES : NO_LINES;
}

/** Draw a text instead of lines. A strike from token to token would look like a line. */
function paintNoLines(pen: Pen, at: LinesLayout, lines: Lines, scene: Scene) {
  const { theme, font } = scene;
  const text = reasonForNoLines(at, lines, scene);
  if (!text) return;
  const { x, y, width, height } = boxOf(at);
  pen.font = labelFont(font, false, AXIS_LABEL_SIZE);
  const words = wrapped(text, width - 16, (part) => pen.measureText(part).width);
  const line = AXIS_LABEL_SIZE + 4;
  const top = y + height / 2 - ((words.length - 1) * line) / 2;
  pen.textBaseline = "middle";
  for (const [i, text] of words.entries())
    write(pen, text, [x + width / 2, top + i * line], theme.muted, "center");
}

/**
 * Draw the parts that follow the pointer and the locks: their lines, the line under the pointer,
 * and the two columns of tokens.
 */
export function paintOverLines(
  pen: Pen,
  at: LinesLayout,
  focused: Lines | undefined,
  scene: Scene,
) {
  paintFocused(pen, at, focused, scene);
  paintColumns(pen, at, scene, lineTables(scene).first);
  if (scene.colors) paintHeadCells(pen, at, scene, cellTable(scene));
}

/**
 * Draw the lines of tokens that are locked or under the pointer, and the line under the pointer.
 */
function paintFocused(pen: Pen, at: LinesLayout, focused: Lines | undefined, scene: Scene): void {
  const { active, theme, map, state } = scene;
  const tables = lineTables(scene);
  if (focused) paintBoth(pen, at, focused, tables, scene);
  if (isPair(active) && !map.off) {
    const weight = weightAt(scene.map.most ?? map, active.query, active.key);
    const toLevel = lineLevelOf(state.scale, linesRange(scene).maximum, map.signed);
    pen.strokeStyle = theme.accent;
    pen.lineWidth = Math.max(LEAST_MARK, thickness(toLevel(weight || 0), map.signed));
    pen.beginPath();
    traceLine(pen, at, active.query, active.key, true);
    pen.stroke();
  }
}

/** Add one line to the pen's path. */
function traceLine(pen: Pen, layout: LinesLayout, query: number, key: number, curved: boolean) {
  const { x0, x1 } = layout;
  const from = rowCenter(layout, "query", query);
  const to = rowCenter(layout, "key", key);
  pen.moveTo(x0, from);
  for (const [across, along] of (curved && from !== to ? EASED : STRAIGHT).slice(1))
    pen.lineTo(x0 + across * (x1 - x0), from + along * (to - from));
}

type Only = (query: number, key: number) => boolean;

/**
 * Draw lines from weakest to strongest, with the thickness of their level and the colors of
 * `table`. Colors are opaque, so that crossing lines are not darker than a single line. `only`
 * selects lines. Each line is its own path, because browsers antialias paths of many lines more
 * coarsely.
 */
function paintLines(
  pen: Pen,
  at: LinesLayout,
  lines: Lines,
  table: Uint32Array,
  only: Only,
  signed = false,
) {
  const curved = lines.count <= MOST_CURVES;
  let last = -1;
  for (let i = 0; i < lines.count; i++) {
    const query = lines.query[i] ?? 0;
    const key = lines.key[i] ?? 0;
    const level = lines.level[i] ?? 0;
    if (!only(query, key)) continue;
    if (level !== last) {
      pen.strokeStyle = cssWord(table[level]);
      pen.lineWidth = thickness(level % LEVELS, signed);
    }
    last = level;
    pen.beginPath();
    traceLine(pen, at, query, key, curved);
    pen.stroke();
  }
}

/** Draw the lines of highlighted tokens in the second color, over all others in the first. */
function paintBoth(pen: Pen, at: LinesLayout, lines: Lines, tables: Tables, scene: Scene): void {
  const { highlighted, theme } = scene;
  const lit: Only = (query, key) => highlighted.query.has(query) || highlighted.key.has(key);
  const some = highlighted.query.size + highlighted.key.size > 0;
  if (scene.dense) {
    const curved = lines.count <= MOST_CURVES;
    const raster = rasterLines(at, lines, tables, theme, some ? lit : undefined, {
      curved,
      density: scene.density,
      signed: scene.map.signed ?? false,
    });
    paintRaster(pen, raster, at.x0, 0, at.x1 - at.x0, at.height);
    return;
  }
  const { signed } = scene.map;
  paintLines(pen, at, lines, tables.first, (query, key) => !lit(query, key), signed);
  if (!some) return;
  // Draw the second color last, so that a pale line never cuts through a strong line of the first
  // color.
  pen.globalCompositeOperation = theme.dark ? "lighten" : "darken";
  paintLines(pen, at, lines, tables.second, lit, signed);
  pen.globalCompositeOperation = "source-over";
}
