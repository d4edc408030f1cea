import { clamp } from "../../shared/clamp.js";
import { shortName } from "../../shared/head_names.js";
import { AXIS_LABEL_SIZE, labelFont, shorten } from "../../shared/labels.js";
import type { Pen } from "../../shared/pen.js";
import { differencePrinter } from "../../shared/quantity.js";
import { wrapped } from "../../shared/text_width.js";
import { HEADING, type LinesLayout } from "../lines/lines_layout.js";
import { arrangeLines } from "../lines/lines_paint.js";
import type { MatrixLayout } from "../matrix/matrix_layout.js";
import { arrangeMatrix } from "../matrix/matrix_paint.js";
import type { Scene } from "../scene.js";
import { absentIn, PLACES_OF_TWO } from "./two_maps.js";

/** Height of the name above each head, large enough for touch. */
export const TITLE = 24;
const GAP = 16;
const LEAST_LINES = 216;
/** Cell size from which all labels are printed. */
const LABELLED_CELL = 13;
const LEAST_PLOT = 120;
const WIDEST_PLOT = 320;
/** Space that a matrix needs next to its cells. */
const OVERHANG = 48;

/** Panel of one head among several, with its position. */
export interface HeadPanel {
  scene: Scene;
  name: string;
  x: number;
  /** Top of the name; the figure is below it. */
  y: number;
  width: number;
  height: number;
  /** Horizontal center of the name, relative to x. */
  middle: number;
  lines?: LinesLayout;
  matrix?: MatrixLayout;
}

/** Panels of heads in as many columns as fit, filled evenly. */
export interface SideBySide {
  panels: HeadPanel[];
  width: number;
  height: number;
}

function columnsIn({ room, state, map }: Scene, count: number): number {
  const plot = clamp(LABELLED_CELL * map.cols.length, LEAST_PLOT, WIDEST_PLOT);
  const least = state.mode === "lines" ? LEAST_LINES : plot + OVERHANG;
  const most = clamp(Math.floor((room + GAP) / (least + GAP)), 1, count);
  return Math.ceil(count / Math.ceil(count / most));
}

/**
 * Return the panels of all heads. Visible lines begin at `scrollTop`; `whole` makes all rows
 * visible.
 */
export function arrangeBeside(scene: Scene, scrollTop = 0, whole = false): SideBySide {
  const { room, map, several } = scene;
  const all = [...(map.members ?? []).entries()];
  const drawn = several?.names && PLACES_OF_TWO[scene.state.comparison_part];
  const members = drawn ? all.filter(([place]) => drawn.includes(place)) : all;
  const columns = columnsIn(scene, members.length);
  const share = Math.floor(room / columns) - GAP;
  // Row labels are printed only once, so divide their space among the cells of all panels.
  const matrix = scene.state.mode === "matrix";
  const saved = matrix ? arrangeMatrix({ ...scene, room: share }).rowLabel : 0;
  const cellWidth = share + Math.floor((saved * (columns - 1)) / columns);
  const panels: HeadPanel[] = [];
  let x = 0;
  let y = 0;
  let width = 0;
  for (const [i, member] of members) {
    const at = panels.length;
    const row = Math.floor(at / columns);
    const column = at % columns;
    const above = panels[at - columns];
    if (column === 0) [x, y] = [0, above ? above.y + above.height + GAP : 0];
    const reach = member.signed ? member : map.most;
    const part: Scene = {
      ...scene,
      map: member,
      reach,
      several: undefined,
      room: cellWidth,
      slim: true,
    };
    if (several?.names) part.absent = absentIn(i, scene.axes, member);
    const labeled = { query: column === 0, key: row === 0 };
    const layouts = matrix
      ? { matrix: arrangeMatrix({ ...part, labeled }) }
      : { lines: arrangeLines(part, scrollTop, whole) };
    const layout = layouts.matrix ?? (layouts.lines as LinesLayout);
    const middle = layouts.matrix
      ? layouts.matrix.x0 + (layouts.matrix.cols * layouts.matrix.cellWidth) / 2
      : layout.width / 2;
    const head = several?.heads[i];
    // Small differences have lines as thick as large weights in the other panels, so print their
    // range.
    const range =
      several?.names && member.signed
        ? `, ±${differencePrinter(scene.state.quantity)(member.maximum).slice(1)}`
        : "";
    panels.push({
      scene: matrix ? { ...part, labeled } : part,
      name: (several?.names?.[i] ?? (head ? shortName(head, scene.state) : "")) + range,
      x,
      y,
      middle,
      width: layout.width,
      height: TITLE + (matrix ? 0 : HEADING) + layout.height,
      ...layouts,
    });
    width = Math.max(width, x + layout.width);
    // Keep columns aligned if only the first row has key labels.
    x += (panels[column]?.width ?? layout.width) + GAP;
  }
  const last = panels.at(-1);
  return { panels, width, height: last ? last.y + last.height : 0 };
}

/** Draw the name above each panel. A long name has two lines in a smaller font. */
export function paintNames(pen: Pen, { panels }: SideBySide, { theme, font, ruler }: Scene): void {
  pen.fillStyle = theme.text;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const { name, x, y, middle, width } of panels) {
    const room = 2 * Math.min(middle, width - middle);
    pen.font = labelFont(font, true);
    if (ruler(pen.font)(name) <= room) {
      pen.fillText(name, x + middle, y + TITLE / 2);
      continue;
    }
    pen.font = labelFont(font, true, AXIS_LABEL_SIZE);
    const measure = ruler(pen.font);
    const [first = "", ...rest] = wrapped(name, room, measure);
    pen.fillText(first, x + middle, y + TITLE / 4);
    pen.fillText(shorten(measure, rest.join(" "), room), x + middle, y + (3 * TITLE) / 4);
  }
}
