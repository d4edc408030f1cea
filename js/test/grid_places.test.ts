// @vitest-environment happy-dom
import { describe, expect, test } from "vitest";
import { decode, drawHead } from "../src/head_grid/grid_pixels.js";
import { captionOf, legendOf, describe as spell, strongest } from "../src/head_grid/grid_text.js";
import { pageModel } from "../src/head_grid/page.js";
import { paintedRows, rowsBar } from "../src/head_grid/painted_rows.js";
import { areCurrent, composed, sceneOf } from "../src/head_grid/scene.js";
import type { GridState, Thumbnails } from "../src/head_grid/state.js";
import { peekShown } from "../src/head_view/peek_shown.js";
import type { Shown } from "../src/head_view/view_shown.js";
import { captionText } from "../src/shared/caption.js";
import { channels, ramp } from "../src/shared/color.js";
import { levelOf } from "../src/shared/color_levels.js";
import { tableRuler } from "../src/shared/labels.js";
import { FONT } from "../src/shared/picture/sheet.js";
import { THEMES } from "../src/shared/theme.js";
import { asFloat32, asInt32, asUint8 } from "../src/shared/wire.js";
import { gridState } from "./grid_state.js";
import { stack, viewState } from "./view_state.js";
import { wireOf } from "./wire_of.js";

const text = ["[CLS]", "r0c0", "r0c1", "r1c0", "r1c1"];
const axis = { text, raw: text, special: ["cls", "", "", "", ""], segments: [0, 0, 0, 0, 0] };
const axes = { stack: "self", unit: "tokens", query: axis, key: axis };
const NONE = [Number.NaN, Number.NaN, Number.NaN, Number.NaN, Number.NaN];
const boxes = wireOf(
  Float32Array.from(
    [NONE, [0, 0, 0, 40, 20], [0, 40, 0, 80, 20], [0, 0, 20, 40, 40], [0, 40, 20, 80, 40]].flat(),
  ),
  [5, 5],
);
const places = { stack: "self", unit: "tokens", start: 0, query: boxes, key: boxes };
const media = { pictures: [{ width: 80, height: 40 }], sounds: [] };

/** Return the byte of a weight in a row whose largest weight is 0.5. */
const byte = (weight: number) => 1 + Math.round(254 * Math.sqrt(weight / 0.5));
const row = [byte(0.3), byte(0.5), byte(0.03), byte(0.17), 0];

const thumbnails = (patch: Partial<Thumbnails> = {}): Thumbnails => ({
  stack: "self",
  quantity: "weights",
  unit: "tokens",
  hidden: [],
  versus: null,
  values: wireOf(new Uint8Array(), [1, 2, 0, 0]),
  maxima: wireOf(Float32Array.of(0.5, 0.25), [1, 2]),
  strongest: wireOf(Int32Array.of(2, 1, 2, 4), [1, 2, 2]),
  row: {
    side: "query",
    of: 2,
    values: wireOf(Uint8Array.from([...row, ...row]), [1, 2, 5]),
    largest: wireOf(Float32Array.of(0.5, 0.25), [1, 2]),
  },
  ...patch,
});

const stateOf = (patch: Partial<GridState> = {}): GridState =>
  gridState({
    tokens: [["query", 2]],
    selected: [[0, 0, "self"]],
    layer: 0,
    _axes: axes,
    _stacks: [{ ...stack, n_layers: 1, n_heads: 2, n_key_heads: 2, n_query: 5, n_key: 5 }],
    _thumbnails: thumbnails(),
    _placed_on: "pictures",
    _places: places,
    _media: media,
    ...patch,
  });

const page = {
  theme: THEMES.light,
  width: 400,
  density: 1,
  font: FONT,
  ruler: tableRuler,
};

function scene(patch: Partial<GridState> = {}, theme = THEMES.light) {
  const state = stateOf(patch);
  const maps = state._thumbnails && decode(state._thumbnails);
  return sceneOf(state, maps, { ...page, theme });
}

/** Return the pixels of a head, `size` pixels per side. */
function drawn(size: number, patch: Partial<GridState> = {}, head = 0, theme = THEMES.light) {
  const { maps, look } = scene(patch, theme);
  const words = new Uint32Array(size * size);
  if (maps) drawHead(words, size, 0, [size, size], maps, [0, head], look);
  return (x: number, y: number) =>
    [0, 8, 16].map((shift) => ((words[y * size + x] ?? 0) >> shift) & 255);
}

describe("a painted cell", () => {
  test.each(["light", "dark"] as const)(
    "has the ink of each weight in the proportions of the picture, on the ground of the %s page",
    (theme) => {
      const at = drawn(80, {}, 0, THEMES[theme]);
      const table = ramp(THEMES[theme]);
      const ink = levelOf("absolute", 1);
      const ground = channels(THEMES[theme].background);
      for (const [weight, x, y] of [
        [0.5, 20, 30],
        [0.03, 60, 30],
        [0.17, 20, 50],
      ] as const) {
        const color = table[ink(weight)] ?? 0;
        const expected = [0, 8, 16].map((shift) => (color >> shift) & 255);
        for (const [channel, value] of at(x, y).entries())
          expect(Math.abs(value - (expected[channel] ?? 0))).toBeLessThan(2.5);
      }
      // Background shows above and below a wide picture, and where the token sees nothing.
      expect([at(40, 5), at(60, 50)]).toEqual([ground, ground]);
      // The scale begins with the background color.
      expect([0, 8, 16].map((shift) => ((table[0] ?? 0) >> shift) & 255)).toEqual(ground);
    },
  );

  test("shows equal weights alike in heads whose largest weights differ", () => {
    const half = Uint8Array.from([
      ...row.map(() => 1 + Math.round(254 * Math.sqrt(0.2))),
      ...row.map(() => 1 + Math.round(254 * Math.sqrt(0.4))),
    ]);
    const { row: before } = thumbnails();
    const of = { row: before && { ...before, values: wireOf(half, [1, 2, 5]) } };
    const patch = { _thumbnails: thumbnails(of) };
    const [first, second] = [drawn(40, patch, 0), drawn(40, patch, 1)];
    for (const [channel, value] of first(10, 15).entries())
      expect(Math.abs(value - (second(10, 15)[channel] ?? 0))).toBeLessThanOrEqual(2);
  });

  test("loses no strong weight where patches are smaller than pixels", () => {
    const [red = 0, , blue = 0] = drawn(1)(0, 0);
    expect(blue - red).toBeGreaterThan(40);
  });

  test("follows the system's colors", () => {
    const theme = { ...THEMES.light, forced: true, background: "#000000", text: "#ffff00" };
    const [red = 0, green = 0, blue = 0] = drawn(80, {}, 0, theme)(20, 30);
    expect(Math.min(red, green) - blue).toBeGreaterThan(60);
  });

  test("of a sound is ink along the time, on the ground of the page", () => {
    const spans = wireOf(
      Float32Array.from(
        [0, 1, 2, 3, 4].flatMap((i) => [0, i / 4, Number.NaN, (i + 1) / 4, Number.NaN]),
      ),
      [5, 5],
    );
    const at = drawn(80, {
      _places: { ...places, query: null, key: spans },
      _media: { pictures: [], sounds: [{ seconds: 1 }] },
    });
    expect(at(30, 10)).toEqual(at(30, 70));
    const [, dark = 255] = at(30, 40);
    const [, light = 0] = at(50, 40);
    expect(light - dark).toBeGreaterThan(50);
  });
});

describe("what is said of painted cells", () => {
  test("names the row and what is left out", () => {
    const text = captionText(captionOf(scene()));
    expect(text).toContain("cells: where “r0c1” looks, laid out as the picture");
    expect(text).toContain("tick on the bar: even share 25");
    expect(text).toContain("shares on tokens without a place are not drawn");
    expect(text).not.toContain("contains the picture");
    expect(text).not.toContain("block maxima");
    const { maps } = scene();
    if (!maps) throw new Error("no maps");
    expect(spell([0, 0], strongest(maps, axes, [0, 0]), "", false)).toContain(
      "strongest r0c1 to r0c0",
    );
  });

  test("the bar has a tick at the even share", () => {
    const { look } = scene();
    if (!look.rows) throw new Error("no rows");
    const bar = rowsBar(look.rows, "absolute", 1);
    const tick = Math.round(255 * 0.25 ** 0.6);
    expect(bar?.words[tick]).toBe(0xffffffff);
    expect(bar).toBe(rowsBar(look.rows, "absolute", 1));
  });
});

describe("what is drawn", () => {
  test("is a raster of all heads, and nothing before the places are there", () => {
    expect(composed(scene())).toBeDefined();
    expect(composed(scene({ _places: null }))).toBeUndefined();
    expect(composed(scene({ _media: null }))).toBeUndefined();
  });

  test("is stale until the row of the locked token has come", () => {
    const state = stateOf();
    const maps = decode(thumbnails());
    expect(areCurrent(maps, state)).toBe(true);
    expect(areCurrent(maps, { ...state, tokens: [["query", 3]] })).toBe(false);
    expect(areCurrent(maps, { ...state, thumbnail: "maps" })).toBe(false);
    expect(areCurrent(maps, { ...state, tokens: [] })).toBe(true);
  });

  test("is remade only where the row, the places or the theme have changed", () => {
    const state = stateOf();
    const maps = decode(thumbnails());
    const first = paintedRows(maps, state, THEMES.light);
    expect(paintedRows(maps, state, { ...THEMES.light })).toBe(first);
    expect(paintedRows(maps, state, THEMES.dark)).not.toBe(first);
  });
});

describe("a page without a kernel", () => {
  const maps = {
    quantity: "weights",
    axes,
    shape: [1, 1, 5, 5] as [number, number, number, number],
    maxima: [0.5],
    values: Uint8Array.from({ length: 25 }, (_, i) => (i % 7) * 40),
  };
  const answers = (first: number) => ({
    largest: wireOf(Float32Array.of(0.5, 0.5, 0.5, 0.5, 0.5), [5, 1, 1]),
    maxima: wireOf(Float32Array.from([0, 1, 2, 3, 4].map((i) => first + i / 8)), [5, 1, 1]),
    others: wireOf(Int32Array.of(4, 3, 2, 1, 0), [5, 1, 1]),
  });

  test("shows the row that was drawn, and of a locked token the row in its maps", () => {
    const mean = thumbnails();
    const held = {
      axes,
      thumbnails: mean,
      placed_on: "pictures" as const,
      places,
      rows: ["query" as const, "key" as const],
      painted: { query: answers(0), key: answers(1) },
    };
    const model = pageModel(
      {
        name: "head_grid",
        label: "",
        remark: "",
        relations: null,
        shapes: { self: [1, 1] },
        state: stateOf({ tokens: [] }),
        own: { metrics: [] },
      },
      { maps: [maps], thumbnails: [held] },
    );
    expect(model.get("_thumbnails")).toBe(mean);
    const shown = () => {
      const { row, maxima, strongest } = model.get("_thumbnails") ?? mean;
      return {
        side: row?.side,
        bytes: row && [...asUint8(row.values)],
        most: asFloat32(maxima)[0],
        link: [...asInt32(strongest)],
      };
    };
    model.set("tokens", [["query", 2]]);
    const bytes = [...maps.values.subarray(10, 15)];
    expect(shown()).toEqual({ side: "query", bytes, most: 0.25, link: [2, 2] });
    expect(model.get("_rows")).toBeNull();
    model.set("tokens", [["key", 1]]);
    const column = [1, 6, 11, 16, 21].map((i) => maps.values[i]);
    expect(shown()).toEqual({ side: "key", bytes: column, most: 1.125, link: [3, 1] });
    model.set("tokens", [
      ["query", 2],
      ["key", 1],
    ]);
    expect(shown().side).toBe("query");
    expect(model.get("_rows")?.of).toBe(2);
  });
});

test("a view of places shows the row of a head that the grid points at", () => {
  const last = {
    head: [0, 0, "self"],
    axes,
    values: [new Float32Array(25).fill(0.2)],
    highlighted: { query: [], key: [] },
    mask: "",
  } as unknown as Shown;
  const values = Float32Array.of(0.1, 0.2, 0.3, 0.4, 0);
  const peeked = {
    head: [0, 1, "self"] as [number, number, string],
    quantity: "weights",
    unit: "tokens",
    hidden: [],
    rows: 0,
    cols: 0,
    values: new Uint8Array(),
    maximum: 0.4,
    row: { side: "query" as const, of: 2, values },
  };
  const shown = peekShown(viewState({ mode: "places" }), last, peeked)?.shown;
  expect([...(shown?.values[0]?.subarray(10, 15) ?? [])]).toEqual([...values]);
  const column = { ...peeked, row: { ...peeked.row, side: "key" as const, of: 1 } };
  const turned = peekShown(viewState({ mode: "places" }), last, column)?.shown.values[0];
  expect([1, 6, 11, 16, 21].map((i) => turned?.[i])).toEqual([...values]);
  expect(peekShown(viewState({ mode: "matrix" }), last, peeked)).toBe(null);
});

test.each(["sqrt", "log"] as const)(
  "cells that answer for a word keep the absolute scale beside %s maps",
  (scale) => {
    const _rows = {
      stack: "self",
      unit: "tokens" as const,
      quantity: "weights" as const,
      side: "query" as const,
      of: 2,
      values: wireOf(Float32Array.of(0.1, 0.6, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.2, 0.2), [1, 2, 5]),
    };
    const maps = scene({ scale, _thumbnails: thumbnails({ row: null }) });
    expect(legendOf(maps).words).toBe(`${scale} · per head`);
    for (const _thumbnails of [thumbnails({ row: null }), thumbnails()]) {
      const answers = scene({ scale, _rows, _thumbnails });
      const { bar, texts, words } = legendOf(answers);
      expect([texts, words]).toEqual([["0", "31\u00a0%", "100\u00a0%"], "absolute"]);
      expect(bar.words).toBe(ramp(THEMES.light));
      const text = captionText(captionOf(answers));
      expect(text).toContain("absolute color scale, 0 to 1");
      expect(text).toContain("looks most, with its share in per cent");
      expect(text).not.toContain("per head");
      // Heads whose weight is barely above an even share do not count, and the caption must say so.
      const pair = scene({
        scale,
        _rows,
        _thumbnails,
        tokens: [
          ["query", 2],
          ["key", 1],
        ],
      });
      expect(captionText(captionOf(pair))).toContain("from 1.5 times an even share on");
      // A lock on only the key side reverses the question.
      const rowsOfKey = { ..._rows, side: "key" as const, of: 1 };
      const column = scene({ scale, _rows: rowsOfKey, _thumbnails, tokens: [["key", 1]] });
      expect(captionText(captionOf(column))).toMatch(/who looks at “\w+” most, with the share of/);
      // Rows of another lock must not be used.
      expect(scene({ scale, _rows, _thumbnails, tokens: [["key", 1]] }).asked).toBeUndefined();
    }
  },
);
