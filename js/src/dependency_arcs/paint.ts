import {
  type ArcPath,
  arcShapes,
  FAINT,
  flatArc,
  halfArc,
  onArc,
  opacityOf,
  roundArc,
  stem,
  THINNEST,
  TREE_WIDTH,
  widthOf,
} from "../shared/arc.js";
import { AXIS_LABEL_SIZE } from "../shared/labels.js";
import { ALL } from "../shared/relation_types.js";
import { type Shape, shape } from "../shared/svg.js";
import type { Theme } from "../shared/theme.js";
import type { Outcome } from "../shared/verdict.js";
import { VERDICTS } from "../shared/verdict.js";
import {
  centerOf,
  type EdgeName,
  type HangingArc,
  isIn,
  NAME_SIZE,
  type PlacedArc,
  type Widths,
  type WordRow,
} from "./arcs_layout.js";
import type { Scene } from "./scene.js";
import { type Arc, hasRelation } from "./tree.js";

/** Height of the line of words, and their baseline in it. */
export const LINE = 20;
export const BASELINE = 15;
/** Space under the words for the verdict and the arrowhead. */
export const MARK_ROOM = 18;
/** Distance from the words to the start of links, which have neither. */
const UNDER = 5;
/** Largest height of a bar under a word. */
export const BARS = 22;
/** Space around a relation's name. */
const CLEAR = 3;
/** Offset that puts lines of one pixel on full pixels. */
const CRISP = 0.5;

/** Round to a tenth of a pixel. */
const px = (x: number) => Math.round(10 * x) / 10;

const line = (d: string, stroke: string, attributes: Shape["attributes"] = {}) =>
  shape("path", { d, fill: "none", stroke, ...attributes });

const label = (text: string, x: number, y: number, fill: string, size = AXIS_LABEL_SIZE) =>
  shape("text", { x, y, fill, "font-size": size, "text-anchor": "middle" }, text);

/** Return a check mark or a cross centered at (x, y). */
export function verdict(x: number, y: number, outcome: Outcome, theme: Theme): Shape {
  const d = VERDICTS[outcome].map(
    (points) => `M${points.map(([dx, dy]) => `${x + dx} ${y + dy}`).join("L")}`,
  );
  return line(d.join(""), theme[outcome], { "stroke-width": 1.5 });
}

/** Return the parts of an arc as a group with attributes, by which a page finds the arc again. */
const group = ({ governor, dependent }: Arc, parts: Shape[], kind = "attnw-annotated") =>
  shape("g", { class: kind, "data-governor": governor, "data-dependent": dependent }, parts);

/**
 * Return an annotated arc to its dependent, from its governor or from the governor's name. `y` is
 * the top of the words.
 */
function annotatedArc({ x0, x1, height, edge }: PlacedArc, y: number): ArcPath {
  const foot = y - 2 + CRISP;
  const end: [number, number] = [x1 + CRISP, y];
  if (edge) return halfArc([x0 + CRISP, foot - height], end);
  return flatArc([x0 + CRISP, foot], end, height);
}

/**
 * Return the arcs above the words of a row, whose top is at the row's height. Arcs of the selected
 * relation come last, with its name.
 */
export function annotatedArcs(row: WordRow, scene: Scene, widths: Widths, theme: Theme): Shape[] {
  const { tree, state } = scene;
  const { relation } = state;
  const y = row.height;
  const isShown = (arc: PlacedArc) => hasRelation(relation, arc.relation);
  const arcs = [...row.arcs]
    .sort((a, b) => Number(isShown(a)) - Number(isShown(b)))
    .map((arc) => {
      const color = isShown(arc) ? theme.text : theme.hairline;
      // If the governor's name is not printed, the arc begins at the edge.
      const way = Math.sign(arc.x1 - arc.x0);
      const start = isShown(arc) || !arc.edge ? arc.x0 : way > 0 ? 0 : row.across;
      const parts = arcShapes(annotatedArc({ ...arc, x0: start }, y), {
        color,
        width: TREE_WIDTH,
        hasArrow: true,
      });
      if (!isShown(arc)) return group(arc, parts);
      parts.push(...edgeName(arc.edge, y - arc.height, theme.muted, theme));
      return group(arc, [...parts, relationName(arc, y, widths, theme)]);
    });
  if (!isIn(row, tree.root)) return arcs;
  const x = centerOf(row, tree.root) + CRISP;
  const color = relation === ALL ? theme.text : theme.hairline;
  const root = arcShapes(stem([x, 18], [x, y]), { color, width: TREE_WIDTH, hasArrow: true });
  if (relation === ALL) root.push(label("root", x, 12, theme.text));
  return [group({ governor: tree.root, dependent: tree.root }, root), ...arcs];
}

/** Return a relation's name on its arc. */
function relationName(arc: PlacedArc, y: number, widths: Widths, theme: Theme): Shape {
  const width = 2 * (Math.ceil(widths.relation(arc.relation) / 2) + CLEAR);
  const top = y - arc.height;
  const text = label(arc.relation, 0, top + 4, theme.text);
  return shape(
    "g",
    { "data-relation": arc.relation, transform: `translate(${px(arc.labelX)})` },
    onArc(text, width, [0, top], theme),
  );
}

/** Return the name of a governor in another row, level with its arc. */
function edgeName(edge: EdgeName | undefined, y: number, fill: string, theme: Theme): Shape[] {
  if (!edge) return [];
  const text = label(edge.text, px(edge.x), y + 3.5, fill, NAME_SIZE);
  return onArc(text, edge.width, [edge.x, y], theme);
}

/** Return a predicted arc under the words, from the height `y` or next to a name. */
function hangingArc({ x0, x1, depth, edge }: HangingArc, y: number, tip: number): ArcPath {
  if (!edge) return roundArc([x0, y], [x1, tip], depth, -1);
  const low = y + depth;
  return x0 === x1 ? stem([x1, low - 7], [x1, tip]) : halfArc([x0, low], [x1, tip]);
}

/** Return the height of the predicted arcs of a row, with their marks and the bars on a page. */
export const hangingHeight = (arcs: HangingArc[]) =>
  Math.ceil(
    // A governor's name extends below its line.
    MARK_ROOM + Math.max(BARS + 4, ...arcs.map(({ depth, edge }) => depth + (edge ? 8 : 4))),
  );

const outcomeOf = ({ right }: HangingArc): Outcome => (right ? "right" : "wrong");

/**
 * Return the arcs under the words of a row, from the bottom of the words on. Stronger arcs are
 * drawn over weaker ones, and no arc crosses a name or a mark.
 */
export function predictedArcs(arcs: HangingArc[], theme: Theme): Shape[] {
  const colorOf = (arc: HangingArc) => theme[outcomeOf(arc)];
  const names = arcs.flatMap((arc) =>
    edgeName(arc.edge, MARK_ROOM + 2 + arc.depth, colorOf(arc), theme),
  );
  const marks = arcs.filter(isWhole).map((arc) => group(arc, markOn(arc, theme), "attnw-mark"));
  const drawn = [...arcs]
    .sort((a, b) => a.weight - b.weight)
    .map((arc) => {
      const y = isWhole(arc) ? UNDER : MARK_ROOM + 2;
      const hasArrow = !arc.isLink;
      const parts = arcShapes(hangingArc(arc, y, hasArrow ? MARK_ROOM - 2 : y), {
        color: colorOf(arc),
        // Every arc is a prediction, so keep even the weakest arc visible.
        width: widthOf(arc.weight, THINNEST),
        opacity: opacityOf(theme),
        isDashed: !arc.right,
        hasArrow,
      });
      if (!isWhole(arc)) parts.push(verdict(arc.x1, 5, outcomeOf(arc), theme));
      return group(arc, parts, `attnw-${outcomeOf(arc)}`);
    });
  return [...drawn, ...marks, ...names];
}

/**
 * Return whether an arc is a link with both words in the row. It has no arrow, and its mark is on
 * it.
 */
const isWhole = ({ isLink, edge }: HangingArc) => Boolean(isLink) && !edge;

function markOn(arc: HangingArc, theme: Theme): Shape[] {
  const x = px((arc.x0 + arc.x1) / 2);
  const y = px(UNDER + arc.depth);
  return onArc(verdict(x, y, outcomeOf(arc), theme), 14, [x, y], theme);
}

/** Fade all arcs except those of a word, as on a page while the word is held. */
export const pointing = (shapes: Shape[], word: number | undefined): Shape[] =>
  shapes.map((shape) => {
    const { "data-dependent": dependent, "data-governor": governor } = shape.attributes;
    const pale =
      word !== undefined && dependent !== undefined && dependent !== word && governor !== word;
    return pale ? { ...shape, attributes: { ...shape.attributes, opacity: FAINT } } : shape;
  });

/** Return the bar under a word, centered at `x`, with its share of the held word's weights. */
export const barAt = (x: number, share: number) => ({
  x: x - 7,
  y: MARK_ROOM,
  width: 14,
  height: share > 0 ? Math.max(0.5, BARS * share).toFixed(1) : "0",
});
