// @vitest-environment node
import { describe, expect, test } from "vitest";
import cases from "../../tests/parity/heads.json" with { type: "json" };
import { type Lines, MOST_LINES } from "../src/head_view/lines/lines_choose.js";
import { linesRange } from "../src/head_view/lines/lines_focus.js";
import { arrangeLines } from "../src/head_view/lines/lines_paint.js";
import { type Scene, sceneOf, visibleOf } from "../src/head_view/scene.js";
import { chipsOf, toggledHeads } from "../src/head_view/several/chips.js";
import { headColors, LEVELS } from "../src/head_view/several/head_colors.js";
import { namesOf } from "../src/head_view/several/head_list_text.js";
import { arrangeBeside, paintNames, TITLE } from "../src/head_view/several/heads_side_by_side.js";
import type { Arrangement, Maps } from "../src/head_view/several/map_types.js";
import { cellsBeside, paintHeadCells, together } from "../src/head_view/several/overlay_lines.js";
import { drawnHeads } from "../src/head_view/several/several.js";
import { severalNotes, severalTable, targetText } from "../src/head_view/several/several_text.js";
import { barsOfTwo } from "../src/head_view/several/two_maps.js";
import { sourceOf } from "../src/head_view/source/source_of.js";
import type { ViewState } from "../src/head_view/state.js";
import { shownHeads, valuesOfHead } from "../src/head_view/view_shown.js";
import { captionOf } from "../src/head_view/view_text.js";
import { tableRuler } from "../src/shared/labels.js";
import type { Pen } from "../src/shared/pen.js";
import { THEMES } from "../src/shared/theme.js";
import type { Head } from "../src/shared/types.js";
import { heads, maps, second, severalState } from "./two_heads.js";
import { stack } from "./view_state.js";

function drawn(patch: Partial<ViewState> = {}, room = 800) {
  const state = severalState(patch);
  const { shown } = shownHeads(state, heads[1] as Head, null);
  if (!shown) throw new Error("the maps are there");
  const ground = {
    theme: THEMES.light,
    room,
    font: "Arial",
    ruler: tableRuler,
    density: 1,
    dense: false,
    active: {},
  };
  return { state, shown, scene: sceneOf(state, shown, visibleOf(state, shown), ground) };
}

/** Return a pen that records each rectangle and text. */
function notingPen() {
  const boxes: [color: string, x: number, y: number, width: number, height: number][] = [];
  const texts: [text: string, x: number, y: number][] = [];
  const pen = {
    fillStyle: "",
    font: "",
    textAlign: "",
    textBaseline: "",
    fillRect(x: number, y: number, width: number, height: number) {
      boxes.push([this.fillStyle, x, y, width, height]);
    },
    fillText: (text: string, x: number, y: number) => texts.push([text, x, y]),
  };
  return { pen: pen as unknown as Pen, boxes, texts };
}

describe("one head in two attentions", () => {
  const [head] = heads as [Head];
  const two = (
    comparison_part: ViewState["comparison_part"],
    patch: Partial<ViewState> = {},
    room = 433,
  ) =>
    drawn(
      {
        selected: [head],
        layer: head[0],
        _maps: { ...maps, heads: [head, head] },
        _compared: ["here", "there"],
        comparison_part,
        ...patch,
      },
      room,
    );

  test.each([
    ["first", "A: here", true, false],
    ["second", "B: there", true, false],
    ["difference", "A − B, ±81\u00a0points", false, true],
  ] as const)("the %s alone has all the room, and its own color bar", (of, name, ...bars) => {
    for (const mode of ["lines", "matrix"] as const) {
      const { scene, state, shown } = two(of, { mode });
      const { panels, height } = arrangeBeside(scene);
      expect(panels.map((panel) => panel.name)).toEqual([name]);
      const all = arrangeBeside(two("all", { mode }).scene);
      expect(all.panels.map((panel) => panel.name)).toEqual([
        "A: here",
        "B: there",
        "A − B, ±81\u00a0points",
      ]);
      expect(height).toBeLessThan(all.height);
      const { ofMaps, ofDifference } = barsOfTwo(scene);
      expect([ofMaps, ofDifference]).toEqual(bars);
      // The readout has the numbers of all three maps, wherever the pointer is.
      expect(targetText(scene, { query: 0, key: 1 })).toMatch(/A .* · B .* · A − B /);
      const notes = severalNotes(scene);
      const [letter = ""] = name.split(/[:,]/);
      expect(notes).toContain(`${letter} alone is drawn`);
      expect(captionOf(state, shown, scene.map, notes).notes.join()).toContain("alone is drawn");
    }
  });
});

describe("the heads that are drawn together", () => {
  test("are the kernel's", () => {
    for (const one of cases) {
      const side = Math.sqrt(one.cells);
      const found = drawnHeads({
        selected: one.selected as Head[],
        arrangement: one.arrangement as Arrangement,
        shown_heads: one.shown_heads as "layer",
        _stacks: ["self", "cross"].map((name) => ({
          ...stack,
          name,
          n_heads: one.n_heads,
          n_query: side,
          n_key: side,
        })),
      });
      expect(found.heads, JSON.stringify(one)).toEqual(one.drawn);
    }
  });

  test("wait for their maps, and keep what is shown meanwhile", () => {
    const { shown } = drawn();
    const more = severalState({ selected: [...heads, [2, 6, "self"]] });
    expect(shownHeads(more, [2, 6, "self"], shown)).toEqual({ shown, busy: true });
    expect(shownHeads(severalState({ quantity: "norms" }), heads[1] as Head, shown).busy).toBe(
      true,
    );
    expect(shownHeads(severalState(), heads[1] as Head, shown)).toEqual({ shown, busy: false });
  });

  test("are on one scale, which relative scales end at the largest weight of all", () => {
    expect(drawn().scene.map.members?.map((map) => map.maximum)).toEqual([1, 1]);
    const { scene } = drawn({ scale: "sqrt" });
    expect(scene.map.members?.map((map) => map.maximum)).toEqual([
      Math.fround(0.831),
      Math.fround(0.831),
    ]);
    expect(Math.max(...(scene.map.members?.[1]?.parts.overview.values ?? []))).toBeCloseTo(0.4155);
  });

  test("read from bytes as from numbers, to a step of the root", () => {
    const bytes = Uint8Array.from(
      second.flat(),
      (value) => 1 + Math.round(254 * Math.sqrt(value / 0.4155)),
    );
    const rounded: Maps = {
      ...maps,
      heads: [heads[1] as Head],
      exact: false,
      maxima: [0.4155],
      values: { shape: [1, 4, 4], dtype: "|u1", view: new DataView(bytes.buffer) },
    };
    const { shown } = drawn({
      selected: [heads[1] as Head],
      arrangement: "overlay",
      _maps: rounded,
    });
    for (const [i, value] of valuesOfHead(shown).entries())
      expect(value).toBeCloseTo(second.flat()[i] ?? 0, 2);
    expect(shown.exact).toBe(false);
  });
});

describe("side by side", () => {
  test("as many columns as fit, filled evenly, each head with its name over it", () => {
    const wide = arrangeBeside(drawn({}, 800).scene);
    expect(wide.panels.map(({ x, y }) => [x > 0, y > 0])).toEqual([
      [false, false],
      [true, false],
    ]);
    const narrow = arrangeBeside(drawn({}, 300).scene);
    expect(narrow.panels.map(({ x }) => x)).toEqual([0, 0]);
    expect(narrow.panels[1]?.y).toBeGreaterThanOrEqual(narrow.panels[0]?.height ?? 0);
    const { pen, texts } = notingPen();
    paintNames(pen, wide, drawn().scene);
    expect(texts.map(([text, , y]) => [text, y])).toEqual([
      ["L1 H2", TITLE / 2],
      ["L2 H5", TITLE / 2],
    ]);
    for (const { panels, width } of [wide, narrow])
      for (const panel of panels) expect(panel.x + panel.width).toBeLessThanOrEqual(width);
  });

  test("a matrix names rows at the left and columns at the top, and all cells are alike", () => {
    const { panels } = arrangeBeside(drawn({ mode: "matrix" }, 300).scene);
    const wide = arrangeBeside(drawn({ mode: "matrix" }, 600).scene).panels;
    expect(panels.map(({ scene }) => scene.labeled)).toEqual([
      { query: true, key: true },
      { query: true, key: false },
    ]);
    expect(wide.map(({ scene }) => scene.labeled)).toEqual([
      { query: true, key: true },
      { query: false, key: true },
    ]);
    expect(wide[1]?.matrix?.cellWidth).toBe(wide[0]?.matrix?.cellWidth);
    expect(wide[1]?.width).toBeLessThan(wide[0]?.width ?? 0);
    expect(panels[1]?.height).toBeLessThan(panels[0]?.height ?? 0);
  });

  test("locks and the pointer are the same in all", () => {
    const { scene } = drawn({ tokens: [["query", 1]] });
    const pointed: Scene = { ...scene, active: { key: 2 } };
    for (const { scene: part } of arrangeBeside(pointed).panels)
      expect([part.active, [...part.locked.query]]).toEqual([{ key: 2 }, [1]]);
  });
});

describe("one over another", () => {
  test("a color a head, kept within a layer when another leaves", () => {
    const layer = Array.from({ length: 8 }, (_, head): Head => [3, head, "self"]);
    for (const theme of [THEMES.light, THEMES.dark]) {
      const all = headColors(theme, layer, 7);
      expect(new Set(all).size).toBe(8);
      const rest = headColors(theme, layer.slice(2), 5);
      expect(rest).toEqual(all.slice(2));
      expect(headColors(theme, heads, 1)).toEqual(all.slice(0, 2));
    }
    const sameNumber: Head[] = [
      [3, 1, "self"],
      [3, 9, "self"],
    ];
    expect(new Set(headColors(THEMES.light, sameNumber, 1)).size).toBe(2);
  });

  test("heads after the eighth are gray, which is said; the one that is shown never is", () => {
    const layer = Array.from({ length: 12 }, (_, head): Head => [3, head, "self"]);
    const colors = headColors(THEMES.light, layer, 9);
    expect(colors.filter((color) => color === THEMES.light.muted)).toHaveLength(4);
    expect(colors[9]).not.toBe(THEMES.light.muted);
    const { scene } = drawn({ arrangement: "overlay" });
    const many = { arrangement: "overlay" as const, heads: layer, wanted: 12, last: 9 };
    expect(severalNotes({ ...scene, several: many, colors })).toContain(
      "in gray: L3 H1, L3 H8, L3 H10, L3 H11",
    );
    expect(new Set(headColors({ ...THEMES.light, forced: true }, layer, 0)).size).toBe(1);
  });

  const lines = (level: number[]): Lines => ({
    count: level.length,
    leftOut: 0,
    level: Uint8Array.from(level),
    query: Int32Array.from(level),
    key: new Int32Array(level.length),
  });

  test("lines of all heads are drawn weakest first, each from its head's table", () => {
    const found = together([lines([3, 200]), lines([1, 90, 255])]);
    expect([...found.level]).toEqual([LEVELS + 1, 3, LEVELS + 90, 200, LEVELS + 255]);
    expect([...found.query]).toEqual([1, 3, 90, 200, 255]);
    const many = lines(new Array<number>(MOST_LINES).fill(7));
    const most = together([many, lines([9])]);
    expect([most.count, most.leftOut, most.level.at(-1)]).toEqual([MOST_LINES, 1, LEVELS + 9]);
  });

  test("a token shows every head's row as a column of cells beside the other side", () => {
    const { scene } = drawn({ arrangement: "overlay", tokens: [["query", 1]], scale: "linear" });
    const at = arrangeLines(scene, 0);
    const { pen, boxes } = notingPen();
    paintHeadCells(
      pen,
      at,
      scene,
      Uint32Array.from({ length: 2 * LEVELS }, (_, i) => i),
    );
    const { x, cell } = cellsBeside(at, "key", 2);
    expect(x).toBeGreaterThan(at.x1 + at.labelWidth);
    expect(x + 2 * cell).toBeLessThanOrEqual(at.width);
    // Each head has a bar in its color and four keys.
    expect(boxes.map(([, left]) => left)).toEqual([
      ...new Array(5).fill(x),
      ...new Array(5).fill(x + cell),
    ]);
    expect(cellsBeside(at, "query", 32).x).toBeGreaterThanOrEqual(0);
  });

  test("the map under the pointer has the largest weight of each pair, and whose it is", () => {
    const { map } = drawn({ arrangement: "overlay" }).scene;
    const { values, strongest } = sourceOf(map).overview;
    expect(values[6]).toBeCloseTo(0.831);
    expect(strongest?.[6]).toBe(0);
    // [CLS] to [SEP] has 0.1 in the first head and 0.35 in the second.
    expect([strongest?.[3], values[3]]).toEqual([1, Math.fround(0.35)]);
  });
});

describe("what is said of several heads", () => {
  test("a pair has every head's weight, largest first, a token the strongest of each", () => {
    const { scene } = drawn({ arrangement: "overlay" });
    expect(targetText(scene, { query: 0, key: 3 })).toBe(
      "[CLS] → [SEP]: L2 H5 35\u00a0% · L1 H2 10\u00a0%",
    );
    expect(targetText(scene, { query: 1 })).toBe(
      "cat → L1 H2: sat 83\u00a0% · L2 H5: cat 42\u00a0%",
    );
    expect(targetText(scene, { key: 0 })).toBe(
      "[CLS] ← L1 H2: [CLS] 70\u00a0% · L2 H5: sat 13\u00a0%",
    );
    expect(targetText(scene, {})).toBe("");
  });

  test("the caption names the heads and what is not shown", () => {
    const { state, shown, scene } = drawn({ selected: [[0, 0, "cross"], ...heads] });
    const caption = captionOf(state, shown, scene.map, severalNotes(scene), linesRange(scene));
    expect(caption).toMatchObject({ figure: "Attention heads", head: "L1 H2 (2-3), L2 H5 (3-6)" });
    expect(caption.scale).toBe("absolute line thickness scale, 0 to 1");
    expect(caption.notes).toContain("2 of 3 heads side by side");
    const layer = Array.from({ length: 12 }, (_, head): Head => [3, head, "self"]);
    expect(namesOf(layer)).toBe("L3 H0 (4-1) to L3 H11 (4-12)");
  });

  test("the table has a column a head, of the strongest pairs of any", () => {
    const { columns, rows } = severalTable(drawn().scene);
    expect(columns).toEqual(["from", "to", "L1 H2", "L2 H5"]);
    expect(rows.slice(0, 2)).toEqual([
      ["cat", "sat", "0.831", "0.025"],
      ["[CLS]", "[CLS]", "0.700", "0.050"],
    ]);
  });
});

describe("chips", () => {
  const state = severalState({ _stacks: [{ ...stack, n_heads: 3, n_layers: 4 }] });
  const two: Head[] = [
    [1, 2, "self"],
    [2, 0, "self"],
  ];

  test("are the heads of the layer and those drawn from elsewhere, in the order of layers", () => {
    const found = chipsOf({ ...state, selected: two });
    expect(found.map(({ head, drawn }) => [head[0], head[1], drawn])).toEqual([
      [1, 2, true],
      [2, 0, true],
      [2, 1, false],
      [2, 2, false],
    ]);
  });

  test("add and take away, but never the last head", () => {
    const now = { ...state, selected: two };
    expect(toggledHeads(now, [2, 1, "self"])).toEqual([...two, [2, 1, "self"]]);
    expect(toggledHeads(now, [1, 2, "self"])).toEqual([[2, 0, "self"]]);
    expect(toggledHeads({ ...now, selected: [[2, 0, "self"]] }, [2, 0, "self"])).toEqual([
      [2, 0, "self"],
    ]);
    expect(toggledHeads({ ...now, shown_heads: "layer" }, [2, 1, "self"])).toEqual([
      [2, 0, "self"],
      [2, 2, "self"],
    ]);
  });
});
