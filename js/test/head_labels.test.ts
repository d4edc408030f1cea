// @vitest-environment node
import { expect, test } from "vitest";
import { headNames } from "../src/shared/caption.js";
import { gridLayout } from "../src/shared/cells.js";
import { relabeled, shortName, wholeName } from "../src/shared/head_names.js";
import type { Head, HeadLabel } from "../src/shared/types.js";

const PRONOUN: Head = [1, 3, "self"];
const LABELS: HeadLabel[] = [
  [PRONOUN, "pronoun"],
  [[1, 3, "cross"], "another stack"],
];

test("a label follows the name of its head", () => {
  expect(shortName(PRONOUN, { labels: LABELS })).toBe("L1 H3 “pronoun”");
  expect(wholeName(PRONOUN, { labels: LABELS })).toBe("L1 H3 (2-4) “pronoun”");
  expect(shortName([1, 4, "self"], { labels: LABELS })).toBe("L1 H4");
  expect(wholeName(PRONOUN)).toBe("L1 H3 (2-4)");
  expect(headNames([PRONOUN, [0, 0, "self"]], { labels: LABELS, short: true })).toBe(
    "L1 H3 “pronoun”, L0 H0",
  );
});

test("control characters in a label are drawn as their pictures", () => {
  expect(shortName(PRONOUN, { labels: [[PRONOUN, "a\u0007b"]] })).toBe("L1 H3 “a␇b”");
});

test("a text replaces the label of its head, and an empty one removes it", () => {
  expect(relabeled(LABELS, PRONOUN, "  person ")).toEqual([LABELS[1], [PRONOUN, "person"]]);
  expect(relabeled(LABELS, PRONOUN, "  ")).toEqual([LABELS[1]]);
});

test("cells keep a line for labels where they stay large enough for one", () => {
  expect(gridLayout(750, 6, 12, false, 1, "label").band).toBe(14);
  const small = gridLayout(380, 6, 12, false, 1, "label");
  expect(small).toEqual(gridLayout(380, 6, 12, false, 1, "nothing"));
});

test("a head that combines others has their name, and no name of papers", () => {
  const head: Head = [0, 0, "self"];
  const names = { heads: [["mean of 12 heads of layer 3"]], rows: ["mean"], columns: ["mean"] };
  const stack = { name: "self", n_layers: 1, n_heads: 1, n_key_heads: 1, n_query: 4, n_key: 4 };
  const naming = { labels: [[head, "flat"]] as HeadLabel[], _stacks: [{ ...stack, names }] };
  expect(shortName(head, naming)).toBe("mean of 12 heads of layer 3 “flat”");
  expect(wholeName(head, naming)).toBe("mean of 12 heads of layer 3 “flat”");
  expect(headNames([head], { _stacks: [{ ...stack, names: null }] })).toBe("L0 H0 (1-1)");
});
