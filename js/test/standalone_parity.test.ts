// @vitest-environment node
import { expect, test } from "vitest";
import lineCases from "../../tests/parity/lines.json" with { type: "json" };
import linkCases from "../../tests/parity/links.json" with { type: "json" };
import mapCases from "../../tests/parity/maps.json" with { type: "json" };
import numberCases from "../../tests/parity/numbers.json" with { type: "json" };
import relationCases from "../../tests/parity/relations.json" with { type: "json" };
import { hasRelation } from "../src/dependency_arcs/tree.js";
import { visibleMap } from "../src/head_view/source/visible_map.js";
import { fitting, SHARED } from "../src/page/linked_models.js";
import { wilson } from "../src/relation_table/scene.js";
import { digits, figures, percent } from "../src/shared/numbers.js";
import { decodedBytes } from "../src/shared/page/embedded_maps.js";
import type { Limits } from "../src/shared/page/page_data.js";
import { type Head, headName, paperName } from "../src/shared/types.js";

/** Return an axis on which some tokens are special. */
function axis(length: number, kinds: (string | number)[][]) {
  const special = new Array<string>(length).fill("");
  for (const [at, kind] of kinds) special[Number(at)] = String(kind);
  return { text: special, raw: special, special, segments: special.map(() => 0) };
}

test("bytes stand for their values, to half of one of 254 steps of the root", () => {
  for (const { values, bytes, maximum } of mapCases) {
    const decoded = decodedBytes(Uint8Array.from(bytes), maximum);
    for (const [i, value] of values.entries()) {
      if (bytes[i] === 0) expect(decoded[i]).toBeNaN();
      else {
        const [own, true_] = [decoded[i] ?? Number.NaN, value].map((x) =>
          Math.sqrt(x / maximum || 0),
        );
        expect(Math.abs((own ?? 1) - (true_ ?? 0))).toBeLessThan(0.5 / 254 + 1e-6);
      }
    }
  }
});

test("the smallest weights that are lines are Python's, whatever is hidden", () => {
  for (const { keys, values, least } of lineCases) {
    const queries = least.length;
    const map = Float32Array.from(values, (value) => value ?? Number.NaN);
    const ofStack = { stack: "self", unit: "tokens" };
    const axes = { ...ofStack, query: axis(queries, []), key: axis(keys, [[0, "cls"]]) };
    for (const hidden of [[], ["cls" as const]]) {
      const choice = { hidden, sentences: "all" } as const;
      const drawn = visibleMap(map, axes, {
        ...choice,
        hidden,
        scale: "absolute",
        quantity: "weights",
      });
      expect(drawn.least?.length).toBe(queries);
      for (const [row, weight] of least.entries())
        expect(drawn.least?.[row]).toBeCloseTo(weight, 5);
    }
  }
});

test("a linked figure takes what it takes in Python", () => {
  expect(SHARED).toEqual(linkCases.shared);
  for (const { name, value, taken, ...limits } of linkCases.cases)
    expect(fitting(name, value, limits as unknown as Limits)).toEqual(taken);
});

test("Wilson's intervals are Python's", () => {
  for (const [correct = 0, n = 0, low = 0, high = 0] of relationCases.wilson) {
    const interval = wilson(correct, n);
    expect(interval[0]).toBeCloseTo(low, 11);
    expect(interval[1]).toBeCloseTo(high, 11);
  }
});

test("a relation has the words that it has in Python", () => {
  const { labels, governors, words } = relationCases;
  for (const [name, expected] of Object.entries(words)) {
    const found = labels.flatMap((label, i) =>
      governors[i] && hasRelation(name, label) ? [i] : [],
    );
    expect(found).toEqual(expected);
  }
});

test("numbers are printed as exact decimals round", () => {
  for (const [share, n, text] of numberCases.percent)
    expect(percent(Number(share), Number(n))).toBe(text);
  for (const [x, text] of numberCases.digits) expect(digits(Number(x))).toBe(text);
  for (const [x, text] of numberCases.figures) expect(figures(Number(x))).toBe(text);
});

test("heads are called as in Python", () => {
  for (const [head, name, paper] of numberCases.heads)
    expect([headName(head as Head), paperName(head as Head)]).toEqual([name, paper]);
});
