import { describe, expect, test, vi } from "vitest";
import { linesRange } from "../src/head_view/lines/lines_focus.js";
import { drawPicture } from "../src/head_view/picture.js";
import { type Scene, sceneOf, visibleOf } from "../src/head_view/scene.js";
import { targetText } from "../src/head_view/several/several_text.js";
import { sourceOf, weightAt } from "../src/head_view/source/source_of.js";
import { tileRequests } from "../src/head_view/source/tile_requests.js";
import type { BlockMaps, Tile, TileRow } from "../src/head_view/source/tile_types.js";
import { lacks } from "../src/head_view/source/tiled_map.js";
import { windowOf } from "../src/head_view/source/window_of.js";
import type { ViewState } from "../src/head_view/state.js";
import { shownHeads } from "../src/head_view/view_shown.js";
import view from "../src/head_view/widget.js";
import { tableRuler } from "../src/shared/labels.js";
import { wire } from "../src/shared/page/embedded_maps.js";
import { THEMES } from "../src/shared/theme.js";
import type { Head } from "../src/shared/types.js";
import { type MapPart, wholeOf } from "../src/shared/window.js";
import { fakeModel } from "./fake_model.js";
import { frame, mounted } from "./mounted.js";
import { stack, tileOf, viewState } from "./view_state.js";

const nan = Number.NaN;
const N = 4096;
const size = { rows: N, cols: N };
const all = { rows: [...Array(N).keys()], cols: [...Array(N).keys()] };
const float = (values: number[], shape: number[]) => wire(Float32Array.from(values), shape);
const one: Head = [1, 5, "self"];
const other: Head = [1, 6, "self"];
const names: Record<number, string> = { 0: "<s>", 3000: "late", 20: "early" };
const text = all.rows.map((i) => names[i] ?? `t${i}`);
const axis = {
  text,
  raw: text,
  special: text.map((_, i) => (i === 0 ? "cls" : "")),
  segments: text.map(() => 0),
};
const axes = { stack: "self", unit: "tokens", query: axis, key: axis };

/** Overview with four blocks of 2048 tokens, one of which is masked. */
const long: BlockMaps = {
  complete: false,
  heads: [one],
  stack: "self",
  quantity: "weights",
  unit: "tokens",
  hidden: [],
  sentences: "all",
  n_query: N,
  n_key: N,
  step: 2048,
  maxima: [0.5],
  shares: [0, 0],
  values: float([0.25, nan, 0.5, 0.125], [1, 2, 2]),
  first: float([0.9, 0.8], [1, 2]),
  links: [
    [
      [3000, 20, 0.5],
      [2001, 2000, 0.25],
    ],
  ],
};
/** Four by four tokens from (2000, 1998) on. */
const cells = [...Array(16).keys()].map((i) => (i === 3 ? nan : i / 100000));
const near: MapPart = [2000, 2004, 1998, 2002];
const tile: Tile = {
  heads: [one],
  stack: "self",
  quantity: "weights",
  unit: "tokens",
  exact: true,
  step: 1,
  part: near,
  asked: near,
  queries: [2000, 2004],
  keys: [1998, 2002],
  links: null,
  values: float(cells, [1, 4, 4]),
  first: float([0.9, 0.9, 0.9, 0.9], [1, 4]),
};
const state = (patch: Partial<ViewState> = {}) =>
  viewState({
    mode: "matrix",
    scale: "log",
    _axes: axes,
    _maps: long,
    _tile: tile,
    window: near,
    _stacks: [{ ...stack, n_query: N, n_key: N }],
    _source: { model: "Llama", note: "read in blocks", loss: "" },
    ...patch,
  });
/** State in which the complete map is visible and no tile is loaded. */
const far: Partial<ViewState> = { _tile: null, window: null };

function drawn(patch: Partial<ViewState> = {}): Scene {
  const now = state(patch);
  const { shown } = shownHeads(now, now.selected.at(-1) as Head, null);
  if (!shown) throw new Error("nothing shown");
  return sceneOf(now, shown, visibleOf(now, shown), {
    theme: THEMES.light,
    font: "Arial",
    ruler: tableRuler,
    density: 1,
    room: 700,
    active: {},
    dense: false,
  });
}

test("a tile is lacking that has not all of a part, or smaller blocks", () => {
  expect(lacks(null, wholeOf(size))).toBe(true);
  expect(lacks(tile, near)).toBe(false);
  expect(lacks(tile, [2000.5, 2004.5, 1998, 2002])).toBe(true);
  const coarse: Tile = { ...tile, step: 16, queries: [0, N], keys: [0, N] };
  expect(lacks(coarse, wholeOf(size))).toBe(false);
  expect(lacks(coarse, [0, 2049, 0, 100])).toBe(false);
  expect(lacks(coarse, [0, 2048, 0, 100])).toBe(true);
});

describe("a map of which parts are at hand", () => {
  test("has the tile's cells where there are any, else the overview's blocks", () => {
    const { map } = drawn();
    const source = sourceOf(map);
    expect(source.at({ query: 2001, key: 1999 })).toMatchObject({
      query: 2001,
      key: 1999,
      step: 1,
    });
    expect(source.at({ query: 2100.5, key: 3 })).toEqual({
      query: 2048,
      key: 0,
      step: 2048,
      weight: 0.5,
    });
    expect(source.at({ query: -1, key: 3 })).toBeUndefined();
    expect(weightAt(map, 2001, 1999)).toBeCloseTo(5e-5);
    expect(weightAt(map, 3000, 20)).toBeNaN();
    expect(source.cells(near).map(({ step }) => step)).toEqual([1]);
    expect(source.cells([1990, 2004, 1998, 2002]).map(({ step }) => step)).toEqual([2048, 1]);
  });

  test("is told with its tokens and its exact weight, a block with the largest", () => {
    const say = (query: number, key: number, step = 1) => targetText(drawn(), { query, key, step });
    expect(say(2001, 1999)).toBe("t2001 (2001) → t1999 (1999) 0.005\u00a0%");
    expect(say(2000, 2001)).toBe("t2000 (2000) → t2001 (2001) masked");
    expect(targetText(drawn(far), { query: 2048, key: 0, step: 2048 })).toBe(
      "queries 2048–4095 → keys 0–2047: at most 50\u00a0%",
    );
    expect(targetText(drawn(far), { query: 0, key: 2048, step: 2048 })).toBe(
      "queries 0–2047 → keys 2048–4095: masked",
    );
  });

  test("is colored by the largest weight in sight, or of the head without a window", () => {
    expect(drawn().map.maximum).toBe(Math.fround(15 / 100000));
    expect(linesRange(drawn()).of).toBe("in sight but for the first key");
    expect(drawn(far).map.maximum).toBe(0.5);
    expect(linesRange(drawn(far)).of).toBe("this head but for the first key");
  });

  test("without hidden tokens has other positions, and no first key apart", () => {
    const hidden: BlockMaps = {
      ...long,
      hidden: ["cls"],
      n_query: N - 1,
      n_key: N - 1,
      first: null,
    };
    const scene = drawn({ ...far, hidden: ["cls"], _maps: hidden });
    expect([scene.map.rows[0], scene.map.cols.length]).toEqual([1, N - 1]);
    expect(sourceOf(scene.map).overview.first).toBeUndefined();
    // The figure stays unchanged until the kernel has answered.
    const now = state({ hidden: ["cls"] });
    expect(shownHeads(now, one, null)).toEqual({ shown: null, busy: true });
  });

  test("lists the strongest of the row of a locked query", () => {
    const row: TileRow = {
      heads: [one],
      side: "query",
      at: 3000,
      step: 4,
      values: float(Array(1024).fill(0.1), [1, 1024]),
      first: [0.8],
      links: [
        [
          [20, 0.5],
          [7, 0.25],
        ],
      ],
    };
    const source = sourceOf(drawn({ _row: row }).map);
    expect(source.row(3000)?.first).toBe(0.8);
    expect(source.row(2)).toBeUndefined();
    expect(source.strongest({ query: 3000 }, 5).map(({ key }) => key)).toEqual([20, 7]);
    const strange = { ...row, heads: [other] };
    expect(sourceOf(drawn({ _row: strange }).map).row(3000)).toBeUndefined();
  });
});

describe("several maps of which parts are at hand", () => {
  const heads = [one, other];
  const second = [0.3, nan, 0.125, 0.75];
  const both: BlockMaps = {
    ...long,
    heads,
    maxima: [0.5, 0.75],
    values: float([0.25, nan, 0.5, 0.125, ...second], [2, 2, 2]),
    first: float([0.9, 0.8, 0.1, 0.2], [2, 2]),
    links: [[[3000, 20, 0.5]], [[3000, 4000, 0.75]]],
  };

  test("are on one scale side by side", () => {
    const { map } = drawn({ ...far, selected: heads, arrangement: "beside", _maps: both });
    expect(map.members?.map(({ maximum }) => maximum)).toEqual([0.75, 0.75]);
    expect(map.members?.map((member) => sourceOf(member).at({ query: 0, key: 0 })?.weight)).toEqual(
      [0.25, Math.fround(0.3)],
    );
  });

  test("show the strongest head of each block over one another", () => {
    const { map } = drawn({ ...far, selected: heads, arrangement: "overlay", _maps: both });
    const { overview } = sourceOf(map);
    expect([...overview.values].map((value) => Number(value.toFixed(3)))).toEqual([
      0.3,
      nan,
      0.5,
      0.75,
    ]);
    expect([...(overview.strongest ?? [])]).toEqual([1, 0, 0, 1]);
    expect([...(overview.firstStrongest ?? [])]).toEqual([0, 0]);
    expect(
      sourceOf(map)
        .strongest({}, 2)
        .map(({ weight }) => weight),
    ).toEqual([0.75, 0.5]);
  });

  test("wait for the heads that are wished for", () => {
    const now = state({ selected: heads, arrangement: "beside" });
    expect(shownHeads(now, other, null).busy).toBe(true);
  });

  test("of two attentions the kernel sends the difference", () => {
    const three: BlockMaps = {
      ...both,
      heads: [one, one],
      maxima: [0.5, 0.75, 0.25],
      values: float([0.25, nan, 0.5, 0.125, ...second, -0.25, nan, 0.125, 0.2], [3, 2, 2]),
      first: float([0.9, 0.8, 0.1, 0.2, 0.8, 0.6], [3, 2]),
      links: [[], [], [[3000, 20, -0.25]]],
    };
    const { map, several } = drawn({ ...far, _compared: ["here", "there"], _maps: three });
    expect(several?.names).toEqual(["A: here", "B: there", "A − B"]);
    expect(map.members?.map(({ signed, maximum }) => [signed ?? false, maximum])).toEqual([
      [false, 0.75],
      [false, 0.75],
      [true, 0.25],
    ]);
  });
});

describe("a picture", () => {
  const request = {
    width: 600,
    theme: THEMES.light,
    density: 1,
    blank: false,
    dense: false,
    brief: false,
    caption: false,
  };

  test("says that the input is long, how it was read, and what is not in it", () => {
    const { caption, table } = drawPicture(state(), request);
    expect(caption.quantity).toBe("attention weights · long input, 4,096 tokens");
    expect(caption.scale).toMatch(/^logarithmic color scale, .*, in sight but for the first key$/);
    expect(caption.notes).toEqual([
      "zoomed: queries 2000 to 2003 and keys 1998 to 2001 of 4096 in sight",
      "<s> (0) in a column of its own, at most 90\u00a0%",
      "causal mask",
      "listed links: without links to <s> (0), from the first 16 tokens and of a token to itself",
      "read in blocks",
    ]);
    expect(table.rows).toEqual([["t2001 (2001)", "t2000 (2000)", "0.25"]]);
    const whole = drawPicture(state(far), request);
    expect(whole.caption.notes[0]).toBe("maxima of 2048 × 2048 positions");
    expect(whole.caption.scale).toBe(
      "logarithmic color scale, ≤0.05\u00a0% to 50\u00a0%, this head but for the first key",
    );
    expect(whole.table.rows).toEqual([
      ["late (3000)", "early (20)", "0.500"],
      ["t2001 (2001)", "t2000 (2000)", "0.250"],
    ]);
    const links = [[[2003, 2000, 0.25]]] as Tile["links"];
    const lines = drawPicture(state({ mode: "lines", _tile: { ...tile, links } }), request);
    expect(lines.caption.notes).toContain(
      "the strongest 1 link in sight; weaker links are not shown",
    );
  });

  test("is drawn of the part in sight alone", () => {
    const { body } = drawPicture(state(), request).sheet.pen;
    expect(body).toContain("t2001");
    expect(body).not.toContain("t1990");
    const whole = drawPicture(state(far), request);
    expect(whole.sheet.pen.body).not.toContain("t2002");
    expect(whole.caption.figure).toBe("One attention head");
  });
});

describe("asking for tiles", () => {
  const asking = () => {
    const model = Object.assign(
      fakeModel(state({ window: null, _tile: { ...tile, asked: null } })),
      { send: () => {} },
    );
    const end = new AbortController();
    let part: MapPart = wholeOf(size);
    const requests = tileRequests(
      model,
      () => part,
      () => {},
      end.signal,
    );
    const show = (next: MapPart) => {
      part = next;
      requests.show(windowOf(all, next));
    };
    const answer = (asked: MapPart) => {
      // A kernel echoes the window before it answers.
      model.fromKernel({ window: asked });
      expect(requests.isMoved()).toBe(false);
      model.fromKernel({
        _tile: {
          ...tile,
          asked,
          part: asked,
          queries: [asked[0], asked[1]],
          keys: [asked[2], asked[3]],
        },
      });
    };
    return { model, requests, show, answer, end };
  };
  const at = (q: number): MapPart => [q, q + 100, q, q + 100];

  test("one at a time, and then the last one wished for", () => {
    const { model, requests, show, answer } = asking();
    for (const q of [0, 100, 200, 300]) show(at(q));
    expect(model.sent).toEqual([{ window: at(0) }]);
    answer(at(0));
    expect(model.sent).toEqual([{ window: at(0) }, { window: at(300) }]);
    expect(requests.isOpen()).toBe(true);
    answer(at(300));
    expect(requests.isOpen()).toBe(false);
    expect(model.sent).toHaveLength(2);
  });

  test("what the page has already is told when it stands still", () => {
    vi.useFakeTimers();
    const { model, show, answer } = asking();
    show(at(0));
    answer(at(0));
    for (const q of [10, 20, 5]) show([q, q + 50, q, q + 50]);
    expect(model.sent).toHaveLength(1);
    vi.advanceTimersByTime(300);
    expect(model.sent.at(-1)).toEqual({ window: [5, 55, 5, 55] });
    vi.useRealTimers();
  });

  test("an answer that does not come is not waited for for ever", () => {
    vi.useFakeTimers();
    const { model, requests, show } = asking();
    show(at(0));
    show(at(100));
    vi.advanceTimersByTime(10_000);
    expect(model.sent.at(-1)).toEqual({ window: at(100) });
    expect(requests.isOpen()).toBe(true);
    vi.useRealTimers();
  });

  test("a window that someone else sets is taken over", () => {
    const { model, requests } = asking();
    model.fromKernel({ window: at(700) });
    expect([requests.isMoved(), requests.isMoved()]).toEqual([true, false]);
  });
});

describe("the page", () => {
  const press = (el: Element, key: string, more = {}) =>
    el.dispatchEvent(
      new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }),
    );

  test("zooms, goes to links and unlocks by keys", async () => {
    const { model, find, el } = await mounted(
      view(),
      state({ window: null, _tile: { ...tile, asked: null, part: wholeOf(size) } }),
    );
    const figure = find(".attnw-matrix-figure");
    expect(figure.getAttribute("aria-label")).toMatch(
      /^Attention of L1 H5 over 4,096 tokens; strongest: late \(3000\) → early/,
    );
    expect(find("[data-caption]").textContent).toContain("long input, 4,096 tokens");
    const go = [...el.querySelectorAll<HTMLElement>(".attnw-strongest-go")].map((one) =>
      one.getAttribute("aria-label"),
    );
    expect(go).toEqual([
      "go to late (3000) → early (20), 50\u00a0%",
      "go to t2001 (2001) → t2000 (2000), 25\u00a0%",
    ]);
    find(".attnw-strongest-go").click();
    expect(model.get("tokens")).toEqual([
      ["query", 3000],
      ["key", 20],
    ]);
    await frame();
    const part = () => JSON.parse(find("canvas.attnw-matrix").dataset.layout ?? "{}").part;
    expect(part()).toEqual([2985, 3017, 5, 37]);
    press(figure, "-");
    await frame();
    const nearby = part()[1] - part()[0];
    expect(nearby).toBeGreaterThan(32);
    expect(nearby).toBeLessThanOrEqual(80);
    press(figure, "ArrowLeft", { shiftKey: true });
    await frame();
    expect(part()[2]).toBe(0);
    press(figure, "0");
    await frame();
    expect(part()).toEqual([0, N, 0, N]);
    press(figure, "Escape");
    expect(model.get("tokens")).toEqual([]);
    press(figure, "]");
    expect(model.get("selected")).toEqual([[2, 5, "self"]]);
  });

  test("tokens are text wherever they stand", async () => {
    const hostile = "<img src=x onerror=alert(1)>";
    const evil = { ...axis, text: axis.text.map(() => hostile) };
    const { el, find } = await mounted(
      view(),
      state({ _axes: { ...axes, query: evil, key: evil } }),
    );
    expect(el.querySelector("img")).toBeNull();
    expect(find(".attnw-strongest-go").textContent).toContain(hostile);
  });

  test("goes into a block that is clicked, and locks a cell", async () => {
    const { model, find } = await mounted(view(), state(far));
    const figure = find(".attnw-matrix-figure");
    const { x0, y0, cellWidth } = JSON.parse(find("canvas.attnw-matrix").dataset.layout ?? "{}");
    const click = (query: number, key: number) =>
      figure.dispatchEvent(
        new MouseEvent("click", {
          bubbles: true,
          detail: 1,
          clientX: x0 + key * cellWidth,
          clientY: y0 + query * cellWidth,
        }),
      );
    click(3000, 1000);
    await frame();
    const [q0 = 0, q1 = 0, k0 = 0, k1 = 0] = model.get("window") ?? [];
    expect([(q0 + q1) / 2, (k0 + k1) / 2].map((at) => Math.round(at / 16))).toEqual([192, 64]);
    expect(q1 - q0).toBeLessThan(N / 3);
    expect(model.get("tokens")).toEqual([]);
  });

  test("is the same figure for a short input in its place", async () => {
    const { model, el, find } = await mounted(view(), state());
    const figure = find(".attnw-matrix-figure");
    const short = viewState({ mode: "matrix" });
    model.fromKernel({
      _maps: null,
      window: null,
      _axes: short._axes,
      _stacks: short._stacks,
      _tile: tileOf(float(Array(16).fill(0.25), [4, 4])),
    });
    await frame();
    expect(find("[data-caption]").textContent).toContain("4 tokens");
    expect([el.querySelectorAll(".attnw-root").length, figure.isConnected]).toEqual([1, true]);
    model.fromKernel({ _maps: long, _tile: tile, _axes: axes, window: near });
    await frame();
    expect(find("[data-caption]").textContent).toContain("long input, 4,096 tokens");
    expect(find(".attnw-minimap").hidden).toBe(false);
  });
});
