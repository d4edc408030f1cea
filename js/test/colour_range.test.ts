import { describe, expect, test } from "vitest";
import { barTable, lineTables } from "../src/head_view/lines/line_tables.js";
import { linesRange } from "../src/head_view/lines/lines_focus.js";
import { type Ground, sceneOf, visibleOf } from "../src/head_view/scene.js";
import { differenceScale } from "../src/head_view/several/two_maps.js";
import { scaledToSight } from "../src/head_view/source/colour_range.js";
import type { ViewState } from "../src/head_view/state.js";
import { shownHeads } from "../src/head_view/view_shown.js";
import { captionOf } from "../src/head_view/view_text.js";
import { ramp } from "../src/shared/colour.js";
import { tableRuler } from "../src/shared/labels.js";
import { THEMES } from "../src/shared/theme.js";
import type { Head } from "../src/shared/types.js";
import { viewState } from "./view_state.js";
import { wireOf } from "./wire_of.js";

const head: Head = [1, 5, "self"];
const float = (values: number[], shape: number[]) => wireOf(Float32Array.from(values), shape);
/** Rows of four tokens; the largest weight is in the first row. */
const weights = [0.9, 0.1, 0, 0, 0.5, 0.3, 0.1, 0.1, 0.1, 0.2, 0.6, 0.1, 0.2, 0.2, 0.2, 0.4];
const other = weights.map((weight, i) => (i === 10 ? 0.7 : weight));

const state = (patch: Partial<ViewState> = {}) =>
  viewState({
    mode: "matrix",
    _map: {
      stack: "self",
      layer: 1,
      head: 5,
      quantity: "weights",
      unit: "tokens",
      exact: true,
      values: float(weights, [4, 4]),
    },
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

describe("the colours of a matrix", () => {
  test("end at the largest weight of the head, or of what is in sight of a zoomed one", () => {
    const whole = drawn(state());
    expect(whole.scene.map.maximum).toBeCloseTo(0.9);
    expect(whole.caption.scale).toContain("0 to 0.9, this head");
    const near = drawn(state({ window: [1, 4, 1, 4] }));
    expect(near.scene.map.maximum).toBeCloseTo(0.6);
    expect(near.scene.map.maximumOfAll).toBeCloseTo(0.9);
    expect(near.caption.scale).toContain("0 to 0.6, in sight");
  });

  test("stay while a hand moves the map", () => {
    const { scene } = drawn(state({ window: [1, 4, 1, 4] }), {
      moved: [0, 3, 0, 3],
      scaledTo: [1, 4, 1, 4],
    });
    expect(scene.part).toEqual([0, 3, 0, 3]);
    expect(scene.map.maximum).toBeCloseTo(0.6);
  });

  test("stay where nothing is in sight but zeros", () => {
    const { scene } = drawn(state({ window: [0, 1, 2, 4] }));
    expect(scene.map.maximum).toBeCloseTo(0.9);
    expect(linesRange(scene).of).toBe("this head");
  });

  test("are shared by two that are compared, and not by their difference", () => {
    const two = state({
      window: [1, 4, 1, 4],
      versus: "other",
      _compared: ["a", "b"],
      _map: null,
      _maps: {
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
    expect(differenceScale(scene.map, "weights").range).toBe("−0.1 to +0.1");
    expect(linesRange(scene).of).toBe("in sight");
  });

  test("leave out a part of a map that has no members", () => {
    const { scene } = drawn(state());
    expect(scaledToSight(scene.map, [3, 4, 0, 4]).maximum).toBeCloseTo(0.4);
  });
});

describe("lines in a dark theme", () => {
  const luminance = (word = 0) => (word & 255) + ((word >> 8) & 255) + ((word >> 16) & 255);
  const lines = state({ mode: "lines" });

  test("of small weights are farther from the ground than cells, and as the colour bar says", () => {
    const { scene } = drawn(lines, { theme: THEMES.dark });
    const cells = ramp(THEMES.dark);
    const { first } = lineTables(scene);
    expect([first[0], first[255]]).toEqual([cells[0], cells[255]]);
    expect(luminance(first[44])).toBeGreaterThan(1.3 * luminance(cells[44]));
    expect([...barTable(scene)]).toEqual([...first]);
  });

  test("are the only ones with colours of their own", () => {
    const light = drawn(lines).scene;
    expect(lineTables(light).first).toBe(ramp(THEMES.light));
    expect(barTable(drawn(state(), { theme: THEMES.dark }).scene)).toBe(ramp(THEMES.dark));
  });
});
