// @vitest-environment node
import { expect, test } from "vitest";
import { hangingIn, rowsOf } from "../src/dependency_arcs/arcs_layout.js";
import { HEADS } from "../src/dependency_arcs/heads_answerer.js";
import {
  type Annotated,
  decodeTree,
  hasRelation,
  type Predicted,
  type Tree,
} from "../src/dependency_arcs/tree.js";
import { DIRECTIONS } from "../src/shared/relation_types.js";
import { drawnCats } from "./drawn_cats.js";

const measure = (text: string) => text.length * 7;
const WIDTHS = { word: measure, relation: measure, name: measure };
const layoutOf = (tree: Tree) => {
  const [row, ...others] = rowsOf(tree, WIDTHS, Number.POSITIVE_INFINITY);
  expect(others).toEqual([]);
  if (!row) throw new Error("no row");
  return row;
};

/** Return a random projective tree. */
function randomTree(count: number, seed: number): Tree {
  let state = seed;
  const random = (below: number) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * below);
  };
  const governors = new Array<number>(count).fill(-1);
  const hang = (low: number, high: number, governor: number) => {
    if (low > high) return;
    const own = low + random(high - low + 1);
    governors[own] = governor;
    hang(low, own - 1, own);
    hang(own + 1, high, own);
  };
  hang(0, count - 1, -1);
  const relations = governors.map((_, i) => "x".repeat(1 + (i % 9)));
  const annotated = governors.flatMap((governor, dependent): Annotated[] =>
    governor < 0 ? [] : [{ governor, dependent, relation: relations[dependent] ?? "" }],
  );
  const words = governors.map((_, i) => "w".repeat(1 + (i % 5)));
  return { words, relations, governors, annotated, root: governors.indexOf(-1) };
}

test.each([1, 5, 24, 60])("arcs of a projective tree of %i words never cross", (count) => {
  for (let seed = 1; seed <= 5; seed++) {
    const { arcs } = layoutOf(randomTree(count, seed));
    for (const a of arcs)
      for (const b of arcs) {
        if (a === b) continue;
        const low = Math.min(a.x0, a.x1);
        const high = Math.max(a.x0, a.x1);
        // If an arc ends under the flat part of another arc, it must lie below that arc.
        for (const x of [b.x0, b.x1])
          if (x > low && x < high) expect(b.height).toBeLessThan(a.height);
      }
  }
});

test("names fit on their arcs, words do not touch, nothing leaves the figure", () => {
  const layout = layoutOf(randomTree(60, 3));
  for (const { x0, x1, relation, height } of layout.arcs) {
    expect(Math.abs(x1 - x0)).toBeGreaterThan(measure(relation));
    expect(height).toBeLessThan(layout.height);
  }
  for (const [i, center] of layout.centers.entries()) {
    const left = center - (layout.widths[i] ?? 0) / 2;
    const before = (layout.centers[i - 1] ?? 0) + (layout.widths[i - 1] ?? 0) / 2;
    expect(left).toBeGreaterThan(i ? before + 8 : 0);
  }
  expect(layout.width).toBeGreaterThan((layout.centers[59] ?? 0) + (layout.widths[59] ?? 0) / 2);
});

test.each([200, 480, 1200])("rows of %i pixels have every word and arc once", (room) => {
  const tree = randomTree(60, 3);
  const rows = rowsOf(tree, WIDTHS, room);
  expect(rows[0]?.start).toBe(0);
  expect(rows.map(({ start }) => start).slice(1)).toEqual(rows.map(({ end }) => end).slice(0, -1));
  expect(rows.at(-1)?.end).toBe(60);
  expect(rows.length).toBeGreaterThan(1);
  const arcs = rows.flatMap((row) => row.arcs);
  expect(arcs.map(({ dependent }) => dependent).sort((a, b) => a - b)).toEqual(
    tree.annotated.map(({ dependent }) => dependent),
  );
  for (const row of rows) {
    expect(row.end === row.start + 1 || row.width <= room).toBe(true);
    expect(row.across).toBe(rows[0]?.across);
    for (const { governor, x0, x1, edge, labelX, relation } of row.arcs) {
      const isNear = governor >= row.start && governor < row.end;
      expect(edge?.text).toBe(isNear ? undefined : tree.words[governor]);
      for (const x of [x0, x1, edge?.x ?? 0]) expect(x).toBeGreaterThanOrEqual(0);
      for (const x of [x0, x1, edge?.x ?? 0]) expect(x).toBeLessThanOrEqual(row.across);
      const half = measure(relation) / 2;
      expect(labelX - half).toBeGreaterThan(Math.min(x0, x1));
      expect(labelX + half).toBeLessThan(Math.max(x0, x1));
    }
  }
});

test("predicted arcs whose governor stands in another row are named at the edge on its side", () => {
  const tree = randomTree(40, 1);
  const row = rowsOf(tree, WIDTHS, 400)[1];
  if (!row) throw new Error("one row");
  const arc = (governor: number): Predicted => ({
    governor,
    dependent: row.start + 1,
    weight: 0.5,
    right: false,
  });
  const [before, within, after] = hangingIn(tree, row, [arc(0), arc(row.start), arc(39)], WIDTHS);
  const x = row.centers[1] ?? 0;
  expect([before?.x1, within?.x1, after?.x1]).toEqual([x, x, x]);
  expect(within?.edge).toBeUndefined();
  expect(within?.x0).toBe((row.centers[0] ?? 0) + 6);
  expect(before?.edge?.text).toBe(tree.words[0]);
  expect(after?.edge?.text).toBe(tree.words[39]);
  expect(before?.edge?.x).toBeLessThan(x);
  expect(after?.edge?.x).toBeGreaterThan(x);
  expect(hangingIn(tree, row, [{ ...arc(0), dependent: row.end }], WIDTHS)).toEqual([]);
});

/** Return a tree without relations, in which all words depend on the first. */
const flatTree = (words: string[]): Tree => ({
  words,
  relations: words.map(() => "dep"),
  governors: words.map((_, i) => (i ? 0 : -1)),
  annotated: words.slice(1).map((_, i) => ({ governor: 0, dependent: i + 1, relation: "dep" })),
  root: 0,
});

test("the name of a predicted root stands below its word and below all arcs that pass", () => {
  const tree = flatTree(["We", "a", ".", "saw", "the", "old", "man", "."]);
  const row = layoutOf(tree);
  const arc = (governor: number, dependent: number): Predicted => ({
    governor,
    dependent,
    weight: 0.5,
    right: false,
  });
  const pairs: [number, number][] = [
    [-1, 0],
    [-1, 1],
    [-1, 2],
    [3, 7],
    [-1, 3],
    [-1, 5],
    [4, 6],
  ];
  const placed = hangingIn(
    tree,
    row,
    pairs.map(([governor, dependent]) => arc(governor, dependent)),
    WIDTHS,
  );
  const roots = placed.filter(({ governor }) => governor < 0);
  const others = placed.filter(({ governor }) => governor >= 0);
  expect(roots.map(({ dependent }) => dependent)).toEqual([0, 1, 2, 3, 5]);
  for (const { dependent, x0, x1, depth, edge } of roots) {
    const center = row.centers[dependent] ?? 0;
    const half = (edge?.width ?? 0) / 2;
    expect([x0, x1, edge?.text]).toEqual([center, center, "root"]);
    // The name must not be cut at the sides of the figure.
    expect((edge?.x ?? 0) - half).toBeGreaterThanOrEqual(0);
    expect((edge?.x ?? 0) + half).toBeLessThanOrEqual(row.across);
    for (const other of others) {
      const passes =
        Math.min(other.x0, other.x1) < center + half &&
        Math.max(other.x0, other.x1) > center - half;
      if (passes) expect(depth).toBeGreaterThan(other.depth + 8);
    }
  }
  for (const [i, a] of roots.entries())
    for (const b of roots.slice(i + 1)) {
      const apart = Math.abs((a.edge?.x ?? 0) - (b.edge?.x ?? 0));
      expect(apart >= (a.edge?.width ?? 0) || Math.abs(a.depth - b.depth) >= 12).toBe(true);
    }
  const [free] = roots;
  const passed = roots.at(-1);
  expect(passed?.depth).toBeGreaterThan(free?.depth ?? 0);
});

test.each([120, 160, 200, 260, 330])("no row of %i pixels begins with a full stop", (room) => {
  for (const last of [".", ",", "!", ")"]) {
    const words = [..."abcdefgh"].flatMap((letter) => [letter.repeat(5), last]);
    const rows = rowsOf(flatTree(words), WIDTHS, room);
    expect(rows.length).toBeGreaterThan(1);
    for (const { start, end } of rows) {
      const isAlone = end - start === 1;
      expect(words[start] === last && !isAlone).toBe(false);
    }
  }
});

test("names of governors in other rows stand below the arcs that pass them", () => {
  const words = ["longest", "two", "at", "no", "dog", "end", "six"];
  const tree = { ...flatTree(words), annotated: [] };
  const row = rowsOf(tree, WIDTHS, 150)[1];
  if (!row) throw new Error("one row");
  const { start } = row;
  const pairs: [number, number][] = [
    [start + 1, start],
    [0, start + 1],
  ];
  const predicted = pairs.map(([governor, dependent]): Predicted => {
    return { governor, dependent, weight: 0.5, right: true };
  });
  const [near, far] = hangingIn(tree, row, predicted, WIDTHS);
  expect(far?.edge?.text).toBe("longest");
  expect(far?.depth).toBeGreaterThanOrEqual((near?.depth ?? 0) + 12);
  const [alone] = hangingIn(tree, row, predicted.slice(1), WIDTHS);
  expect(alone?.depth).toBeLessThan(far?.depth ?? 0);
});

test("a head's predictions: nothing for the root, the weight by the direction", () => {
  const drawn = drawnCats();
  const tree = decodeTree(drawn);
  expect(tree).toMatchObject({ governors: [1, -1, 1], root: 1 });
  const forward = HEADS.answers(drawn, tree, { direction: DIRECTIONS[0] });
  expect(forward?.predicted).toEqual([
    { dependent: 0, governor: 1, weight: 0.5, right: true },
    { dependent: 2, governor: 0, weight: 0.25, right: false },
  ]);
  const backward = HEADS.answers(drawn, tree, { direction: DIRECTIONS[1] });
  expect(backward?.predicted[1]).toEqual({ dependent: 2, governor: 1, weight: 0.75, right: true });
  expect(
    HEADS.answers({ ...drawn, predicted: null }, tree, { direction: DIRECTIONS[0] }),
  ).toBeUndefined();
});

test("a pooled relation has its subtypes", () => {
  expect(hasRelation("nmod (all)", "nmod:poss")).toBe(true);
  expect(hasRelation("nmod", "nmod:poss")).toBe(false);
  expect(hasRelation("all", "anything")).toBe(true);
  expect(hasRelation("nmod (all)", "obj")).toBe(false);
});
