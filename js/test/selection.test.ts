// @vitest-environment node
import { expect, test } from "vitest";
import { orderHeads } from "../src/head_grid/head_order.js";
import { reachedLayer } from "../src/shared/selection.js";

/** Model of six layers, of which only layers 2 and 4 have attention. */
const hybrid = { n_layers: 6, layers_without_attention: [0, 1, 3, 5] };

test("a step passes layers without attention by", () => {
  expect(reachedLayer(hybrid, 2, 3)).toBe(4);
  expect(reachedLayer(hybrid, 4, 3)).toBe(2);
});

test("a step beyond the last layer with attention stays there", () => {
  expect(reachedLayer(hybrid, 4, 5)).toBe(4);
  expect(reachedLayer(hybrid, 4, 9)).toBe(4);
  expect(reachedLayer(hybrid, 2, 1)).toBe(2);
  expect(reachedLayer(hybrid, 2, -1)).toBe(2);
});

test("a step in a model whose layers all have attention goes to the layer, or to the end", () => {
  const layers = { n_layers: 6 };
  expect(reachedLayer(layers, 2, 3)).toBe(3);
  expect(reachedLayer(layers, 2, 9)).toBe(5);
  expect(reachedLayer(layers, 2, -1)).toBe(0);
});

test("layers without attention have no heads in a grid, sorted or not", () => {
  const wish = { sort: "all", descending: true } as const;
  expect(orderHeads(3, 2, undefined, wish, [0, 2]).heads).toEqual([-1, -1, 2, 3, -1, -1]);
  const values = new Float32Array([Number.NaN, Number.NaN, 1, 5, Number.NaN, Number.NaN]);
  const metric = { title: "m", values, low: 1, high: 5 };
  expect(orderHeads(3, 2, metric, wish, [0, 2]).heads).toEqual([3, 2]);
  const unsorted = orderHeads(3, 2, metric, { ...wish, sort: "none" }, [0, 2]);
  expect(unsorted.heads).toEqual([-1, -1, 2, 3, -1, -1]);
});
