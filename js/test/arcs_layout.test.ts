import { expect, test } from "vitest";
import type { Annotated, Tree } from "../src/draw/arcs_data.js";
import { decodeReading, decodeTree, hasRelation } from "../src/draw/arcs_data.js";
import { arcLevels, arcPath, treeLayout } from "../src/draw/arcs_layout.js";
import { DIRECTIONS } from "../src/model/relation_types.js";
import { drawnCats } from "./drawn_cats.js";

const measure = (text: string) => text.length * 7;

/** A random projective tree: every word hangs on one that sees it. */
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

test("an arc lies above those that it spans", () => {
  const arcs = [
    { governor: 0, dependent: 3 },
    { governor: 2, dependent: 1 },
    { governor: 3, dependent: 2 },
  ];
  expect(arcLevels(arcs)).toEqual([2, 1, 1]);
  expect(arcLevels([])).toEqual([]);
});

test.each([1, 5, 24, 60])("arcs of a projective tree of %i words never cross", (count) => {
  for (let seed = 1; seed <= 5; seed++) {
    const tree = randomTree(count, seed);
    const { arcs } = treeLayout(tree, tree.words.map(measure), measure);
    for (const a of arcs)
      for (const b of arcs) {
        if (a === b) continue;
        const [low, high] = [Math.min(a.x0, a.x1), Math.max(a.x0, a.x1)];
        // A leg of one that stands under the flat part of another must end below it.
        for (const x of [b.x0, b.x1])
          if (x > low && x < high) expect(b.height).toBeLessThan(a.height);
      }
  }
});

test("labels fit on their arcs, words do not touch, nothing leaves the figure", () => {
  const tree = randomTree(60, 3);
  const layout = treeLayout(tree, tree.words.map(measure), measure);
  for (const { x0, x1, relation, height } of layout.arcs) {
    expect(Math.abs(x1 - x0)).toBeGreaterThan(measure(relation));
    expect(height).toBeLessThan(layout.height);
  }
  for (const [i, centre] of layout.centres.entries()) {
    const left = centre - (layout.widths[i] ?? 0) / 2;
    const before = (layout.centres[i - 1] ?? 0) + (layout.widths[i - 1] ?? 0) / 2;
    expect(left).toBeGreaterThan(i ? before + 8 : 0);
  }
  expect(layout.width).toBeGreaterThan((layout.centres[59] ?? 0) + (layout.widths[59] ?? 0) / 2);
});

test("a path goes up from the governor and down to the dependent", () => {
  const arc = { governor: 1, dependent: 0, relation: "x", x0: 50, x1: 10, height: 30 };
  expect(arcPath(arc, 100)).toBe("M50 100V77Q50 70 43 70H17Q10 70 10 77V100");
});

test("a head's predictions: nothing for the root, the weight by the direction", () => {
  const drawn = drawnCats();
  const tree = decodeTree(drawn);
  expect(tree).toMatchObject({ governors: [1, -1, 1], root: 1 });
  const forward = decodeReading(drawn, tree, DIRECTIONS[0]);
  expect(forward?.predicted).toEqual([
    { dependent: 0, governor: 1, weight: 0.5, right: true },
    { dependent: 2, governor: 0, weight: 0.25, right: false },
  ]);
  const backward = decodeReading(drawn, tree, DIRECTIONS[1]);
  expect(backward?.predicted[1]).toEqual({ dependent: 2, governor: 1, weight: 0.75, right: true });
  expect(decodeReading({ ...drawn, predicted: null }, tree, DIRECTIONS[0])).toBeUndefined();
});

test("a pooled relation has its subtypes", () => {
  expect(hasRelation("nmod (all)", "nmod:poss")).toBe(true);
  expect(hasRelation("nmod", "nmod:poss")).toBe(false);
  expect(hasRelation("all", "anything")).toBe(true);
  expect(hasRelation("nmod (all)", "obj")).toBe(false);
});
