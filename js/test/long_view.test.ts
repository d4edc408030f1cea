import { describe, expect, test, vi } from "vitest";
import { longGestures } from "../src/head_view/long_gestures.js";
import { longLayout } from "../src/head_view/long_layout.js";
import { pixelsOf } from "../src/head_view/long_paint.js";
import { longRequests } from "../src/head_view/long_requests.js";
import { blockAt, blockBeside, described, longScene, reader } from "../src/head_view/long_scene.js";
import { longCaption, longTable } from "../src/head_view/long_text.js";
import type { LongHead, Part, Tile } from "../src/head_view/long_types.js";
import {
  around,
  centred,
  lacks,
  partOf,
  shifted,
  showing,
  whole,
  wholeOf,
  windowOf,
  zoomed,
} from "../src/head_view/long_window.js";
import { drawPicture } from "../src/head_view/picture.js";
import view from "../src/head_view/widget.js";
import { ramp } from "../src/shared/colour.js";
import { levelOf } from "../src/shared/colour_levels.js";
import { tableRuler } from "../src/shared/labels.js";
import { wire } from "../src/shared/page/embedded_maps.js";
import { THEMES } from "../src/shared/theme.js";
import { fakeModel } from "./fake_model.js";
import { frame, mounted } from "./mounted.js";
import { stack, viewState } from "./view_state.js";

const nan = Number.NaN;
const N = 4096;
const sizes = { n_query: N, n_key: N };
const float = (values: number[], shape: number[]) => wire(Float32Array.from(values), shape);

/** Blocks of 2048: an overview of four, of which one is masked. */
const head: LongHead = {
  layer: 1,
  head: 5,
  stack: "self",
  ...sizes,
  step: 2048,
  first_text: "<s>",
  maximum: 0.5,
  values: float([0.25, nan, 0.5, 0.125], [2, 2]),
  first: float([0.9, 0.8], [2]),
  links: [
    [3000, 20, 0.5, "late", "early"],
    [2001, 2000, 0.25, "b", "a"],
  ],
};
const axis = (from: number, count: number) => {
  const text = Array.from({ length: count }, (_, i) => `t${from + i}`);
  return { text, raw: text, special: text.map(() => ""), segments: text.map(() => 0) };
};
/** Four by four tokens from (2000, 1998) on. */
const tile: Tile = {
  layer: 1,
  head: 5,
  stack: "self",
  step: 1,
  window: [2000, 2004, 1998, 2002],
  asked: [2000, 2004, 1998, 2002],
  queries: [2000, 2004],
  keys: [1998, 2002],
  links: null,
  values: float(
    [...Array(16).keys()].map((i) => (i === 3 ? nan : i / 100000)),
    [4, 4],
  ),
  first: float([0.9, 0.9, 0.9, 0.9], [4]),
  axes: { query: axis(2000, 4), key: axis(1998, 4) },
};
const state = (patch = {}) =>
  viewState({
    mode: "matrix",
    scale: "log",
    _long: head,
    _tile: tile,
    window: [2000, 2004, 1998, 2002] as Part,
    _stacks: [{ ...stack, n_query: N, n_key: N }],
    _source: { model: "Llama", note: "read in blocks", loss: "" },
    ...patch,
  });
const ground = { theme: THEMES.light, font: "Arial", ruler: tableRuler, density: 1, room: 700 };
const sceneOf = (patch = {}, at: Part = [2000, 2004, 1998, 2002]) =>
  longScene(ground, state(patch), reader(), at, { active: undefined, link: undefined });

describe("what is in sight", () => {
  const all = wholeOf(sizes);

  test("comes nearer about a place, which stays where it is", () => {
    const near = zoomed(sizes, all, 4, { query: 1024, key: 3072 });
    expect(near).toEqual([768, 1792, 2304, 3328]);
    expect(zoomed(sizes, near, 1 / 4, { query: 1024, key: 3072 })).toEqual(all);
    expect(zoomed(sizes, near, 1 / 100, { query: 0, key: 0 })).toEqual(all);
  });

  test("is never less than eight tokens, nor beyond the map", () => {
    const [q0, q1] = zoomed(sizes, [0, 10, 0, 10], 100, { query: 5, key: 5 });
    expect(q1 - q0).toBe(8);
    expect(shifted(sizes, [0, 10, 4000, 4010], { query: -5, key: 500 })).toEqual([
      0, 10, 4086, 4096,
    ]);
    expect(centred(sizes, [0, 10, 0, 10], { query: 100, key: 2 })).toEqual([95, 105, 0, 10]);
    expect(around(sizes, { query: 4095, key: 0 })).toEqual([4064, 4096, 0, 32]);
    expect(around({ n_query: 5, n_key: N }, { query: 2, key: 100 })).toEqual([0, 5, 85, 117]);
  });

  test("is a window of whole tokens, none where it is all", () => {
    expect(windowOf(sizes, all)).toBeNull();
    expect(windowOf(sizes, [0.4, 10.4, 1.6, 11.6])).toEqual([0, 10, 2, 12]);
    expect(whole([0.4, 10.4, 1.6, 11.6])).toEqual([0, 10, 2, 12]);
    expect(windowOf(sizes, [3995.5, 4096, 0, 100.5])).toEqual([3996, 4096, 0, 101]);
    expect(partOf(sizes, null)).toEqual(all);
    expect(partOf(sizes, [5000, 5010, 0, 10])).toEqual(all);
    expect(partOf(sizes, [4000, 5010, 0, 10])).toEqual([4000, N, 0, 10]);
  });

  test("moves as little as shows a block", () => {
    expect(showing(sizes, [0, 10, 0, 10], { query: 3, key: 3 }, 1)).toEqual([0, 10, 0, 10]);
    expect(showing(sizes, [0, 10, 0, 10], { query: 12, key: 3 }, 1)).toEqual([3, 13, 0, 10]);
    expect(showing(sizes, [64, 128, 64, 128], { query: 32, key: 160 }, 32)).toEqual([
      32, 96, 128, 192,
    ]);
  });

  test("lacks a tile that has not all of it, or smaller blocks", () => {
    expect(lacks(null, all)).toBe(true);
    expect(lacks(tile, [2000, 2004, 1998, 2002])).toBe(false);
    expect(lacks(tile, [2000.5, 2004.5, 1998, 2002])).toBe(true);
    const coarse: Tile = { ...tile, step: 16, queries: [0, N], keys: [0, N] };
    expect(lacks(coarse, all)).toBe(false);
    expect(lacks(coarse, [0, 2049, 0, 100])).toBe(false);
    expect(lacks(coarse, [0, 2048, 0, 100])).toBe(true);
  });
});

describe("a cell", () => {
  test("is the tile's where there is one, else the overview's", () => {
    const scene = sceneOf();
    expect(blockAt(scene, { query: 2001, key: 1999 })).toMatchObject({
      query: 2001,
      key: 1999,
      step: 1,
    });
    expect(blockAt(scene, { query: 2100.5, key: 3 })).toEqual({
      query: 2048,
      key: 0,
      step: 2048,
      weight: 0.5,
    });
    expect(blockAt(scene, { query: -1, key: 3 })).toBeUndefined();
  });

  test("is told with its tokens and its exact weight, a block with the largest", () => {
    const scene = sceneOf();
    const say = (query: number, key: number) =>
      described(scene, blockAt(scene, { query, key }) as never);
    expect(say(2001, 1999)).toBe("t2001 (2001) → t1999 (1999) 5.0e-5");
    expect(say(2000, 2001)).toBe("t2000 (2000) → t2001 (2001) masked");
    expect(say(3000, 5)).toBe("queries 2048–4095 → keys 0–2047: at most 0.5");
    expect(say(5, 3000)).toBe("queries 0–2047 → keys 2048–4095: masked");
  });

  test("has neighbours as far away as it is large, and none beyond the map", () => {
    const near = sceneOf();
    const from = blockAt(near, { query: 2001, key: 1999 });
    expect(blockBeside(near, from as never, { query: 1, key: 0 })).toEqual({
      query: 2002,
      key: 1999,
    });
    const far = sceneOf({ _tile: null }, wholeOf(sizes));
    const block = blockAt(far, { query: 100, key: 100 });
    expect(blockBeside(far, block as never, { query: 1, key: -1 })).toEqual({
      query: 2048,
      key: 0,
    });
  });
});

test("the caption says that the input is long, how it was read, and what is not in it", () => {
  const near = longCaption(sceneOf());
  expect(near.quantity).toBe("attention weights · long input, 4,096 tokens");
  expect(near.scale).toMatch(/^logarithmic colour scale, .*, in sight but for the first key$/);
  expect(near.notes).toEqual([
    "zoomed: queries 2000–2003 and keys 1998–2001 in sight",
    "<s> (0) in a column of its own, at most 0.9",
    "masked cells hatched",
    "listed links: without links to <s> (0), from the first 16 tokens and of a token to itself",
    "read in blocks",
  ]);
  const far = longCaption(sceneOf({ _tile: null, window: null }, wholeOf(sizes)));
  expect(far.notes[0]).toBe("maxima of 2048 × 2048 tokens");
  expect(far.scale).toBe(
    "logarithmic colour scale, ≤0.0005 to 0.5, this head but for the first key",
  );
  const links = head.links.slice(0, 1);
  const lines = longCaption(sceneOf({ mode: "lines", _tile: { ...tile, links } }));
  expect(lines.notes).toContain(
    "the strongest 1 link in sight; weaker links are not shown, nor links to <s> (0), " +
      "from the first 16 tokens and of a token to itself",
  );
  expect(longTable(sceneOf()).rows).toEqual([
    ["late (3000)", "early (20)", "0.500"],
    ["b (2001)", "a (2000)", "0.250"],
  ]);
});

test("a picture is drawn of the part in sight alone", () => {
  const request = {
    width: 600,
    theme: THEMES.light,
    density: 1,
    blank: false,
    dense: false,
    brief: false,
    caption: false,
  };
  const near = drawPicture(state(), request);
  expect(near.sheet.pen.body).toContain("t2001");
  expect(near.sheet.pen.body).not.toContain("t1990");
  const far = drawPicture(state({ _tile: null, window: null }), request);
  expect(far.sheet.pen.body).not.toContain("t2001");
  expect(far.caption.figure).toBe("One attention head");
});

test("the colour scale ends at the largest weight in sight, or of the head without a window", () => {
  expect(sceneOf().maximum).toBe(Math.fround(15 / 100000));
  expect(sceneOf({ _tile: null, window: null }, wholeOf(sizes)).maximum).toBe(head.maximum);
  const empty = { ...tile, window: [0, 4, 0, 4] };
  expect(sceneOf({ _tile: empty }).maximum).toBe(head.maximum);
});

test("pixels have the scale's colours, without the first key, and are clear where masked", () => {
  const scene = sceneOf();
  const scale = ramp(THEMES.light);
  const { cells, first } = pixelsOf(scene.overview, scene, scene.head.maximum);
  expect([...cells.words]).toEqual([
    scale[levelOf("log", 0.5)(0.25)],
    0,
    scale[255],
    scale[levelOf("log", 0.5)(0.125)],
  ]);
  // What the first key has is more than the scale's end.
  expect([...first.words]).toEqual([scale[255], scale[255]]);
});

describe("asking for tiles", () => {
  const asking = () => {
    const model = Object.assign(
      fakeModel(state({ window: null, _tile: { ...tile, asked: null } })),
      { send: () => {} },
    );
    const end = new AbortController();
    let part: Part = wholeOf(sizes);
    const requests = longRequests(
      model,
      () => part,
      () => {},
      end.signal,
    );
    const show = (next: Part) => {
      part = next;
      requests.show(windowOf(sizes, next));
    };
    const answer = (asked: Part) => {
      // A kernel repeats what it was told before it answers.
      model.fromKernel({ window: asked });
      expect(requests.isMoved()).toBe(false);
      model.fromKernel({
        _tile: {
          ...tile,
          asked,
          window: asked,
          queries: [asked[0], asked[1]],
          keys: [asked[2], asked[3]],
        },
      });
    };
    return { model, requests, show, answer, end };
  };
  const at = (q: number): Part => [q, q + 100, q, q + 100];

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

describe("hands", () => {
  const handled = () => {
    const box = document.createElement("div");
    document.body.append(box);
    const end = new AbortController();
    const scene = sceneOf({}, [1000, 1100, 1000, 1100]);
    const layout = longLayout(scene);
    let part: Part = [1000, 1100, 1000, 1100];
    longGestures(
      box,
      () => ({ layout, head, part }),
      (next) => (part = next),
      end.signal,
    );
    const pointer = (type: string, x: number, y: number, pointerId = 1) =>
      box.dispatchEvent(
        new MouseEvent(type, { clientX: x, clientY: y, bubbles: true, button: 0 } as never) &&
          Object.assign(new MouseEvent(type, { clientX: x, clientY: y, bubbles: true }), {
            pointerId,
          }),
      );
    return { box, layout, pointer, part: () => part };
  };

  test("drag what is in sight", () => {
    const { layout, pointer, part } = handled();
    pointer("pointerdown", 300, 300);
    pointer("pointermove", 300 - layout.across / 10, 300 + layout.down / 5);
    pointer("pointerup", 0, 0);
    const [q0, , k0] = part();
    expect([q0, k0].map(Math.round)).toEqual([980, 1010]);
    pointer("pointermove", 0, 0);
    expect(part()[0]).toBe(q0);
  });

  test("pinch it nearer", () => {
    const { pointer, part } = handled();
    pointer("pointerdown", 300, 300, 1);
    pointer("pointerdown", 400, 300, 2);
    pointer("pointermove", 500, 300, 2);
    const [q0, q1] = part();
    expect(q1 - q0).toBeCloseTo(50);
  });

  test("turn a wheel with Ctrl; alone it scrolls the page", () => {
    const { box, part } = handled();
    const turn = (ctrlKey: boolean) => {
      const event = new Event("wheel", { cancelable: true });
      Object.assign(event, { deltaY: -100, ctrlKey, clientX: 300, clientY: 300 });
      box.dispatchEvent(event);
      return event.defaultPrevented;
    };
    expect(turn(false)).toBe(false);
    expect(part()[1] - part()[0]).toBe(100);
    expect(turn(true)).toBe(true);
    expect(part()[1] - part()[0]).toBeLessThan(60);
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
      state({ window: null, _tile: { ...tile, asked: null, window: null } }),
    );
    const figure = find(".attnw-long");
    expect(figure.getAttribute("aria-label")).toMatch(
      /^Attention of L1 H5 over 4,096 tokens; strongest: late \(3000\) → early/,
    );
    expect(find("[data-caption]").textContent).toContain("long input, 4,096 tokens");
    const go = [...el.querySelectorAll<HTMLElement>(".attnw-strongest-go")].map((one) =>
      one.getAttribute("aria-label"),
    );
    expect(go).toEqual([
      "go to late (3000) → early (20), 0.500",
      "go to b (2001) → a (2000), 0.250",
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
    expect(part()[1] - part()[0]).toBe(64);
    press(figure, "ArrowLeft", { shiftKey: true });
    await frame();
    expect(part()[2]).toBe(0);
    press(figure, "Home");
    await frame();
    expect(part()).toEqual([0, N, 0, N]);
    press(figure, "Escape");
    expect(model.get("tokens")).toEqual([]);
    press(figure, "]");
    expect(model.get("selected")).toEqual([[2, 5, "self"]]);
  });

  test("tokens are text wherever they stand", async () => {
    const hostile = "<img src=x onerror=alert(1)>";
    const links: LongHead["links"] = [[3000, 20, 0.5, hostile, hostile]];
    const { el, find } = await mounted(
      view(),
      state({ _long: { ...head, first_text: hostile, links } }),
    );
    expect(el.querySelector("img")).toBeNull();
    expect(find(".attnw-strongest-go").textContent).toContain(hostile);
  });

  test("goes over to the figure of short inputs and back", async () => {
    const { model, el } = await mounted(view(), state());
    expect(el.querySelector(".attnw-long")).not.toBeNull();
    model.fromKernel({ _long: null, _tile: null });
    await frame();
    expect([
      el.querySelector(".attnw-long"),
      el.querySelector(".attnw-lines-figure") === null,
    ]).toEqual([null, false]);
    model.fromKernel({ _long: head, _tile: tile });
    await frame();
    expect(el.querySelectorAll(".attnw-root")).toHaveLength(1);
    expect(el.querySelector(".attnw-long")).not.toBeNull();
  });
});
