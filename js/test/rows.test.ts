// @vitest-environment node
import { expect, test } from "vitest";
import type { Lines } from "../src/head_view/lines/lines_choose.js";
import { hitRows, rowsLayout } from "../src/head_view/lines/rows_layout.js";
import { isInRows, type Scene } from "../src/head_view/scene.js";
import type { VisibleMap } from "../src/head_view/source/visible_map.js";
import { tableRuler } from "../src/shared/labels.js";

const LATIN = ["[CLS]", "the", "captain", "told", "his", "men", "[SEP]"];
const HEBREW = ["[CLS]", "החתול", "ישב", "על", "cat", "[SEP]"];

function sceneOf(text: string[], room: number): Scene {
  const special = text.map((token) => (token.startsWith("[") ? "cls" : ""));
  const axis = { text, raw: text, special, segments: text.map(() => 0) };
  const places = text.map((_, i) => i);
  return {
    axes: { stack: "self", unit: "tokens", query: axis, key: axis },
    map: { rows: places, cols: places },
    size: 12,
    font: "Arial",
    ruler: tableRuler,
    density: 1,
    room,
  } as unknown as Scene;
}

const rising = (numbers: number[]) =>
  numbers.every((value, i) => i === 0 || value > (numbers[i - 1] ?? 0));

test("a text with enough room is written in upright rows, in its order", () => {
  const at = rowsLayout(sceneOf(LATIN, 800));
  expect(at.upright).toBe(true);
  expect(at.width).toBeLessThanOrEqual(800);
  expect(rising(at.middles.query)).toBe(true);
  expect(at.middles.query).toEqual(at.middles.key);
  expect(at.y0).toBeLessThan(at.y1);
});

test("tokens slope where they have no room, and scroll where they have less than their height", () => {
  const many = Array.from({ length: 30 }, () => LATIN).flat();
  const some = rowsLayout(sceneOf(LATIN, 200));
  expect(some.upright).toBe(false);
  expect(some.width).toBeLessThanOrEqual(220);
  const at = rowsLayout(sceneOf(many, 480));
  expect(at.width).toBeGreaterThan(480);
  const steps = at.middles.key.slice(1).map((x, i) => x - (at.middles.key[i] ?? 0));
  expect(Math.min(...steps)).toBeGreaterThanOrEqual(13);
});

test("a right-to-left text begins at the right", () => {
  const at = rowsLayout(sceneOf(HEBREW, 800));
  expect(at.rightToLeft).toBe(true);
  expect(rising([...at.middles.key].reverse())).toBe(true);
  expect(rowsLayout(sceneOf(LATIN, 800)).rightToLeft).toBe(false);
});

test("a point is on the token of its row, on the line near it, or on nothing", () => {
  const at = rowsLayout(sceneOf(LATIN, 800));
  const lines = { count: 1, query: [1], key: [5], level: [9], leftOut: 0 } as unknown as Lines;
  const { query = [], key = [] } = at.middles;
  expect(hitRows(at, query[3] ?? 0, at.y0 - 6, lines)).toEqual({ query: 3 });
  expect(hitRows(at, key[6] ?? 0, at.y1 + 6, lines)).toEqual({ key: 6 });
  const middle = ((query[1] ?? 0) + (key[5] ?? 0)) / 2;
  expect(hitRows(at, middle, (at.y0 + at.y1) / 2, lines)).toEqual({ query: 1, key: 5 });
  expect(hitRows(at, query[6] ?? 0, at.y0 + 3, lines)).toEqual({});
  expect(hitRows(at, 0, at.y0 - 6, lines)).toEqual({});
});

test("a matrix, a long input and heads side by side are not drawn in rows", () => {
  const state = { mode: "lines", token_layout: "horizontal" } as const;
  const map = {} as VisibleMap;
  expect(isInRows(state, map)).toBe(true);
  expect(isInRows({ ...state, token_layout: "vertical" }, map)).toBe(false);
  expect(isInRows({ ...state, mode: "matrix" }, map)).toBe(false);
  expect(isInRows(state, { tiles: {} } as unknown as VisibleMap)).toBe(false);
  expect(isInRows(state, map, { arrangement: "beside" } as never)).toBe(false);
  expect(isInRows(state, map, { arrangement: "overlay" } as never)).toBe(true);
});
