// @vitest-environment node
import { describe, expect, test } from "vitest";
import { barOf } from "../src/head_view/color_bars.js";
import { lineTables } from "../src/head_view/lines/line_tables.js";
import { linesRange } from "../src/head_view/lines/lines_focus.js";
import { allLines, arrangeLines } from "../src/head_view/lines/lines_paint.js";
import { type Ground, sceneOf, visibleOf } from "../src/head_view/scene.js";
import { differenceScale } from "../src/head_view/several/two_maps.js";
import { scaledToSight } from "../src/head_view/source/color_range.js";
import type { ViewState } from "../src/head_view/state.js";
import { shownHeads } from "../src/head_view/view_shown.js";
import { captionOf } from "../src/head_view/view_text.js";
import { ramp } from "../src/shared/color.js";
import { tableRuler } from "../src/shared/labels.js";
import { THEMES } from "../src/shared/theme.js";
import type { Head } from "../src/shared/types.js";
import { tileOf, viewState } from "./view_state.js";
import { wireOf } from "./wire_of.js";

const head: Head = [1, 5, "self"];
const float = (values: number[], shape: number[]) => wireOf(Float32Array.from(values), shape);
/** Weights of four tokens by row; the largest weight is in the first row. */
const weights = [0.9, 0.1, 0, 0, 0.5, 0.3, 0.1, 0.1, 0.1, 0.2, 0.6, 0.1, 0.2, 0.2, 0.2, 0.4];
const other = weights.map((weight, i) => (i === 10 ? 0.7 : weight));

const state = (patch: Partial<ViewState> = {}) =>
  viewState({
    mode: "matrix",
    _tile: tileOf(float(weights, [4, 4])),
    ...patch,
  });

function drawn(of: ViewState, ground: Partial<Ground> = {}) {
  const { shown } = shownHeads(of, head, null);
  if (!shown) throw new Error("nothing shown");
  const scene = sceneOf(of, shown, visibleOf(of, shown), {
    theme: THEMES.light,
    font: "Arial",
    ruler: tableRuler,
    density: 1,
    room: 700,
    active: {},
    dense: false,
    ...ground,
  });
  return { scene, caption: captionOf(of, shown, scene.map, [], linesRange(scene)) };
}

describe("the colors of a matrix on a relative scale", () => {
  test("end at the largest weight of the head, or of what is in sight of a zoomed one", () => {
    const whole = drawn(state({ scale: "sqrt" }));
    expect(whole.scene.map.maximum).toBeCloseTo(0.9);
    expect(whole.caption.scale).toContain("0 to 90\u00a0%, this head");
    const near = drawn(state({ scale: "sqrt", window: [1, 4, 1, 4] }));
    expect(near.scene.map.maximum).toBeCloseTo(0.6);
    expect(near.scene.map.maximumOfAll).toBeCloseTo(0.9);
    expect(near.caption.scale).toContain("0 to 60\u00a0%, in sight");
  });

  test("stay while a hand moves the map", () => {
    const { scene } = drawn(state({ scale: "sqrt", window: [1, 4, 1, 4] }), {
      moved: [0, 3, 0, 3],
      scaledTo: [1, 4, 1, 4],
    });
    expect(scene.part).toEqual([0, 3, 0, 3]);
    expect(scene.map.maximum).toBeCloseTo(0.6);
  });

  test("stay where nothing is in sight but zeros", () => {
    const { scene } = drawn(state({ scale: "sqrt", window: [0, 1, 2, 4] }));
    expect(scene.map.maximum).toBeCloseTo(0.9);
    expect(linesRange(scene).of).toBe("this head");
  });

  test("are shared by two that are compared, and not by their difference", () => {
    const two = state({
      scale: "sqrt",
      window: [1, 4, 1, 4],
      versus: "other",
      _compared: ["a", "b"],
      _tile: null,
      _maps: {
        complete: true,
        stack: "self",
        quantity: "weights",
        unit: "tokens",
        heads: [head, head],
        exact: true,
        maxima: [],
        values: float([...weights, ...other], [2, 4, 4]),
      },
    });
    const { scene } = drawn(two);
    expect(scene.map.members?.map(({ maximum }) => Number(maximum.toFixed(4)))).toEqual([
      0.7, 0.7, 0.1,
    ]);
    expect(differenceScale(scene.map, "weights").range).toBe("−10\u00a0points to +10\u00a0points");
    expect(linesRange(scene).of).toBe("in sight");
  });

  test("leave out a part of a map that has no members", () => {
    const { scene } = drawn(state());
    expect(scaledToSight(scene.map, [3, 4, 0, 4]).maximum).toBeCloseTo(0.4);
  });
});

describe("lines on the absolute scale", () => {
  const lines = (patch: Partial<ViewState> = {}) => state({ mode: "lines", ...patch });
  const chosen = (of: ViewState) => {
    const { scene } = drawn(of);
    return allLines(scene, arrangeLines(scene, 0));
  };
  const pairs = ({ query, key, count }: ReturnType<typeof chosen>) =>
    Array.from({ length: count }, (_, i) => `${query[i]}-${key[i]}`);
  const map = (values: number[]) => ({
    _tile: tileOf(float(values, [4, 4])),
  });

  test("begin at 1.5 times an even share, the strongest is drawn last", () => {
    // An even share of four keys is 0.25.
    expect(pairs(chosen(lines()))).toEqual(["3-3", "1-0", "2-2", "0-0"]);
  });

  test("count the keys that a query of a causal model sees", () => {
    const none = Number.NaN;
    const causal = [1, none, none, none, 0.3, 0.7, none, none];
    causal.push(0.45, 0.3, 0.25, none, 0.38, 0.37, 0.2, 0.05);
    expect(pairs(chosen(lines(map(causal))))).toEqual(["3-0"]);
  });

  test("count hidden keys", () => {
    const special = { hidden: ["cls"] as ViewState["hidden"] };
    const values = [0.1, 0.6, 0.2, 0.1, 0.1, 0.4, 0.3, 0.2, 0.1, 0.3, 0.3, 0.3, 0.7, 0.1, 0.1, 0.1];
    // Shares of 0.4 are links among four keys, because the limit is 0.375.
    expect(chosen(lines({ ...map(values), ...special })).count).toBe(1);
  });

  test("are none of a flat map, nor of a head that is off, and as before on relative scales", () => {
    const flat = map(new Array(16).fill(0.25));
    expect(chosen(lines(flat)).count).toBe(0);
    expect(chosen(lines({ ...flat, scale: "sqrt" })).count).toBe(16);
    for (const scale of ["absolute", "sqrt"] as const) {
      const off = lines({ disabled: [head], scale });
      expect(chosen(off).count).toBe(0);
      expect(Math.max(...drawn(off).scene.map.parts.overview.values)).toBe(0);
    }
  });

  test("are thick in proportion to their weight, in one color, in every theme", () => {
    for (const theme of [THEMES.light, THEMES.dark]) {
      const { scene } = drawn(lines(), { theme });
      const { first } = lineTables(scene);
      expect(new Set(first.subarray(1)).size).toBe(1);
      expect(first[0]).toBe(ramp(theme)[0]);
      expect(barOf(scene).down).toBeGreaterThan(1);
      expect(barOf(drawn(state(), { theme }).scene).words).toBe(ramp(theme));
    }
  });

  test("have the same end for a token, a part of the map, and two maps", () => {
    const of = { ...lines(), tokens: [["query", 3]] as ViewState["tokens"] };
    expect(linesRange(drawn(of).scene)).toEqual({ maximum: 1, of: "" });
    const near = drawn(state({ window: [1, 4, 1, 4] }));
    expect([near.scene.map.maximum, near.caption.scale]).toEqual([
      1,
      "absolute color scale, 0 to 1",
    ]);
  });
});
