// @vitest-environment node
import { describe, expect, test } from "vitest";
import { type Edges, headTexts, NUMBER_SIZE } from "../src/head_scatter/head_numbers.js";
import type { Point } from "../src/head_scatter/map_points.js";
import { tableRuler } from "../src/shared/labels.js";
import type { HeadLabel } from "../src/shared/types.js";

const LAYOUT = { width: 600, height: 400, scale: 1, x0: 0, y0: 0 };
const SIZE = { text: 12, radius: 5, ring: 10 };
const at = (x: number, y: number, layer: number, head: number): Point => ({
  head: [layer, head, "self"],
  x,
  y,
  group: 0,
});
const boxOf = ({ text, isLabel, x, y }: ReturnType<typeof headTexts>[number]): Edges => {
  const size = isLabel ? 12 : NUMBER_SIZE;
  const width = tableRuler(`${size}px Arial`)(text);
  return { x0: x, x1: x + width, y0: y - size / 2, y1: y + size / 2 };
};
const meets = (a: Edges, b: Edges) => a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;

describe("numbers of heads", () => {
  const points = Array.from({ length: 144 }, (_, i) =>
    at(20 + ((i * 97) % 560), 20 + ((i * 61) % 360), Math.floor(i / 12), i % 12),
  );
  const taken = [{ x0: 200, y0: 100, x1: 320, y1: 140 }];
  const labels: HeadLabel[] = [[[0, 0, "self"], "first"]];
  const selected = points.slice(30, 33);

  test.each([true, false])("cover no mark, no second text and no taken place (%s)", (byLayer) => {
    const texts = headTexts(points, {
      labels,
      byLayer,
      layout: LAYOUT,
      size: SIZE,
      selected,
      taken,
    });
    expect(texts.length).toBeGreaterThan(60);
    const boxes = texts.map(boxOf);
    for (const [i, box] of boxes.entries()) {
      expect(boxes.slice(i + 1).some((other) => meets(box, other))).toBe(false);
      expect(taken.some((other) => meets(box, other))).toBe(false);
      const inside = box.x0 >= 0 && box.y0 >= 0 && box.x1 <= 600 && box.y1 <= 400;
      expect(inside).toBe(true);
    }
    expect(texts[0]).toMatchObject({ text: "first", isLabel: true });
  });
});

test("a number follows the number of the layer, or has both beside a mark", () => {
  const points = [at(100, 100, 3, 7)];
  const of = { labels: [], layout: LAYOUT, size: SIZE, selected: [], taken: [] };
  const [layered] = headTexts(points, { ...of, byLayer: true });
  expect([layered?.text, layered?.y]).toEqual(["·7", 100]);
  const [marked] = headTexts(points, { ...of, byLayer: false });
  expect([marked?.text, marked?.x]).toEqual(["3·7", 108]);
});

test("a number that would cover a neighbor stands on another side, or is left out", () => {
  const points = [at(100, 100, 3, 7), at(112, 100, 0, 1)];
  const of = { labels: [], layout: LAYOUT, size: SIZE, selected: [], taken: [] };
  expect(headTexts(points, { ...of, byLayer: false })[0]?.x).toBeLessThan(95);
  expect(headTexts(points, { ...of, byLayer: true }).map(({ text }) => text)).toEqual(["·1"]);
});

test("the shown head has its name elsewhere, and a label without room gives way to a number", () => {
  const points = [at(100, 100, 3, 7), at(300, 100, 0, 1)];
  const labels: HeadLabel[] = [[[0, 1, "self"], "a label that is longer than the map ".repeat(3)]];
  const of = { labels, layout: LAYOUT, size: SIZE, selected: points.slice(0, 1), taken: [] };
  expect(headTexts(points, { ...of, byLayer: false }).map(({ text }) => text)).toEqual(["0·1"]);
});
