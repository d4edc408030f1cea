// @vitest-environment node
import { describe, expect, test } from "vitest";
import { type MapOptions, visibleMap } from "../src/head_view/source/visible_map.js";
import type { ViewState } from "../src/head_view/state.js";
import { moved, toggled } from "../src/head_view/view_cursor.js";
import type { Shown } from "../src/head_view/view_shown.js";
import { captionOf, describe as describeTarget, keyGroup } from "../src/head_view/view_text.js";
import { captionText } from "../src/shared/caption.js";
import { printer } from "../src/shared/quantity.js";
import { axes, weights } from "./four_tokens.js";
import { stack, viewState } from "./view_state.js";

describe("the caption", () => {
  const map = visibleMap(Float32Array.from(weights.flat()), axes, {
    hidden: ["cls"],
    sentences: "all",
    scale: "log",
    quantity: "weights",
  });
  const state = viewState({
    selected: [[7, 9, "cross"]],
    layer: 7,
    hidden: ["cls"],
    unit: "words",
    scale: "log",
    _source: { model: "T5", note: "", loss: "" },
  });
  const shown: Shown = {
    head: [7, 9, "cross"],
    quantity: "weights",
    unit: "words",
    axes,
    exact: true,
    mask: "",
    values: [Float32Array.from(weights.flat())],
    rowSums: [1, 1],
    source: [],
    highlighted: { query: [], key: [] },
  };
  const textOf = (more: Partial<ViewState> = {}, other: Partial<Shown> = {}) =>
    captionText(captionOf({ ...state, ...more }, { ...shown, ...other }, map, []));

  test("says what was hidden, merged, rescaled and left out", () => {
    const text = textOf();
    for (const part of [
      "T5",
      "One attention head, cross attention",
      "cross L7 H9 (8-10)",
      "3 words",
      "logarithmic line thickness scale, 0 to 83\u00a0%, this head",
      "hidden: [CLS] (23.3\u00a0% of the weight)",
      "words: sum over the attended word's tokens",
    ])
      expect(text).toContain(part);
  });

  test("says when rows do not sum to one, and when values are rounded", () => {
    expect(textOf({}, { rowSums: [0.08, 0.93] })).toContain(
      "rows sum to 0.08–0.93 (attention sinks)",
    );
    expect(textOf()).not.toContain("rows sum");
    expect(textOf({}, { exact: false })).toContain("rounded");
    expect(printer("weights")(1e-5)).toBe("<0.1\u00a0%");
    expect(printer("weights")(0.8313)).toBe("83\u00a0%");
    expect(printer("weights")(Number.NaN)).toBe("masked");
  });

  test("names who shares keys", () => {
    const grouped = { ...stack, n_key_heads: 2 };
    expect(keyGroup(grouped, [0, 5, "self"])).toBe("shares keys with H4–H7");
    expect(keyGroup(stack, [0, 5, "self"])).toBe("");
  });

  test("reads a token from either side", () => {
    const all: MapOptions = {
      hidden: [],
      sentences: "all",
      scale: "absolute",
      quantity: "weights",
    };
    const full = visibleMap(Float32Array.from(weights.flat()), axes, all);
    const readoutOf = (target: { query?: number; key?: number }) =>
      describeTarget(full, axes, target, printer("weights"));
    expect(readoutOf({ query: 1, key: 2 })).toBe("cat → sat 83\u00a0%");
    expect(readoutOf({ key: 2 })).toBe("sat ← cat 83\u00a0% · sat 25\u00a0% · [SEP] 20\u00a0%");
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
