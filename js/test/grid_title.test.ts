import { render } from "lit-html";
import { expect, test } from "vitest";
import { gridHeight, leftWidth, planFor } from "../src/explorer/arrangement.js";
import type { NamedHead } from "../src/explorer/explorer_types.js";
import { gridTitle } from "../src/explorer/grid_title.js";
import { legendView } from "../src/explorer/legend_view.js";
import type { Reading } from "../src/explorer/sentence/reading.js";
import type { GridState } from "../src/head_grid/state.js";
import { THEMES } from "../src/shared/theme.js";
import { WIDTH, type WireArray } from "../src/shared/wire.js";
import { gridState } from "./grid_state.js";
import { stack } from "./view_state.js";

function zeros(dtype: WireArray["dtype"], ...shape: number[]): WireArray {
  const count = shape.reduce((a, b) => a * b, WIDTH[dtype]);
  return { view: new DataView(new ArrayBuffer(count)), dtype, shape };
}

function said(grid: GridState, isDark = false): string {
  const el = document.createElement("div");
  render(
    gridTitle(undefined, grid, isDark, () => {}),
    el,
  );
  return (el.textContent ?? "").replace(/\s+/g, " ").trim();
}

test.each([
  [{}, "All 24 heads dark = much attention; rows look, columns are looked at"],
  [{ quantity: "norms" as const }, "dark = large norms; rows look"],
  [{ scale: "sqrt" as const }, "dark = much attention, each head on its own scale"],
  [{ versus: "other" as const }, "All 24 heads blue = more in A, orange = more in B"],
  [{ versus: "intact" as const }, "blue = more than in the intact model, orange = less"],
])("the title of all heads says what the colors of %o are", (change, words) => {
  const values = zeros("|u1", 3, 8, 1, 1);
  const maxima = zeros("<f4", 3, 8);
  const strongest = zeros("<i4", 3, 8, 2);
  const maps = { stack: "self", quantity: "weights", unit: "tokens", hidden: [] };
  const signed = "versus" in change;
  const _thumbnails = { ...maps, values, maxima, strongest, signed };
  expect(said(gridState({ ...change, _thumbnails }))).toContain(words);
});

test("the title of a comparison says what the bars under the cells are", () => {
  const maps = { stack: "self", quantity: "weights", unit: "tokens", hidden: [], signed: true };
  const values = zeros("|u1", 3, 8, 1, 1);
  const _thumbnails = {
    ...maps,
    values,
    maxima: zeros("<f4", 3, 8),
    strongest: zeros("<i4", 3, 8, 2),
  };
  const numbers = { stack: "self", values: zeros("<f4", 3, 8) } as GridState["_metrics"];
  const grid = { versus: "other" as const, metric: "change", _metrics: numbers, _thumbnails };
  expect(said(gridState(grid))).toContain("orange = more in B, bar = change");
});

test.each([
  [[0.9, 0.1], "1 of 2 heads sends “a” to “b”"],
  [[0.9, 0.8], "2 of 2 heads send “a” to “b”"],
  [[0.1, 0.1], "0 of 2 heads send “a” to “b”"],
  [[0.9], "1 of 1 head sends “a” to “b”"],
])("heads with the weights %j: %s", (weights, words) => {
  const rows = zeros("<f4", 1, weights.length, 2);
  for (const [head, weight] of weights.entries()) {
    rows.view.setFloat32(8 * head, 1 - weight, true);
    rows.view.setFloat32(8 * head + 4, weight, true);
  }
  const one = { ...stack, n_layers: 1, n_heads: weights.length, n_key_heads: weights.length };
  const axis = { text: ["a", "b"], raw: ["a", "b"], special: ["", ""], segments: [0, 0] };
  const grid = gridState({
    _stacks: [one],
    _axes: { stack: "self", unit: "tokens", query: axis, key: axis },
    tokens: [
      ["query", 0],
      ["key", 1],
    ],
    _rows: {
      stack: "self",
      unit: "tokens",
      quantity: "weights",
      side: "query",
      of: 0,
      values: rows,
    },
  });
  const texts = [{ text: "a" }, { text: "b" }];
  const reading = { words: { query: texts, key: texts }, isOneText: true } as unknown as Reading;
  const el = document.createElement("div");
  render(
    gridTitle(reading, grid, false, () => {}),
    el,
  );
  expect(el.textContent?.replace(/\s+/g, " ")).toContain(words);
});

test("a model with one head has the only head", () => {
  const one = { ...stack, n_layers: 1, n_heads: 1, n_key_heads: 1 };
  expect(said(gridState({ _stacks: [one] }))).toContain("The only head dark");
});

test.each([
  [null, false, "0 100\u00a0%"],
  [[], false, "0 100\u00a0% heads of this model have no tested names"],
  [[{ head: [0, 0, "self"], label: "a", family: "rests" }], true, "rests changed"],
] as const)(
  "the legend of names %o says what was tested and changed",
  (named, isChanged, words) => {
    const el = document.createElement("div");
    render(legendView(THEMES.light, named as NamedHead[] | null, isChanged), el);
    const text = (el.textContent ?? "").replace(/[ \n]+/g, " ").trim();
    expect(text).toContain(words);
    expect(text.includes("tested")).toBe(named?.length === 0);
    expect(text.includes("changed")).toBe(isChanged);
  },
);

test("on dark paper much attention is bright", () => {
  expect(said(gridState({}), true)).toContain("All 24 heads bright = much attention");
});

test.each([6, 12, 24, 32])("%i columns of one width are made for one height", (columns) => {
  const heights = new Map<string, number>();
  for (let width = 320; width <= 2000; width += 7) {
    const key = `${planFor(width)} ${leftWidth(width, columns)}`;
    const height = gridHeight(width, columns, 12);
    expect(heights.get(key) ?? height).toBe(height);
    heights.set(key, height);
  }
});
