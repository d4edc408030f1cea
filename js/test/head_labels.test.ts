import { expect, test } from "vitest";
import { headNames } from "../src/shared/caption.js";
import { gridLayout } from "../src/shared/cells.js";
import { relabelled, shortName, wholeName } from "../src/shared/head_names.js";
import type { Head, HeadLabel } from "../src/shared/types.js";

const PRONOUN: Head = [1, 3, "self"];
const LABELS: HeadLabel[] = [
  [PRONOUN, "pronoun"],
  [[1, 3, "cross"], "another stack"],
];

test("a label follows the name of its head", () => {
  expect(shortName(PRONOUN, LABELS)).toBe("L1 H3 “pronoun”");
  expect(wholeName(PRONOUN, LABELS)).toBe("L1 H3 (2-4) “pronoun”");
  expect(shortName([1, 4, "self"], LABELS)).toBe("L1 H4");
  expect(wholeName(PRONOUN)).toBe("L1 H3 (2-4)");
  expect(headNames([PRONOUN, [0, 0, "self"]], { labels: LABELS, short: true })).toBe(
    "L1 H3 “pronoun”, L0 H0",
  );
});

test("control characters in a label are drawn as their pictures", () => {
  expect(shortName(PRONOUN, [[PRONOUN, "a\u0007b"]])).toBe("L1 H3 “a␇b”");
});

test("a text replaces the label of its head, and an empty one removes it", () => {
  expect(relabelled(LABELS, PRONOUN, "  person ")).toEqual([LABELS[1], [PRONOUN, "person"]]);
  expect(relabelled(LABELS, PRONOUN, "  ")).toEqual([LABELS[1]]);
});

test("cells keep a line for labels where they stay large enough for one", () => {
  expect(gridLayout(750, 6, 12, false, 1, "label").band).toBe(14);
  const small = gridLayout(380, 6, 12, false, 1, "label");
  expect(small).toEqual(gridLayout(380, 6, 12, false, 1, "nothing"));
});
