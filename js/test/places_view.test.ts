import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { arrangePlaces } from "../src/head_view/places/places_layout.js";
import { edgesRound, elementsOf, paintPlaces } from "../src/head_view/places/places_paint.js";
import { placesLine, placesTable, tickOf } from "../src/head_view/places/places_text.js";
import { playedPart, playText } from "../src/head_view/places/play_sound.js";
import { shownRow } from "../src/head_view/places/shown_row.js";
import { timesOn } from "../src/head_view/places/sound_paint.js";
import { turnedMarks } from "../src/head_view/places/turned_row.js";
import { drawnState, sceneOf, visibleOf } from "../src/head_view/scene.js";
import type { TileRow } from "../src/head_view/source/tile_types.js";
import type { ViewState } from "../src/head_view/state.js";
import { placesHint } from "../src/head_view/view_body.js";
import { shownHeads } from "../src/head_view/view_shown.js";
import headView from "../src/head_view/widget.js";
import { base64 } from "../src/shared/encoded_picture.js";
import { tableRuler } from "../src/shared/labels.js";
import { shareText } from "../src/shared/percent_text.js";
import { FONT } from "../src/shared/picture/sheet.js";
import { SvgPen } from "../src/shared/picture/svg_pen.js";
import { coverOf } from "../src/shared/places/picture_cover.js";
import { placeLevels } from "../src/shared/places/place_levels.js";
import { THEMES } from "../src/shared/theme.js";
import type { Side } from "../src/shared/types.js";
import { fakeModel } from "./fake_model.js";
import { tileOf, viewState } from "./view_state.js";

const NONE = [Number.NaN, Number.NaN, Number.NaN, Number.NaN, Number.NaN];

const floats = (rows: number[][]) => ({
  shape: [rows.length, rows[0]?.length ?? 0],
  dtype: "<f4" as const,
  view: new DataView(Float32Array.from(rows.flat()).buffer),
});
const bytes = (list: number[]) => ({
  shape: [list.length],
  dtype: "|u1" as const,
  view: new DataView(Uint8Array.from(list).buffer),
});

const picture = { width: 80, height: 40, across: 80, type: "image/png", file: bytes([1, 2, 3]) };

/** [CLS] and the four quarters of a picture of 80 x 40 pixels. */
const text = ["[CLS]", "r0c0", "r0c1", "r1c0", "r1c1"];
const axis = {
  text,
  raw: text,
  special: ["cls", "", "", "", ""],
  segments: [0, 0, 0, 0, 0],
};
const boxes = [
  NONE,
  [0, 0, 0, 40, 20],
  [0, 40, 0, 80, 20],
  [0, 0, 20, 40, 40],
  [0, 40, 20, 80, 40],
];
const weights = [
  [0.2, 0.7, 0.05, 0.05, 0],
  [0.4, 0.1, 0.1, 0.3, 0.1],
  [0.2, 0.2, 0.2, 0.2, 0.2],
  [0.1, 0.6, 0.1, 0.1, 0.1],
  [0.5, 0.1, 0.1, 0.1, 0.2],
];

const placesState = (patch: Partial<ViewState> = {}): ViewState =>
  viewState({
    mode: "places",
    _axes: { stack: "self", unit: "tokens", query: axis, key: axis },
    _tile: tileOf(floats(weights)),
    _has_places: true,
    _places: { stack: "self", unit: "tokens", start: 0, query: floats(boxes), key: floats(boxes) },
    _media: { pictures: [picture], sounds: [] },
    ...patch,
  });

function scene(patch: Partial<ViewState> = {}, room = 600, active = {}) {
  const state = drawnState(placesState(patch));
  const head = state.selected.at(-1);
  const { shown } = head ? shownHeads(state, head, null) : { shown: null };
  if (!shown) throw new Error("nothing is shown");
  return sceneOf(state, shown, visibleOf(state, shown), {
    theme: THEMES.light,
    room,
    font: FONT,
    ruler: tableRuler,
    active,
    density: 1,
    dense: false,
  });
}

/** Return the only panel of a figure. */
function panelOf(...of: Parameters<typeof scene>) {
  const [panel] = arrangePlaces(scene(...of)).panels;
  if (!panel) throw new Error("no panel");
  return panel;
}

describe("what is painted", () => {
  test("is the row of [CLS] until a token is chosen", () => {
    const row = shownRow(scene());
    expect([row.side, row.of, row.painted]).toEqual(["query", 0, "key"]);
    expect([...row.values].map((value) => Number(value.toFixed(3)))).toEqual(weights[0]);
    expect(row.even?.[0]).toBeCloseTo(0.2);
  });

  test("is the locked row, the locked column, or the row under the pointer", () => {
    expect(shownRow(scene({ tokens: [["query", 3]] })).of).toBe(3);
    const column = shownRow(scene({ tokens: [["key", 1]] }));
    expect(column.side).toBe("key");
    expect([...column.values].map((value) => Number(value.toFixed(3)))).toEqual([
      0.7, 0.1, 0.2, 0.6, 0.1,
    ]);
    expect(shownRow(scene({ tokens: [["query", 3]] }, 600, { query: 2 })).of).toBe(2);
    expect(shownRow(scene({ tokens: [["query", 3]] }, 600, { key: 2 })).of).toBe(3);
  });

  test("has frames and outlines within the picture", () => {
    const of = scene({ tokens: [["query", 3]] });
    const panels = arrangePlaces(of);
    const plate = panels.panels[0]?.layout.plates[0];
    if (!plate) throw new Error("no picture");
    const pen = new SvgPen([]);
    const lines: { x: number; y: number; reach: number }[] = [];
    const keep = (x: number, y: number) => lines.push({ x, y, reach: pen.lineWidth / 2 });
    pen.moveTo = pen.lineTo = keep;
    pen.strokeRect = (x, y, width, height) => {
      if (y > plate.height || x > plate.width) return; // a chip next to the picture
      keep(x, y);
      keep(x + width, y + height);
    };
    paintPlaces(pen, panels, of);
    expect(lines.length).toBeGreaterThan(8);
    for (const { x, y, reach } of lines) {
      expect(Math.min(x, y)).toBeGreaterThanOrEqual(reach);
      expect(x + reach).toBeLessThanOrEqual(plate.width);
      expect(y + reach).toBeLessThanOrEqual(plate.height);
    }
  });

  test("is the mean over all queries where nothing is a start", () => {
    const { _places: places } = placesState();
    const row = shownRow(scene({ _places: places ? { ...places, start: null } : null }));
    expect(row.of).toBeUndefined();
    expect(row.values[1]).toBeCloseTo((0.7 + 0.1 + 0.2 + 0.6 + 0.1) / 5);
  });

  test("holds hidden tokens, which stand beside the picture", () => {
    const { chips } = panelOf({ hidden: ["cls"] }).layout;
    expect(chips.map((chip) => chip.text)).toEqual(["[CLS]"]);
  });

  test("turns to the column of the same token, and back", () => {
    expect(turnedMarks(scene({ tokens: [["query", 3]] }))).toEqual([["key", 3]]);
    expect(turnedMarks(scene({ tokens: [["key", 3]] }))).toEqual([["query", 3]]);
    expect(turnedMarks(scene())).toEqual([["key", 0]]);
  });
});

describe("the layout", () => {
  test("puts boxes on the picture in its own proportions", () => {
    const { layout } = panelOf();
    const [plate] = layout.plates;
    expect(plate?.width).toBe(2 * (plate?.height ?? 0));
    const [first, second] = plate?.spots ?? [];
    expect(first).toMatchObject({ position: 1, x: 0, y: 0 });
    expect(second).toMatchObject({ position: 2, x: (plate?.width ?? 0) / 2, y: 0 });
  });

  test("puts tokens beside a picture if there is room, else below", () => {
    const beside = panelOf({}, 800).layout;
    expect(beside.chips[0]?.x).toBeGreaterThan(beside.plates[0]?.width ?? 0);
    const below = panelOf({}, 400).layout;
    expect(below.chips[0]?.x).toBe(0);
    expect(below.chips[0]?.y).toBeGreaterThan(below.plates[0]?.height ?? 0);
    expect(below.width).toBeLessThanOrEqual(400);
  });

  test("draws a picture whose tiles have tokens too a second time, and small", () => {
    const { _places: places, _axes: axes } = placesState();
    const six = { ...axis, text: [...text, "all"], raw: text, special: [...axis.special, ""] };
    const covered = floats([...boxes, [0, 0, 0, 80, 40]]);
    const values = floats([...weights, [0, 0, 0, 0, 0]].map((row) => [...row, 0.1]));
    const { layout } = panelOf({
      _axes: { ...axes, query: six, key: six },
      _places: places ? { ...places, query: covered, key: covered } : null,
      _tile: tileOf(values),
    });
    expect(layout.plates.map(({ level, label }) => [level, label])).toEqual([
      [0, "tiles"],
      [1, "whole"],
    ]);
    const [tiles, all] = layout.plates;
    expect(all?.width).toBeLessThan((tiles?.width ?? 0) / 2);
  });

  test("tells tiles from whole pictures in any order", () => {
    const box = (left: number, top: number, size: number) => ({
      medium: 0,
      left,
      top,
      right: left + size,
      bottom: top + size,
    });
    const tiles = [0, 10, 20, 30].flatMap((y) => [0, 10, 20, 30].map((x) => box(x, y, 10)));
    const whole = [0, 20].flatMap((y) => [0, 20].map((x) => box(x, y, 20)));
    expect([...placeLevels([undefined, ...tiles, ...whole])]).toEqual([
      0,
      ...tiles.map(() => 0),
      ...whole.map(() => 1),
    ]);
    expect([...placeLevels([...whole, ...tiles])].slice(0, 4)).toEqual([1, 1, 1, 1]);
    expect(Math.max(...placeLevels([...tiles].reverse()))).toBe(0);
  });
});

describe("the colors", () => {
  test("dim a picture to a quarter where no weight falls, and reveal it where all does", () => {
    const cover = coverOf(THEMES.light);
    expect((cover[0] ?? 0) >>> 24).toBe(191);
    expect((cover[255] ?? 0) >>> 24).toBeLessThan(60);
    const alphas = [...cover].map((word) => word >>> 24);
    expect(alphas.every((alpha, i) => i === 0 || alpha <= (alphas[i - 1] ?? 0))).toBe(true);
  });

  test("shares have a digit, however small", () => {
    const texts = [0.5, 0.0412, 0.0002, 0].map((share) => shareText(share).replace("\u00a0", " "));
    expect(texts).toEqual(["50 %", "4.1 %", "0.02 %", "0 %"]);
  });

  test("outlines go round a group of boxes", () => {
    const spot = { position: 0, x: 0, y: 0, width: 10, height: 10 };
    expect(edgesRound([spot, { ...spot, x: 10 }])).toHaveLength(6);
  });
});

describe("the words", () => {
  test("name the strongest places, the shares by kind and the even share", () => {
    expect(placesLine(scene()).replaceAll("\u00a0", " ")).toBe(
      "from [CLS]: strongest upper left 70 %, upper right 5.0 %, lower left 5.0 % · " +
        "80 % in the picture · 20 % on [CLS] · even share 20 %",
    );
  });

  test("have a table of places, the strongest first", () => {
    const { columns, rows } = placesTable(scene());
    expect(columns).toEqual(["token", "kind", "left", "top", "right", "bottom", "weight"]);
    expect(rows[0]).toEqual(["r0c0", "patch", 0, 0, 40, 20, "70\u00a0%"]);
    expect(rows[1]?.slice(0, 3)).toEqual(["[CLS]", "cls", null]);
    expect(rows).toHaveLength(5);
  });
});

describe("a long input", () => {
  const n = 5;
  const row = (side: Side, at: number, values: number[]): TileRow => ({
    heads: [[1, 5, "self"]],
    side,
    at,
    step: 1,
    values: floats([values]),
    first: null,
    links: null,
  });
  const long = (patch: Partial<ViewState> = {}) =>
    scene({
      _tile: null,
      _maps: {
        complete: false,
        stack: "self",
        heads: [[1, 5, "self"]],
        quantity: "weights",
        unit: "tokens",
        hidden: [],
        sentences: "all",
        n_query: n,
        n_key: n,
        step: 5,
        values: { ...floats([[0.7]]), shape: [1, 1, 1] },
        first: null,
        maxima: [0.7],
        links: [[]],
        shares: [0, 0],
      },
      _row: row("query", 3, weights[3] ?? []),
      ...patch,
    });

  test("is painted by the row that the kernel has sent, whatever is pointed at", () => {
    const row = shownRow(long({ tokens: [["query", 2]] }));
    expect([row.side, row.of]).toEqual(["query", 3]);
    expect(row.values[1]).toBeCloseTo(0.6);
    expect(row.even?.[0]).toBeCloseTo(0.2);
    expect(placesLine(long()).replaceAll("\u00a0", " ")).toContain(
      "from r1c0: strongest upper left 60 %",
    );
  });

  test("has an even share for each query of a column", () => {
    const column = shownRow(
      long({
        _row: row("key", 1, [0, 1, 1, 1, 1]),
      }),
    );
    expect([column.painted, column.of]).toEqual(["query", 1]);
    expect(column.even).toHaveLength(n);
  });
});

describe("a sound", () => {
  const spans = (hertz: (i: number) => [number, number]) =>
    [0, 1, 2, 3].map((i) => [0, i / 2, hertz(i)[0], (i + 1) / 2, hertz(i)[1]]);
  const words = {
    text: ["the", "cat"],
    raw: ["the", "cat"],
    special: ["", ""],
    segments: [0, 0],
  };
  const keys = {
    text: ["0", "1", "2", "3"],
    raw: ["0", "1", "2", "3"],
    special: ["", "", "", "padding"],
    segments: [0, 0, 0, 0],
  };
  const heard = (patch: Partial<ViewState> = {}, places = spans(() => [Number.NaN, Number.NaN])) =>
    scene({
      _axes: { stack: "self", unit: "tokens", query: words, key: keys },
      _tile: tileOf(
        floats([
          [0.1, 0.2, 0.3, 0.4],
          [0.7, 0.1, 0.1, 0.1],
        ]),
      ),
      _places: { stack: "self", unit: "tokens", start: null, query: null, key: floats(places) },
      _media: {
        pictures: [],
        sounds: [
          {
            seconds: 1.5,
            played: 1.5,
            waveform: floats([
              [0.5, -0.5],
              [1, -1],
              [0.1, -0.1],
            ]),
            type: "audio/wav",
            file: bytes([1]),
          },
        ],
      },
      ...patch,
    });
  const plateOf = (...of: Parameters<typeof heard>) => {
    const [panel] = arrangePlaces(heard(...of)).panels;
    if (!panel?.layout.plates[0]) throw new Error("no sound");
    return { plate: panel.layout.plates[0], layout: panel.layout };
  };

  test("is a strip of time without its padding; words stand below", () => {
    const { plate, layout } = plateOf();
    expect(plate.spots.map(({ position }) => position)).toEqual([0, 1, 2]);
    expect(plate.spots[1]?.x).toBeCloseTo(plate.width / 3);
    expect(plate.sound?.hertz).toBe(0);
    expect(placesHint(heard().state)).toMatch(/^Point at a time or a token/);
    // The waveform is above the weights, so that it does not change their color.
    expect(plate.sound?.strip).toBeLessThan(plate.height - 16);
    expect(layout.chips.map(({ side, text }) => [side, text])).toEqual([
      ["query", "the"],
      ["query", "cat"],
    ]);
    expect(layout.headings.map(({ text }) => text)).toEqual(["from: 2 tokens"]);
  });

  test("labels the rows of a decoder by the tokens that they write", () => {
    const places = floats(spans(() => [Number.NaN, Number.NaN]));
    const of = { stack: "self", unit: "tokens", start: null, query: null, key: places };
    const written = { _places: { ...of, writes: true } };
    const { layout } = plateOf(written);
    expect(layout.chips.map(({ text }) => text)).toEqual(["→ cat", "→ …"]);
    expect(layout.headings.map(({ text }) => text)).toEqual([
      "rows, by what each writes: 2 tokens",
    ]);
    const locked = heard({ ...written, tokens: [["query", 0]] });
    expect(placesLine(locked)).toMatch(/^from the, which writes cat: /);
    const last = heard({ ...written, tokens: [["query", 1]] });
    expect(placesLine(last)).toMatch(/^from cat: /);
  });

  describe("of which a decoder writes the words", () => {
    const stairs = {
      stack: "self",
      layer: 1,
      head: 5,
      unit: "tokens",
      step: 0.5,
      rows: [0, 1],
      words: ["cat", "sat"],
      values: floats([
        [0.1, 0.8, 0.1],
        [0.1, 0.1, 0.8],
      ]),
    };

    test("has a row for each word, which is the query that writes the word", () => {
      const { plate, layout } = plateOf({ _staircase: stairs });
      const steps = plate.sound?.steps ?? [];
      expect(steps.map(({ side, position, text }) => [side, position, text])).toEqual([
        ["query", 0, "cat"],
        ["query", 1, "sat"],
      ]);
      expect(layout.chips).toEqual([]);
      expect(steps[1]?.y).toBe((steps[0]?.y ?? 0) + (steps[0]?.height ?? 0));
      expect(plate.height).toBe(40 + 2 * 14);
      // A row covers the spans, so that a pointer on it hits the query.
      expect(
        elementsOf(layout)
          .slice(-2)
          .map(({ side }) => side),
      ).toEqual(["query", "query"]);
      expect(elementsOf(layout)[0]?.side).toBe("key");
    });

    test("prints each word beside its largest weight, within the sound", () => {
      const now = heard({ _staircase: stairs, tokens: [["query", 1]] });
      const all = arrangePlaces(now);
      const [plate] = all.panels[0]?.layout.plates ?? [];
      const pen = new SvgPen([]);
      paintPlaces(pen, all, now);
      const at = (text: string) =>
        new RegExp(`<text x="([\\d.]+)"([^>]*)>${text}</text>`).exec(pen.body) ?? [];
      const [, cat = ""] = at("cat");
      const [, sat = "", style = ""] = at("sat");
      const third = (plate?.width ?? 0) / 3;
      expect(Number(cat)).toBeGreaterThan(2 * third);
      expect(Number(sat)).toBeLessThan(2 * third);
      expect(style).toContain("end");
      expect(tickOf(now)).toBeCloseTo(1 / 3);
    });

    test("is a row for the chosen query where the staircase is of another head", () => {
      const other = { ...stairs, head: 0 };
      for (const patch of [{ _staircase: other }, { _staircase: null }]) {
        const { plate, layout } = plateOf(patch);
        expect(plate.sound?.steps).toBeUndefined();
        expect(layout.chips).toHaveLength(2);
      }
    });
  });

  test("is a plane where spans have frequencies, high ones above", () => {
    const { plate } = plateOf(
      {},
      spans((i) => [1000 * (i % 2), 1000 * (i % 2) + 1000]),
    );
    expect(plate.sound?.hertz).toBe(2000);
    expect(plate.spots[1]?.y).toBeLessThan(plate.spots[0]?.y ?? 0);
  });

  test("says seconds, and the share of padding", () => {
    expect(placesLine(heard({ tokens: [["query", 0]] })).replaceAll("\u00a0", " ")).toBe(
      "from the: strongest 1.50–2.00 s 40 %, 1.00–1.50 s 30 %, 0.50–1.00 s 20 % · " +
        "60 % in the sound · 40 % on padding · even share 25 %",
    );
  });

  test("a key under the pointer stands beside the row, which stays", () => {
    const pointed = heard({ tokens: [["query", 1]] }, undefined);
    const at = { ...pointed, active: { key: 0 } };
    expect(shownRow(at).of).toBe(1);
    expect(placesLine(at)).toContain("to “0”".replace(/[“”]/g, ""));
    expect(placesLine(at).replaceAll("\u00a0", " ")).toContain("(0.00–0.50 s) 70 %");
  });

  test("a locked key paints the queries that look there", () => {
    const row = shownRow(heard({ tokens: [["key", 0]] }));
    expect(row.painted).toBe("query");
    expect(row.values[1]).toBeCloseTo(0.7);
    expect(turnedMarks(heard({ tokens: [["query", 1]] }))).toEqual([["key", 0]]);
  });

  test("a short span is played with its surroundings", () => {
    const part = playedPart(heard({ tokens: [["query", 1]] }));
    expect(part && playText(part)).toBe("play 0.00–0.50 s");
    const locked = playedPart(
      heard({
        tokens: [
          ["query", 1],
          ["key", 2],
        ],
      }),
    );
    expect(locked && playText(locked)).toBe("play 1.00–1.50 s");
    expect(playedPart(scene())).toBeUndefined();
  });

  test("times on its axis are round and far enough apart", () => {
    expect(timesOn(6.3, 800)).toEqual([0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6]);
    expect(timesOn(30, 400)).toEqual([0, 5, 10, 15, 20, 25, 30]);
  });
});

test("bytes become base64 text", () => {
  for (const list of [[], [1], [1, 2], [1, 2, 3], [255, 0, 254, 7]])
    expect(base64(Uint8Array.from(list))).toBe(btoa(String.fromCharCode(...list)));
});

describe("the view", () => {
  let ended = new AbortController();
  beforeEach(() => {
    ended = new AbortController();
  });
  afterEach(() => ended.abort());
  const frame = () => vi.waitFor(() => new Promise((done) => requestAnimationFrame(() => done(0))));

  async function show(patch: Partial<ViewState> = {}) {
    const model = fakeModel<ViewState>({ ...placesState(), ...patch });
    const el = document.createElement("div");
    document.body.append(el);
    headView().render({ model, el, signal: ended.signal });
    await frame();
    await frame();
    const $ = (selector: string) => el.querySelector(selector) as HTMLElement;
    const figure = $(".attnw-places-figure");
    const press = async (key: string) => {
      figure.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      await frame();
    };
    const at = (type: string, x: number, y: number) =>
      figure.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, bubbles: true }));
    return { model, $, figure, press, at, frame };
  }

  test("draws on the picture, says so, and offers the other ways to draw", async () => {
    const { $, figure } = await show();
    expect(figure.hidden).toBe(false);
    expect($(".attnw-lines-figure").hidden).toBe(true);
    expect(figure.getAttribute("aria-label")).toContain("from [CLS]: strongest upper left");
    expect($(".attnw-readout").textContent).toContain("in the picture");
    expect($(".attnw-caption").textContent).toContain("contains the picture of the input");
    const modes = [...$(".attnw-view-head").querySelectorAll("button")].map((b) => b.textContent);
    expect(modes.slice(0, 3)).toEqual(["lines", "matrix", "places"]);
  });

  test("texts are offered no places", async () => {
    const { $ } = await show({ mode: "lines", _has_places: false, _places: null, _media: null });
    const modes = [...$(".attnw-view-head").querySelectorAll("button")].map((b) => b.textContent);
    expect(modes.slice(0, 2)).toEqual(["lines", "matrix"]);
    expect(modes).not.toContain("places");
  });

  test("a patch is pointed at and locked; x turns, Escape takes back", async () => {
    const { model, $, at, press } = await show();
    at("pointermove", 10, 10);
    await frame();
    expect($(".attnw-readout").textContent).toContain("from r0c0");
    at("click", 10, 10);
    await frame();
    expect(model.get("tokens")).toEqual([["query", 1]]);
    at("pointerleave", 0, 0);
    await press("x");
    expect(model.get("tokens")).toEqual([["key", 1]]);
    expect($(".attnw-readout").textContent).toContain("to r0c0");
    await press("Escape");
    expect(model.get("tokens")).toEqual([]);
  });

  test("arrow keys go from patch to patch, and to the tokens beside", async () => {
    const { model, $, press } = await show();
    await press("Home");
    expect($(".attnw-readout").textContent).toContain("from r0c0");
    await press("ArrowRight");
    expect($(".attnw-readout").textContent).toContain("from r0c1");
    await press("ArrowDown");
    expect($(".attnw-readout").textContent).toContain("from r1c1");
    await press("Enter");
    expect(model.get("tokens")).toEqual([["query", 4]]);
    await press("End");
    expect($(".attnw-readout").textContent).toContain("from [CLS]");
  });

  test("m goes through all ways to draw", async () => {
    const { model, $, press } = await show();
    await press("m");
    expect(model.get("mode")).toBe("lines");
    $(".attnw-lines-figure").dispatchEvent(
      new KeyboardEvent("keydown", { key: "m", bubbles: true }),
    );
    await frame();
    expect(model.get("mode")).toBe("matrix");
    $(".attnw-matrix-figure").dispatchEvent(
      new KeyboardEvent("keydown", { key: "m", bubbles: true }),
    );
    await frame();
    expect(model.get("mode")).toBe("places");
  });
});
