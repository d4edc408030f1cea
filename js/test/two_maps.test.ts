// @vitest-environment node
import { describe, expect, test } from "vitest";
import { linesInView } from "../src/head_view/lines/lines_choose.js";
import { cellPixels } from "../src/head_view/matrix/matrix_pixels.js";
import { togetherMap } from "../src/head_view/several/several.js";
import { absentIn, aloneText, differenceOf, twoNames } from "../src/head_view/several/two_maps.js";
import { sourceOf } from "../src/head_view/source/source_of.js";
import { completeParts, type VisibleMap } from "../src/head_view/source/visible_map.js";
import { diverging, NO_CHANGE } from "../src/shared/color.js";
import { levelOf, tables } from "../src/shared/color_levels.js";
import { THEMES } from "../src/shared/theme.js";
import { axes } from "./four_tokens.js";

const nan = Number.NaN;
const map = (values: number[], of: Partial<VisibleMap> = {}): VisibleMap => ({
  rows: [0, 1],
  cols: [0, 1],
  parts: completeParts(Float32Array.from(values), { rows: [0, 1], cols: [0, 1] }),
  maximum: Math.max(...values.filter((x) => x >= 0)),
  hiddenShare: 0,
  filteredShare: 0,
  ...of,
});

describe("a difference", () => {
  const difference = differenceOf(map([0.5, 0.25, 1, nan]), map([0.25, 0.75, 1, 0.5]));

  test("is the first minus the second, on the largest of either sign", () => {
    expect([...difference.parts.overview.values]).toEqual([0.25, -0.5, 0, nan]);
    expect([difference.maximum, difference.signed]).toEqual([0.5, true]);
  });

  test("has levels as far from the middle above as below", () => {
    for (const scale of ["linear", "sqrt", "log"] as const) {
      const level = levelOf(scale, 0.5, true);
      expect(level(0)).toBe(NO_CHANGE);
      for (const value of [0.01, 0.1, 0.3, 0.5])
        expect(level(value) - NO_CHANGE).toBe(NO_CHANGE - level(-value));
      expect([level(0.5), level(-0.5)]).toEqual([255, 1]);
    }
  });

  test("draws lines of both signs, the weakest first, and none where nothing differs", () => {
    const toLevel = levelOf("linear", 0.5, true);
    const lines = linesInView(difference, { start: 0, end: 2 }, toLevel);
    expect([...lines.key]).toEqual([0, 1]);
    expect([...lines.level]).toEqual([toLevel(0.25), toLevel(-0.5)]);
  });

  test("has a clear pixel where there is none, and the scale's colors elsewhere", () => {
    const none = { query: new Set<number>(), key: new Set<number>() };
    const pixels = cellPixels(
      sourceOf(difference).overview,
      2,
      2,
      levelOf("linear", 0.5, true),
      tables(THEMES.light, true),
      none,
    );
    const scale = diverging(THEMES.light);
    expect([...pixels]).toEqual([scale[NO_CHANGE + 64], scale[1], scale[NO_CHANGE], 0]);
  });
});

test("a difference has lines from 3 % of its own scale on, and none where A and B are alike", () => {
  const weights = (values: number[]) => map(values, { maximum: 1, least: new Float32Array(2) });
  const a = weights([0.5, 0.25, 0.2, nan]);
  const small = differenceOf(a, weights([0.48, 0.25, 0.2, nan]));
  expect(small.least?.[0]).toBeCloseTo(0.03 * 0.02);
  const noise = differenceOf(a, weights([0.4999, 0.25, 0.2, nan]));
  expect(noise.least?.[0]).toBeCloseTo(0.001);
});

test("of two maps on one scale the third is their difference on its own", () => {
  const several = {
    arrangement: "beside" as const,
    heads: [],
    wanted: 1,
    last: 0,
    names: twoNames(["here", "there"]),
  };
  const values = [new Float32Array([0.5, 0.25, 1, 0]), new Float32Array([0.25, 0.75, 0.5, 0])];
  const shown = togetherMap(
    several,
    values.map((of) => map([...of])),
  );
  expect(shown.members?.map(({ maximum, signed }) => [maximum, signed ?? false])).toEqual([
    [1, false],
    [1, false],
    [0.5, true],
  ]);
  expect(shown.most?.maximum).toBe(1);
  expect(several.names).toEqual(["A: here", "B: there", "A − B"]);
});

test(
  "what one input has alone is named, and absent from the other's panel and from the " +
    "difference",
  () => {
    const alone: [number[], number[]] = [[1], [2]];
    const two = { ...axes, query: { ...axes.query, alone }, key: { ...axes.key, alone } };
    const shown = map([], { rows: [0, 1, 2, 3], cols: [0, 1, 2, 3] });
    expect([0, 1, 2].map((panel) => [...absentIn(panel, two, shown).key])).toEqual([
      [2],
      [1],
      [1, 2],
    ]);
    expect(aloneText(two)).toBe(
      `without a counterpart: ${axes.query.text[1]} (A alone), ${axes.query.text[2]} (B alone)`,
    );
    expect(aloneText(axes)).toBe("");
  },
);
