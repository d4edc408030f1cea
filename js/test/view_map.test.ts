// @vitest-environment node
import { describe, expect, test } from "vitest";
import { linesInView } from "../src/head_view/lines/lines_choose.js";
import { cellPixels } from "../src/head_view/matrix/matrix_pixels.js";
import { sourceOf } from "../src/head_view/source/source_of.js";
import {
  completeParts,
  hideable,
  type MapOptions,
  maskName,
  rowSumRange,
  visibleMap,
} from "../src/head_view/source/visible_map.js";
import type { Axes } from "../src/shared/types.js";

const axis = {
  text: ["[CLS]", "who", "[SEP]", "she", "[SEP]"],
  raw: ["[CLS]", "who", "[SEP]", "she", "[SEP]"],
  special: ["cls", "", "sep", "", "sep"],
  segments: [0, 0, 0, 1, 1],
};
const axes: Axes = { stack: "self", unit: "tokens", query: axis, key: axis };
const rows = [
  [0.5, 0.1, 0.1, 0.2, 0.1],
  [0.4, 0.3, 0.1, 0.1, 0.1],
  [0.2, 0.2, 0.2, 0.2, 0.2],
  [0.1, 0.5, 0.1, 0.2, 0.1],
  [1, 0, 0, 0, 0],
];
const values = Float32Array.from(rows.flat());
const whole: MapOptions = {
  hidden: [],
  sentences: "all",
  scale: "linear",
  quantity: "weights",
};
const parts = (cells: Float32Array, n: number, m: number) =>
  completeParts(cells, { rows: [...Array(n).keys()], cols: [...Array(m).keys()] });
const rounded = (numbers: Iterable<number>) => [...numbers].map((x) => Number(x.toFixed(4)));

describe("visibleMap", () => {
  test("hides special tokens on both axes and says how much weight they had", () => {
    const map = visibleMap(values, axes, { ...whole, hidden: ["cls", "sep"] });
    expect([map.rows, map.cols]).toEqual([
      [1, 3],
      [1, 3],
    ]);
    expect(rounded(map.parts.overview.values)).toEqual([0.3, 0.1, 0.5, 0.2]);
    expect(map.hiddenShare).toBeCloseTo((0.6 + 0.3) / 2);
    expect(map.filteredShare).toBeCloseTo(0);
    expect(map.maximum).toBeCloseTo(0.5);
  });

  test("keeps one sentence on each side", () => {
    const map = visibleMap(values, axes, { ...whole, sentences: "ab" });
    expect([map.rows, map.cols]).toEqual([
      [0, 1, 2],
      [3, 4],
    ]);
    expect(map.filteredShare).toBeCloseTo((0.7 + 0.8 + 0.6) / 3);
    const single = { ...axis, segments: [0, 0, 0, 0, 0] };
    const unfiltered = visibleMap(values, { ...axes, key: single }, { ...whole, sentences: "ab" });
    expect(unfiltered.cols).toHaveLength(5);
  });

  test("masked cells stay masked and count as nothing", () => {
    const masked = Float32Array.from(values);
    masked[1] = Number.NaN;
    const map = visibleMap(masked, axes, { ...whole, hidden: ["sep"] });
    expect(map.parts.overview.values[1]).toBeNaN();
    expect(map.parts.overview.values[0]).toBeCloseTo(0.5);
  });

  test("a map with every token hidden is empty", () => {
    const one = { ...axis, special: axis.special.map(() => "sep") };
    const map = visibleMap(
      values,
      { ...axes, query: one, key: one },
      { ...whole, hidden: ["sep"] },
    );
    expect([map.rows.length, map.cols.length, map.maximum]).toEqual([0, 0, 0]);
  });
});

test("what can be hidden, by its texts", () => {
  expect([...hideable(axes)]).toEqual([
    ["cls", ["[CLS]"]],
    ["sep", ["[SEP]"]],
  ]);
});

test("row sums leave out rows that see nothing", () => {
  const sums = rowSumRange(Float32Array.from([Number.NaN, Number.NaN, 0.2, 0.3, 1, 0]), 2);
  expect(rounded(sums)).toEqual([0.5, 1]);
});

test("masks are named by their shape", () => {
  const masked = (sees: (q: number, k: number) => boolean) =>
    maskName(
      Float32Array.from({ length: 16 }, (_, i) => (sees(i >> 2, i & 3) ? 0.1 : Number.NaN)),
      4,
    );
  expect(masked(() => true)).toBe("");
  expect(masked((q, k) => k <= q)).toBe("causal mask");
  expect(masked((q, k) => k <= q && k > q - 2)).toBe("causal mask, windowed");
  expect(masked((_, k) => k < 3)).toBe("masked cells hatched");
});

describe("lines", () => {
  const map = visibleMap(values, axes, whole);
  const level = (weight: number) => Math.round(255 * weight);

  test("only lines with an end in sight, weakest first", () => {
    const lines = linesInView(map, { start: 0, end: 2 }, level);
    const pairs = [...lines.query].map((q, i) => [q, lines.key[i] ?? -1] as const);
    expect(pairs.every(([q, k]) => q < 2 || k < 2)).toBe(true);
    expect(pairs).toHaveLength(10 + 2 + 2 + 1);
    expect([...lines.level]).toEqual([...lines.level].sort((a, b) => a - b));
    expect(pairs.at(-1)).toEqual([4, 0]);
    expect(lines.leftOut).toBe(0);
  });

  test("focus keeps the tokens' own lines", () => {
    const focus = { query: new Set([1]), key: new Set([3]) };
    const lines = linesInView(map, { start: 0, end: 5 }, level, focus);
    expect(lines.count).toBe(5 + 3);
    for (let i = 0; i < lines.count; i++)
      expect(lines.query[i] === 1 || lines.key[i] === 3).toBe(true);
  });

  test("too many lines lose the weakest, and say how many", () => {
    const n = 200;
    const indices = [...Array(n).keys()];
    const many = Float32Array.from({ length: n * n }, (_, i) => (i % 100 === 0 ? 1 : 0.1));
    const crowded = { ...map, rows: indices, cols: indices, parts: parts(many, n, n) };
    const lines = linesInView(crowded, { start: 0, end: n }, level);
    expect(lines.count + lines.leftOut).toBe(n * n);
    expect(lines.leftOut).toBeGreaterThan(0);
    expect([...lines.level].filter((x) => x === 255)).toHaveLength(400);
  });
});

test("pixels show the strongest of the cells they cover; masked ones stay clear", () => {
  const masked = Float32Array.from([0.1, 0.9, Number.NaN, Number.NaN, 0.2, 0.3, Number.NaN, 0.4]);
  const table = (offset: number) => Uint32Array.from({ length: 256 }, (_, i) => offset + i);
  const tables = { first: table(1000), faded: table(2000), second: table(3000) };
  const part = {
    ...visibleMap(values, axes, whole),
    rows: [0, 1],
    cols: [0, 1, 2, 3],
    parts: parts(masked, 2, 4),
  };
  const cells = sourceOf(part).overview;
  const level = (weight: number) => Math.round(10 * weight);
  const none = { query: new Set<number>(), key: new Set<number>() };
  expect([...cellPixels(cells, 2, 1, level, tables, none)]).toEqual([1009, 1004]);
  expect([...cellPixels(cells, 4, 2, level, tables, none)][2]).toBe(0);
  const lit = { query: new Set([1]), key: new Set([0]) };
  expect([...cellPixels(cells, 4, 2, level, tables, lit)]).toEqual([
    3001, 2009, 0, 0, 3002, 3003, 0, 3004,
  ]);
});
