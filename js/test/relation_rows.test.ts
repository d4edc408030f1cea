// @vitest-environment node
import { expect, test } from "vitest";
import { chosenRows, decodeRelations, sorted, wilson } from "../src/relation_table/scene.js";
import { percent } from "../src/shared/numbers.js";
import { numbers } from "./relation_numbers.js";

const all: Parameters<typeof chosenRows>[1] = {
  min_count: 1,
  sort: "n",
  descending: true,
};

test("Wilson's interval is that of scipy and R", () => {
  const [low, high] = wilson(9, 10);
  expect(low).toBeCloseTo(0.5958, 4);
  expect(high).toBeCloseTo(0.9821, 4);
  expect(wilson(0, 0)).toEqual([0, 1]);
});

test("rows are what the kernel counted, with the best head that it named", () => {
  const { rows, score, layers, heads } = decodeRelations(numbers());
  expect([layers, heads]).toEqual([2, 2]);
  const det = rows[1];
  expect(det).toMatchObject({ relation: "det", n: 20, head: [1, 0, "self"], correct: 18 });
  expect(det?.direction).toBe("governor to dependent");
  expect(det?.accuracy).toBeCloseTo(0.9);
  expect(det?.gain).toBeCloseTo(0.4);
  const other = det && score(det, 0, 1, "dependent to governor");
  expect(other?.correct).toBe(2);
});

test("the count chooses rows; every column orders them, ties by frequency", () => {
  const { rows } = decodeRelations(numbers());
  const names = (change: object) =>
    chosenRows(rows, { ...all, ...change }).map(({ relation }) => relation);
  expect(names({})).toEqual(["all", "det", "<b>obj</b>"]);
  expect(names({ min_count: 20 })).toEqual(["all", "det"]);
  expect(names({ sort: "relation", descending: false })).toEqual(["<b>obj</b>", "all", "det"]);
  expect(names({ sort: "accuracy" })[0]).toBe("det");
  expect(names({ sort: "head", descending: false })).toEqual(["all", "<b>obj</b>", "det"]);
});

test("a heading sorts by its column first, then turns the order round", () => {
  expect(sorted(all, "n")).toEqual({ sort: "n", descending: false });
  expect(sorted(all, "gain")).toEqual({ sort: "gain", descending: true });
  expect(sorted(all, "relation")).toEqual({ sort: "relation", descending: false });
});

test("percentages have the digits that their count bears", () => {
  expect(percent(0.12345, 100)).toBe("12.3");
  expect(percent(0.12345, 99)).toBe("12");
  expect(percent(-0.05, 100)).toBe("−5.0");
  expect(percent(0.5, 100)).toBe("50.0");
  expect(percent(0.0005, 1000)).toBe("0.1");
  expect(percent(1 / 8, 8)).toBe("13");
  expect(percent(-1 / 8, 8)).toBe("−13");
  expect(percent(1, 9)).toBe("100");
});
