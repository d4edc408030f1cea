import { describe, expect, test } from "vitest";
import {
  caption,
  describe as describeTarget,
  keyGroup,
  printer,
} from "../src/draw/view_caption.js";
import { moved, toggled } from "../src/draw/view_cursor.js";
import { visibleMap } from "../src/draw/visible_map.js";
import { axes, weights } from "./four_tokens.js";

const stack = { name: "self", n_layers: 3, n_heads: 8, n_key_heads: 8, n_query: 4, n_key: 4 };

describe("the caption", () => {
  const map = visibleMap(Float32Array.from(weights.flat()), axes, {
    ...{ hidden: ["cls"], sentences: "all", renormalise: true },
  });
  const facts = {
    ...{ head: [7, 9, "cross"] as [number, number, string], model: "T5", note: "", mask: "" },
    ...{
      quantity: "weights",
      loss: "",
      unit: "words",
      scale: "log" as const,
      mode: "lines" as const,
    },
    ...{
      topMass: 0.8,
      hidden: ["[CLS]"],
      sentences: "all" as const,
      map,
      exact: true,
      drawing: "",
    },
    rowSums: [1, 1] as [number, number],
  };

  test("says what was hidden, merged, rescaled and left out", () => {
    const text = caption(facts);
    for (const part of [
      ...["T5", "cross attention", "cross L7 H9 (8-10 counted from 1)", "3 words", "log scale"],
      ...["lines that make up 80 % of each row", "hidden: [CLS] (23.3 % of the weight)"],
      ...["rows renormalised", "words: sum over the attended word's tokens"],
    ])
      expect(text).toContain(part);
    expect(caption({ ...facts, mode: "matrix" })).not.toContain("80 %");
  });

  test("says when rows do not sum to one, and when values are rounded", () => {
    const sinks = { ...facts, rowSums: [0.08, 0.93] as [number, number] };
    expect(caption(sinks)).toContain("rows sum to 0.08–0.93 (attention sinks)");
    expect(caption(facts)).not.toContain("rows sum");
    expect(caption({ ...facts, exact: false })).toContain("rounded to 8 bits");
    expect(printer(false, "weights")(0.8313)).toBe("≈0.831");
    expect(printer(false, "weights")(1e-5)).toBe("<0.0005");
    expect(printer(true, "weights")(0.8313)).toBe("0.831");
    expect(printer(true, "weights")(Number.NaN)).toBe("masked");
  });

  test("names who shares keys", () => {
    const grouped = { ...stack, n_key_heads: 2 };
    expect(keyGroup(grouped, [0, 5, "self"])).toBe("shares keys with H4–H7");
    expect(keyGroup(stack, [0, 5, "self"])).toBe("");
  });

  test("reads a token from either side", () => {
    const all = { hidden: [], sentences: "all" as const, renormalise: false };
    const full = visibleMap(Float32Array.from(weights.flat()), axes, all);
    const read = (target: { query?: number; key?: number }) =>
      describeTarget(full, axes, target, printer(true, "weights"));
    expect(read({ query: 1, key: 2 })).toBe("cat → sat 0.831");
    expect(read({ key: 2 })).toBe("sat ← cat 0.831 · sat 0.25 · [SEP] 0.2");
  });
});

test("the cursor moves as the mode has it", () => {
  expect(moved("ArrowDown", {}, "lines", 4, 6)).toEqual({ query: 0 });
  expect(moved("ArrowDown", { query: 3 }, "lines", 4, 6)).toEqual({ query: 3 });
  expect(moved("ArrowRight", { query: 2 }, "lines", 4, 6)).toEqual({ key: 2 });
  expect(moved("ArrowLeft", { key: 5 }, "lines", 4, 6)).toEqual({ query: 3 });
  expect(moved("End", { key: 0 }, "lines", 4, 6)).toEqual({ key: 5 });
  expect(moved("ArrowRight", {}, "matrix", 4, 6)).toEqual({ query: 0, key: 0 });
  expect(moved("ArrowUp", { query: 2, key: 1 }, "matrix", 4, 6)).toEqual({ query: 1, key: 1 });
  expect(moved("x", {}, "lines", 4, 6)).toBeUndefined();
});

test("locks replace, add up and come off", () => {
  expect(toggled([["query", 1]], [["key", 2]], false)).toEqual([["key", 2]]);
  expect(toggled([["query", 1]], [["key", 2]], true)).toHaveLength(2);
  expect(
    toggled(
      [
        ["query", 1],
        ["key", 2],
      ],
      [["query", 1]],
      false,
    ),
  ).toEqual([["key", 2]]);
});
