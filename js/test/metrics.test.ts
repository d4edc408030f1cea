// @vitest-environment node
import { describe, expect, test } from "vitest";
import { metricText } from "../src/head_grid/grid_text.js";
import {
  barRange,
  cellOf,
  headIn,
  type Metric,
  orderHeads,
  passes,
} from "../src/head_grid/head_order.js";
import { badgeTexts, decimals } from "../src/head_grid/paint.js";
import { gridLayout, hasText } from "../src/shared/cells.js";
import { figures } from "../src/shared/numbers.js";
import { stripPlace } from "../src/shared/tick_strip.js";

const metric = (...values: number[]): Metric => ({
  title: "entropy",
  values: Float32Array.from(values),
  low: Math.min(...values),
  high: Math.max(...values),
});
type Wish = Parameters<typeof orderHeads>[3];
const wish = (change: Partial<Wish> = {}): Wish => ({
  sort: "none",
  descending: true,
  ...change,
});
// Two layers of three heads.
const own = metric(1, 3, 2, 6, 4, 3);

describe("order", () => {
  test("without a metric heads stand in their own places, whatever is wished", () => {
    const order = orderHeads(2, 3, undefined, wish({ sort: "all" }));
    expect(order).toEqual({ sort: "none", rows: 2, cols: 3, heads: [0, 1, 2, 3, 4, 5] });
  });

  test("rows are sorted within their layers", () => {
    expect(orderHeads(2, 3, own, wish({ sort: "rows" })).heads).toEqual([1, 2, 0, 3, 4, 5]);
    const up = orderHeads(2, 3, own, wish({ sort: "rows", descending: false }));
    expect(up.heads).toEqual([0, 2, 1, 5, 4, 3]);
  });

  test("all heads are sorted together, of equal ones the first first", () => {
    const order = orderHeads(2, 3, own, wish({ sort: "all" }));
    expect(order.heads).toEqual([3, 4, 1, 5, 2, 0]);
    expect(headIn(order, [0, 1])).toEqual([1, 1]);
    expect(cellOf(order, [0, 0])).toEqual([1, 2]);
  });

  test("layers without attention have no heads; sorted rows keep them, all heads close up", () => {
    const order = orderHeads(2, 3, own, wish({}), [0]);
    expect(order.heads).toEqual([-1, -1, -1, 3, 4, 5]);
    expect(headIn(order, [0, 0])).toBeUndefined();
    expect(cellOf(order, [0, 0])).toBeUndefined();
    const rows = orderHeads(2, 3, own, wish({ sort: "rows" }), [0]);
    expect([rows.rows, rows.heads]).toEqual([2, [-1, -1, -1, 3, 4, 5]]);
    const all = orderHeads(2, 3, own, wish({ sort: "all" }), [0]);
    expect([all.rows, all.heads]).toEqual([1, [3, 4, 5]]);
  });

  test("the ends of a filter belong to it, in float32", () => {
    const tenth = Math.fround(0.1);
    expect(passes(tenth, [0.1, 0.1])).toBe(true);
    expect(passes(Math.fround(0.3), [0, 0.3])).toBe(true);
    expect(passes(0.31, [0, 0.3])).toBe(false);
    expect(passes(5, null)).toBe(true);
  });
});

describe("badges", () => {
  const letters = (text: string) => 6 * text.length;
  const texts = (of: Metric, sort: Wish["sort"], width: number) =>
    badgeTexts(orderHeads(2, 3, of, wish({ sort })), of, width, letters);

  test("numbers under each other have as many decimals as the largest needs", () => {
    expect([0.139, 0.00174, 0].map(decimals(metric(0, 0.139), 3))).toEqual([
      "0.139",
      "0.002",
      "0.000",
    ]);
    expect([12.34, -3].map(decimals(metric(-3, 12.34), 3))).toEqual(["12.3", "−3.0"]);
    expect(decimals(metric(0, 4321), 3)(4321)).toBe("4321");
    expect(decimals(metric(0, 3e-9), 3)(3e-9)).toBe("3.0e-9");
    expect(decimals(metric(-0.5, 0.5), 2)(-0.001)).toBe("0.00");
  });

  test("what does not fit is spelled shorter, the name is the last to go", () => {
    expect(texts(own, "none", 60)[1]).toEqual(["", "3.00"]);
    expect(texts(own, "rows", 60)[0]).toEqual(["H1", "3.00"]);
    expect(texts(own, "all", 64)[0]).toEqual(["L1 H0", "6.00"]);
    expect(texts(own, "all", 56)[0]).toEqual(["L1 H0", "6.0"]);
    expect(texts(own, "all", 50)[0]).toEqual(["1·0", "6.00"]);
    expect(texts(own, "all", 34)[0]).toEqual(["L1 H0", ""]);
    expect(texts(own, "all", 24)[0]).toEqual(["1·0", ""]);
  });

  test("bars start at zero", () => {
    expect(barRange(metric(2, 5))).toEqual([0, 5]);
    expect(barRange(metric(-2, 5))).toEqual([-2, 5]);
    expect(barRange(metric(-2, -1))).toEqual([-2, 0]);
  });

  test("small cells have a bar alone, unless their names are needed", () => {
    expect(gridLayout(480, 24, 16, false, 1).band).toBe(0);
    const small = gridLayout(480, 24, 16, false, 1, "bar");
    expect([small.cell, hasText(small)]).toEqual([24, false]);
    expect(hasText(gridLayout(900, 12, 12, false, 1, "bar"))).toBe(true);
    const named = gridLayout(480, 24, 16, false, 1, "name");
    expect([named.cell, hasText(named)]).toEqual([29, true]);
  });
});

describe("figures", () => {
  test.each([
    [0, "0"],
    [0.12345, "0.123"],
    [-2.5, "−2.5"],
    [1234.5, "1230"],
    [0.0005, "0.0005"],
    [3.2e-4, "3.2e-4"],
    [9995, "10000"],
    [999_999, "1000000"],
    [2e7, "2.0e7"],
    [9.96e6, "1.0e7"],
    [-2.5e-9, "-2.5e-9"],
  ])("%s is printed as %s", (value, text) => expect(figures(value)).toBe(text));
});

test("a head has its value and its rank among heads with a value", () => {
  const text = (of: Metric, index: number) => metricText(of, [Math.floor(index / 3), index % 3], 3);
  expect(text(own, 3)).toBe("entropy 6, rank 1 of 6");
  // Equal values have the same rank, even if float32 sums differ by rounding errors.
  expect([text(own, 1), text(own, 5)]).toEqual(Array(2).fill("entropy 3, rank 3 of 6"));
  expect(text(metric(1, 1 + 1e-7, 1), 0)).toBe("entropy 1, rank 1 of 3");
  const partly = { ...own, values: Float32Array.from([Number.NaN, 2, 1]) };
  expect([text(partly, 0), text(partly, 2)]).toEqual(["", "entropy 1, rank 2 of 2"]);
  expect(metricText(undefined, [0, 0], 3)).toBe("");
});

describe("strip", () => {
  test("marks at the ends are whole, a constant stands in the middle", () => {
    expect(stripPlace(0, 0, 1, 100)).toBe(4);
    expect(stripPlace(1, 0, 1, 100)).toBe(96);
    expect(stripPlace(2, 2, 2, 100)).toBe(50);
  });
});
