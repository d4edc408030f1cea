// @vitest-environment node
import { expect, test } from "vitest";
import { groupNames } from "../src/head_scatter/group_names.js";
import type { Point } from "../src/head_scatter/map_points.js";
import { tableRuler } from "../src/shared/labels.js";

const LAYOUT = { width: 600, height: 400, scale: 1, x0: 0, y0: 0 };
const GROUPS = ["to [SEP]", "previous token", "to [CLS]", "other"].map((name, i) => ({
  name,
  slot: name === "other" ? -1 : i,
}));
const measure = tableRuler("600 12px Arial");

/** Return heads in a square with `side` heads per side, 20 px apart. */
const square = (group: number, side: number, x: number, y: number): Point[] =>
  Array.from({ length: side * side }, (_, i) => ({
    head: [group, i, "self"] as [number, number, string],
    group,
    x: x + 20 * (i % side),
    y: y + 20 * Math.floor(i / side),
  }));
const POINTS = [
  ...square(0, 4, 80, 80),
  ...square(1, 3, 420, 260),
  ...square(2, 1, 300, 40),
  ...square(3, 3, 250, 200),
];

const covered = (points: Point[], name: { x: number; y: number; text: string }) =>
  points.filter(
    ({ x, y }) => Math.abs(x - name.x) < measure(name.text) / 2 && Math.abs(y - name.y) < 8,
  );

test("every group is named beside its heads and on none", () => {
  const names = groupNames(POINTS, GROUPS, LAYOUT, 5);
  expect(names.map(({ text }) => text)).toEqual(["to [SEP]", "previous token", "to [CLS]"]);
  for (const [name, x, y] of [
    [names[0], 110, 110],
    [names[1], 440, 280],
  ] as const) {
    if (!name) throw new Error("no name");
    expect(Math.hypot(name.x - x, name.y - y)).toBeLessThan(100);
    expect(covered(POINTS, name)).toEqual([]);
  }
});

test("names keep off each other, off what stands there and inside the map", () => {
  const points = [...square(0, 4, 10, 10), ...square(1, 4, 20, 15), ...square(2, 4, 15, 20)];
  const obstacles = [{ x0: 0, y0: 90, x1: 120, y1: 130 }];
  const boxes = groupNames(points, GROUPS, LAYOUT, 5, obstacles).map(({ x, y, text }) => {
    const half = measure(text) / 2;
    return { x0: x - half, x1: x + half, y0: y - 8, y1: y + 8 };
  });
  expect(boxes).toHaveLength(3);
  const all = [...obstacles, ...boxes];
  for (const [i, a] of all.entries())
    for (const b of all.slice(i + 1))
      expect(a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1).toBe(false);
  for (const { x0, y0, x1, y1 } of boxes)
    expect([x0 >= 0, y0 >= 0, x1 <= 600, y1 <= 400]).not.toContain(false);
});

test("a long name is cut", () => {
  const [name] = groupNames(square(0, 4, 80, 80), [{ name: "x".repeat(200), slot: 0 }], LAYOUT, 5);
  expect(name?.text.endsWith("…")).toBe(true);
  expect(measure(name?.text ?? "")).toBeLessThanOrEqual(160);
});
