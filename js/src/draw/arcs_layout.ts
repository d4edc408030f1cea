import type { Annotated, Arc, Tree } from "./arcs_data.js";
import type { Measure } from "./labels.js";

const EDGE = 12;
const GAP = 14;
/** Between the ends of arcs at one word. */
const PORT = 6;
/** Room on both sides of a label on its arc. */
const BESIDE = 11;
const STEP = 19;
const LOWEST = 10;
const TOP = 12;
const CORNER = 7;

export interface PlacedArc extends Annotated {
  /** The ends at the governor and at the dependent. */
  x0: number;
  x1: number;
  /** Of the flat part, above the words. */
  height: number;
}

export interface TreeLayout {
  width: number;
  /** Middle and width of each word. */
  centres: number[];
  widths: number[];
  arcs: PlacedArc[];
  /** Where the root's arrow stands. */
  rootX: number;
  /** Of all annotated arcs with their labels. */
  height: number;
}

const ends = ({ governor, dependent }: Arc) =>
  governor < dependent ? ([governor, dependent] as const) : ([dependent, governor] as const);
const length = (arc: Arc) => Math.abs(arc.governor - arc.dependent);

/** Levels from 1: an arc lies above all that it spans, so that arcs of a projective tree never cross. */
export function arcLevels(arcs: Arc[]): number[] {
  const levels = new Array<number>(arcs.length).fill(0);
  const order = arcs.map((_, i) => i).sort((a, b) => length(at(arcs, a)) - length(at(arcs, b)));
  const placed: number[] = [];
  for (const i of order) {
    const [low, high] = ends(at(arcs, i));
    let below = 0;
    for (const j of placed) {
      const [otherLow, otherHigh] = ends(at(arcs, j));
      if (otherLow < high && low < otherHigh) below = Math.max(below, levels[j] ?? 0);
    }
    levels[i] = below + 1;
    placed.push(i);
  }
  return levels;
}

function at<T>(items: T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new RangeError(`no item ${index} of ${items.length}`);
  return item;
}

interface Ports {
  /** Of each arc's end from the word's middle. */
  offsets: Map<Arc, number>;
  /** How far the ends reach to either side. */
  left: number;
  right: number;
}

/**
 * Where arcs end at each word. The longer an arc, the nearer to the middle of all; the arrow that comes in points at the
 * middle of the word.
 */
function ports({ annotated, words, root }: Tree): Ports[] {
  const lists = words.map((): [left: Annotated[], right: Annotated[]] => [[], []]);
  for (const arc of annotated) {
    const [low, high] = ends(arc);
    lists[low]?.[1].push(arc);
    lists[high]?.[0].push(arc);
  }
  return lists.map(([before, after], word) => {
    before.sort((a, b) => length(a) - length(b));
    after.sort((a, b) => length(b) - length(a));
    const order = [...before, ...(word === root ? [undefined] : []), ...after];
    const incoming = order.findIndex((arc) => !arc || arc.dependent === word);
    const place = (index: number) => (index - incoming) * PORT;
    return {
      offsets: new Map(order.flatMap((arc, i) => (arc ? [[arc, place(i)] as const] : []))),
      left: PORT / 2 - place(0),
      right: PORT / 2 + place(order.length - 1),
    };
  });
}

/** Words as far apart as they and the labels of their arcs need. */
export function treeLayout(tree: Tree, wordWidths: number[], measureLabel: Measure): TreeLayout {
  const { words, annotated } = tree;
  const places = ports(tree);
  const widths = wordWidths.map(Math.ceil);
  const closing = words.map((): Annotated[] => []);
  for (const arc of annotated) closing[ends(arc)[1]]?.push(arc);
  const centres: number[] = [];
  const offset = (word: number, arc: Arc) => places[word]?.offsets.get(arc) ?? 0;
  // What is taken up so far.
  let edge = EDGE - GAP;
  for (const [i, { left, right }] of places.entries()) {
    const half = (widths[i] ?? 0) / 2;
    let x = edge + GAP + Math.max(half, left);
    for (const arc of closing[i] ?? []) {
      const [low] = ends(arc);
      const needed = measureLabel(arc.relation) + 2 * BESIDE;
      x = Math.max(x, (centres[low] ?? 0) + offset(low, arc) - offset(i, arc) + needed);
    }
    centres.push(Math.round(x));
    edge = Math.round(x) + Math.max(half, right);
  }
  const levels = arcLevels(annotated);
  const most = Math.max(0, ...levels);
  return {
    ...{ centres, widths },
    width: edge + EDGE + measureLabel("root") / 2,
    arcs: annotated.map((arc, i) => ({
      ...arc,
      x0: (centres[arc.governor] ?? 0) + offset(arc.governor, arc),
      x1: (centres[arc.dependent] ?? 0) + offset(arc.dependent, arc),
      height: LOWEST + (levels[i] ?? 0) * STEP,
    })),
    rootX: centres[tree.root] ?? 0,
    height: LOWEST + (most + 1) * STEP + TOP,
  };
}

/** An arc above the words, from its governor's end up, over, and down to its dependent; `y` is the words' top. */
export function arcPath({ x0, x1, height }: PlacedArc, y: number): string {
  const way = Math.sign(x1 - x0) || 1;
  const corner = Math.min(CORNER, Math.abs(x1 - x0) / 2);
  const top = y - height;
  return (
    `M${x0} ${y}V${top + corner}Q${x0} ${top} ${x0 + way * corner} ${top}` +
    `H${x1 - way * corner}Q${x1} ${top} ${x1} ${top + corner}V${y}`
  );
}

/** How far a predicted arc hangs down. */
export const depth = (arc: Arc) => 10 + 15 * Math.sqrt(length(arc));

/** A predicted arc under the words, from beside its governor's middle to its dependent's. */
export function predictedPath(arc: Arc, centres: number[], y: number): string {
  const [governor, dependent] = [centres[arc.governor] ?? 0, centres[arc.dependent] ?? 0];
  const x0 = governor + Math.sign(dependent - governor) * PORT;
  const low = y + (depth(arc) * 4) / 3;
  return `M${x0} ${y}C${x0} ${low} ${dependent} ${low} ${dependent} ${y}`;
}

/** An arrow head at a dependent, pointing down (`way` 1) or up (-1). */
export const arrowPath = (x: number, y: number, way: 1 | -1) =>
  `M${x - 3.5} ${y - 6 * way}h7L${x} ${y}z`;
