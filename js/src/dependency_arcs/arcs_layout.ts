import { arcLevels, flatHeight, PORT, roundHeight } from "../shared/arc.js";
import { AXIS_LABEL_SIZE, labelFont, type Measure, type Ruler, shorten } from "../shared/labels.js";
import { CLOSING } from "../shared/punctuation.js";
import { type Annotated, type Arc, type Predicted, ROOT, type Tree } from "./tree.js";

export const WORD_SIZE = 14;
/** Font size and largest width of the name of a governor in another row, at the edge. */
export const NAME_SIZE = 10;
const NAME_ROOM = 72;
/** Free space at both ends of a row. */
export const EDGE = 12;
const GAP = 14;
/** Space on both sides of a relation's name on its arc. */
const BESIDE = 11;
const TOP = 12;
/** Vertical distance between predicted arcs from other rows. */
const LEVEL = 13;
/** Distance from a word that is predicted to be the root down to the name "root". */
const ROOT_DEPTH = 21;
/** Distance from the deepest arc to the name "root" below it. */
const BELOW = 12;

/** Text widths in pixels. */
export interface Widths {
  word: Measure;
  relation: Measure;
  name: Measure;
}

export const widthsIn = (ruler: Ruler, font: string): Widths => ({
  word: ruler(labelFont(font, false, WORD_SIZE)),
  relation: ruler(labelFont(font, false, AXIS_LABEL_SIZE)),
  name: ruler(labelFont(font, false, NAME_SIZE)),
});

/** Name of a governor in another row, printed at the edge on its side. */
export interface EdgeName {
  text: string;
  /** Horizontal center of the name. */
  x: number;
  width: number;
}

/** Position of an arc in the row of its dependent. */
interface ArcPlace {
  /** Ends of the arc: at the governor or next to its name at the edge, and at the dependent. */
  x0: number;
  x1: number;
  edge: EdgeName | undefined;
}

/**
 * Annotated arc, with the height of its flat part above the words and the center of its relation's
 * name.
 */
export interface PlacedArc extends Annotated, ArcPlace {
  height: number;
  labelX: number;
}

/** Predicted arc, with its depth below the line where the arcs of the row end. */
export interface HangingArc extends Predicted, ArcPlace {
  depth: number;
}

/** Row of the words from `start` to `end` (exclusive), with the annotated arcs that end there. */
export interface WordRow {
  start: number;
  end: number;
  /** Center and width of each word. */
  centers: number[];
  widths: number[];
  arcs: PlacedArc[];
  /** Width of the row in pixels. */
  width: number;
  /** Width of the widest row. */
  across: number;
  /** Height of all annotated arcs with the names of their relations. */
  height: number;
}

export const isIn = ({ start, end }: WordRow, word: number) => word >= start && word < end;
export const centerOf = (row: WordRow, word: number) => row.centers[word - row.start] ?? 0;
const length = (arc: Arc) => Math.abs(arc.governor - arc.dependent);

/**
 * Return the sentence in rows of at most `room` pixels; a wider word has its own row. An arc from a
 * governor in another row begins at the edge of its row, with the governor's name.
 */
export function rowsOf(tree: Tree, widths: Widths, room: number): WordRow[] {
  const count = tree.words.length;
  const rows: WordRow[] = [];
  for (let start = 0; start < count; start = rows.at(-1)?.end ?? count) {
    // Try one row for all words first, because it usually fits.
    let row = rowOf(tree, start, start === 0 ? count : start + 1, widths);
    if (row.width > room && start === 0) row = rowOf(tree, 0, 1, widths);
    while (row.end < count) {
      const longer = rowOf(tree, start, row.end + 1, widths);
      if (longer.width > room) break;
      row = longer;
    }
    // Do not begin a row with the closing punctuation of the previous row.
    while (row.end < count && row.end - start > 1 && CLOSING.test(tree.words[row.end] ?? ""))
      row = rowOf(tree, start, row.end - 1, widths);
    rows.push(row);
  }
  if (rows.length < 2) return rows;
  const across = Math.max(room, ...rows.map(({ width }) => width));
  return rows.map(({ start, end }) => rowOf(tree, start, end, widths, across));
}

function governorName(tree: Tree, { governor }: Arc, widths: Widths) {
  const text = shorten(widths.name, governor < 0 ? ROOT : (tree.words[governor] ?? ""), NAME_ROOM);
  return { text, width: widths.name(text) };
}

/**
 * Lay out words with the distances that they and the names of their arcs need. `across` is the
 * width of the widest row, if there are several.
 */
function rowOf(tree: Tree, start: number, end: number, widths: Widths, across = 0): WordRow {
  const annotated = tree.annotated.filter(({ dependent }) => dependent >= start && dependent < end);
  const isWithin = ({ governor }: Arc) => governor >= start && governor < end;
  const places = ports(tree, start, end, annotated);
  const offset = (word: number, arc: Arc) => places[word - start]?.offsets.get(arc.dependent) ?? 0;
  const needed = ({ relation }: Annotated) => widths.relation(relation) + 2 * BESIDE;

  const sizes = tree.words.slice(start, end).map((word) => Math.ceil(widths.word(word)));
  const centers: number[] = [];
  const end0 = (arc: Arc) => (centers[arc.governor - start] ?? 0) + offset(arc.governor, arc);
  const end1 = (arc: Arc) => (centers[arc.dependent - start] ?? 0) + offset(arc.dependent, arc);
  const nameEnd = (arc: Arc) => governorName(tree, arc, widths).width + 4;
  // End of the occupied space so far.
  let taken = EDGE - GAP;
  for (const [i, { left, right }] of places.entries()) {
    const word = start + i;
    const half = (sizes[i] ?? 0) / 2;
    let x = taken + GAP + Math.max(half, left);
    for (const arc of annotated.filter((arc) => Math.max(arc.dependent, arc.governor) === word)) {
      const other = arc.governor === word ? end1(arc) : isWithin(arc) ? end0(arc) : nameEnd(arc);
      x = Math.max(x, other - offset(word, arc) + needed(arc));
    }
    centers.push(Math.round(x));
    taken = Math.round(x) + Math.max(half, right);
  }
  const hasRoot = tree.root >= start && tree.root < end;
  const rootEnd = (centers[tree.root - start] ?? 0) + widths.relation("root") / 2;
  const ends = annotated
    .filter(({ governor }) => governor >= end)
    .map((arc) => end1(arc) + needed(arc) + nameEnd(arc));
  const width = Math.max(taken + EDGE, hasRoot ? rootEnd + EDGE : 0, ...ends);

  const levels = arcLevels(
    annotated.map((arc) => [arc.dependent, Math.min(Math.max(arc.governor, start - 1), end)]),
  );
  const arcs = annotated.map((arc, i): PlacedArc => {
    const x1 = end1(arc);
    const height = flatHeight(levels[i] ?? 0);
    if (isWithin(arc)) {
      const x0 = end0(arc);
      return { ...arc, x0, x1, height, labelX: (x0 + x1) / 2, edge: undefined };
    }
    const [side, way] = arc.governor < start ? [0, 1] : [Math.max(across, width), -1];
    const name = governorName(tree, arc, widths);
    // Put the relation next to the arrow, away from the governor's name.
    const labelX = x1 - way * (needed(arc) / 2);
    const edge = { ...name, x: side + (way * name.width) / 2 };
    return { ...arc, x0: side + way * (name.width + 4), x1, height, labelX, edge };
  });
  const most = Math.max(0, ...levels) + Number(hasRoot);
  return {
    start,
    end,
    centers,
    widths: sizes,
    arcs,
    width,
    across: Math.max(across, width),
    height: flatHeight(most) + (most ? TOP : 0),
  };
}

/**
 * Return the ends of arcs at each word: offsets from the word's center by dependent, and the extent
 * on either side. Longer arcs end closer to the center, and the incoming arrow points at the
 * center.
 */
function ports(tree: Tree, start: number, end: number, annotated: Annotated[]) {
  const shortFirst = [...annotated].sort((a, b) => length(a) - length(b));
  return tree.words.slice(start, end).map((_, i) => {
    const word = start + i;
    const before = shortFirst.filter((arc) => Math.max(arc.dependent, arc.governor) === word);
    const after = shortFirst.filter((arc) => Math.min(arc.dependent, arc.governor) === word);
    const root = tree.root === word ? [undefined] : [];
    const order = [...before, ...root, ...after.reverse()];
    const incoming = order.findIndex((arc) => !arc || arc.dependent === word);
    const place = (index: number) => (index - incoming) * PORT;
    return {
      offsets: new Map(order.flatMap((arc, j) => (arc ? [[arc.dependent, place(j)]] : []))),
      left: PORT / 2 - place(0),
      right: PORT / 2 + place(order.length - 1),
    };
  });
}

/** Return the predicted arcs of a row. */
export function hangingIn(
  tree: Tree,
  row: WordRow,
  arcs: Predicted[],
  widths: Widths,
): HangingArc[] {
  const inRow = arcs.filter(({ dependent }) => isIn(row, dependent));
  const near = inRow.filter(({ governor }) => isIn(row, governor)).map((arc) => nearArc(arc, row));
  const far = inRow.filter(({ governor }) => governor >= 0 && !isIn(row, governor));
  const levels = arcLevels(
    far.map(({ dependent, governor }) => [
      dependent,
      governor < row.start ? row.start - 1 : row.end,
    ]),
  );
  /** Return the depth below the arcs that pass the names of governors at an edge of the row. */
  const depthAt = (side: number) => {
    const names = far.filter(({ governor }) => (governor < row.start ? 0 : row.across) === side);
    const widest = Math.max(0, ...names.map((arc) => governorName(tree, arc, widths).width));
    const passing = near.filter(({ x0, x1 }) =>
      side === 0 ? Math.min(x0, x1) < widest : Math.max(x0, x1) > side - widest,
    );
    return Math.max(8, ...passing.map(({ depth }) => depth + BELOW - LEVEL));
  };
  const depths = { left: depthAt(0), right: depthAt(row.across) };
  const named = inRow
    .filter(({ governor }) => governor >= 0)
    .map((arc): HangingArc => {
      if (isIn(row, arc.governor)) return nearArc(arc, row);
      const x1 = centerOf(row, arc.dependent);
      const { text, width } = governorName(tree, arc, widths);
      const isLeft = arc.governor < row.start;
      const depth = (isLeft ? depths.left : depths.right) + LEVEL * (levels[far.indexOf(arc)] ?? 0);
      const [side, way] = isLeft ? [0, 1] : [row.across, -1];
      // If the word is too close for a corner, put the name below the end of a straight line.
      if (Math.abs(x1 - side) < width + 12) {
        const x = Math.min(Math.max(x1, width / 2), row.across - width / 2);
        return { ...arc, x0: x1, x1, depth, edge: { text, x, width } };
      }
      const edge = { text, x: side + (way * width) / 2, width };
      return { ...arc, x0: side + way * (width + 4), x1, depth, edge };
    });
  const placed = [...named];
  for (const arc of inRow)
    if (arc.governor < 0) placed.push(rootArc(arc, tree, row, placed, widths));
  return placed;
}

/** Return an arc between two words of a row. */
function nearArc(arc: Predicted, row: WordRow): HangingArc {
  const x1 = centerOf(row, arc.dependent);
  const governor = centerOf(row, arc.governor);
  const inwards = Math.sign(x1 - governor) * PORT;
  const ends = { x0: governor + inwards, x1: arc.isLink ? x1 - inwards : x1 };
  return { ...arc, ...ends, depth: roundHeight(x1 - governor), edge: undefined };
}

/**
 * Return an arrow up to a word that is predicted to be the root, with the name "root" below all
 * arcs.
 */
function rootArc(
  arc: Predicted,
  tree: Tree,
  row: WordRow,
  others: HangingArc[],
  widths: Widths,
): HangingArc {
  const x1 = centerOf(row, arc.dependent);
  const { text, width } = governorName(tree, arc, widths);
  const x = Math.min(Math.max(x1, width / 2), row.across - width / 2);
  const passes = ({ x0, x1: end, edge }: HangingArc) => {
    const half = (edge?.width ?? 0) / 2;
    const middle = edge?.x ?? end;
    const ends = [x0, end, middle - half, middle + half];
    return Math.min(...ends) < x + width / 2 && Math.max(...ends) > x - width / 2;
  };
  const deepest = Math.max(0, ...others.filter(passes).map(({ depth }) => depth + BELOW));
  return { ...arc, x0: x1, x1, depth: Math.max(ROOT_DEPTH, deepest), edge: { text, x, width } };
}
