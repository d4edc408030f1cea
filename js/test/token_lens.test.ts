import { describe, expect, test, vi } from "vitest";
import { captionText } from "../src/shared/caption.js";
import { tableRuler } from "../src/shared/labels.js";
import { THEMES } from "../src/shared/theme.js";
import {
  captionOf,
  goers,
  describe as inWords,
  leadCell,
  tableOf,
  titleOf,
} from "../src/token_lens/lens_text.js";
import { drawPicture } from "../src/token_lens/picture.js";
import { decode, headAt, isCurrent, rowAt, sceneOf, valueAt } from "../src/token_lens/scene.js";
import type { Lens, LensState } from "../src/token_lens/state.js";
import lens from "../src/token_lens/widget.js";
import { axes } from "./four_tokens.js";
import { frame, mounted } from "./mounted.js";
import { wireOf } from "./wire_of.js";

const about = {
  stack: "self",
  quantity: "weights",
  unit: "tokens",
  hidden: [],
  decade: null,
  exact: true,
};
/** From "cat" (1) in two heads of layer 1: the second may not see "sat". */
const FROM: Lens = {
  ...about,
  query: 1,
  key: null,
  layer: 1,
  shape: [2, 4],
  goes: null,
  values: wireOf(Float32Array.of(0.1, 0.2, 0.4, 0.3, 0.9, 0.05, Number.NaN, 0.05), [2, 4]),
};
/** From "cat" to "sat" in 2 layers of 2 heads. */
const PAIR: Lens = {
  ...about,
  query: 1,
  key: 2,
  layer: null,
  shape: [2, 2],
  values: wireOf(Float32Array.of(0.1, 0.6, 0.7, 0.2), [2, 2]),
  goes: wireOf(Uint8Array.of(0, 1, 1, 0), [2, 2]),
};

const state = (change: Partial<LensState> = {}): LensState => ({
  selected: [],
  layer: 1,
  tokens: [["query", 1]],
  hidden: [],
  quantity: "weights",
  unit: "tokens",
  disabled: [],
  method: "uniform",
  scale: "absolute",
  stack: "self",
  of: "layer",
  sort: "head",
  _lens: FROM,
  _axes: axes,
  _error: "",
  _circle: "",
  _quantities: ["weights"],
  _source: { model: "BertModel", note: "", loss: "" },
  _stacks: [{ name: "self", n_layers: 2, n_heads: 2, n_key_heads: 2, n_query: 4, n_key: 4 }],
  ...change,
});
const pairState = (change: Partial<LensState> = {}) =>
  state({
    tokens: [
      ["query", 1],
      ["key", 2],
    ],
    _lens: PAIR,
    ...change,
  });

const look = { theme: THEMES.light, width: 640, font: "Arial", ruler: tableRuler, density: 1 };
function scene(of: LensState) {
  if (!of._lens) throw new Error("nothing to draw");
  return sceneOf(of, decode(of._lens), look);
}

describe("what is shown", () => {
  test("of one token: tokens by heads, hidden ones left out, masked ones no numbers", () => {
    const all = scene(state());
    expect([all.layout.rows, all.layout.cols]).toEqual([4, 2]);
    expect(titleOf(all)).toBe("From “cat”: where the 2 heads of layer 1 look");
    expect(headAt(all, [2, 1])).toEqual([1, 1, "self"]);
    expect(valueAt(all, [2, 0])).toBeCloseTo(0.4);
    expect(inWords(all, [2, 0])).toBe("L1 H0: cat → sat 40\u00a0%");
    expect(inWords(all, [2, 1])).toBe("L1 H1: cat → sat masked");
    const some = scene(state({ hidden: ["cls", "sep"] }));
    expect(some.tokens).toEqual([1, 2]);
    expect(some.maximum).toBeCloseTo(0.4);
    expect(captionText(captionOf(some))).toContain(
      "[CLS], [SEP] hidden · masked cells struck through",
    );
  });

  test("heads by their largest weight, the largest first", () => {
    const sorted = scene(state({ sort: "weight", selected: [[1, 0, "self"]] }));
    expect(sorted.heads.map(([, head]) => head)).toEqual([1, 0]);
    expect(sorted.selected).toEqual([[0, 1]]);
    expect(valueAt(sorted, [0, 0])).toBeCloseTo(0.9);
    // What is read without a pointer: the selected head's largest.
    expect(leadCell(sorted)).toEqual([2, 1]);
  });

  test("between two tokens: a square a head, and how many go there", () => {
    const pair = scene(pairState());
    expect(titleOf(pair)).toBe("2 of 4 heads go from “cat” to “sat”");
    expect(goers(pair)).toEqual([
      [1, 0, "self"],
      [0, 1, "self"],
    ]);
    expect(inWords(pair, [1, 0])).toBe("L1 H0: cat → sat 70\u00a0%, its strongest key");
    expect(tableOf(pair).rows[0]).toEqual(["L1 H0 (2-1)", "yes", "0.7"]);
    const one = scene(
      pairState({ _lens: { ...PAIR, goes: wireOf(Uint8Array.of(0, 0, 1, 0), [2, 2]) } }),
    );
    expect(titleOf(one)).toBe("1 of 4 heads goes from “cat” to “sat”");
  });

  test("an answer is current until another is asked for", () => {
    expect(isCurrent(FROM, state())).toBe(true);
    for (const change of [
      { tokens: [["key", 1]] },
      { layer: 0 },
      { of: "model" },
      { unit: "words" },
    ])
      expect(isCurrent(FROM, state(change as Partial<LensState>))).toBe(false);
    expect(isCurrent(PAIR, pairState({ layer: 0, of: "model" }))).toBe(true);
    expect(isCurrent(PAIR, pairState({ hidden: ["cls"] }))).toBe(false);
  });

  test("a row is found by its height", () => {
    const all = scene(state());
    expect([0, 20, 20 + 18, 20 + 4 * 18].map((y) => rowAt(all, y))).toEqual([
      undefined,
      0,
      1,
      undefined,
    ]);
  });

  test("long texts and many heads have cells of some pixels", () => {
    const text = Array.from({ length: 500 }, (_, i) => `t${i}`);
    const long = { text, raw: text, special: text.map(() => ""), segments: text.map(() => 0) };
    const values = wireOf(new Float32Array(24 * 32 * 500).fill(0.002), [24, 32, 500]);
    const of = state({ of: "model", _axes: { ...axes, query: long, key: long } });
    const drawn = scene({ ...of, _lens: { ...FROM, layer: null, shape: [24, 32, 500], values } });
    expect(drawn.height).toBeGreaterThanOrEqual(1500);
    expect(drawn.width).toBeGreaterThanOrEqual(3 * 768);
  });
});

test("its picture says the same, and a sentence stands where all is hidden", () => {
  const request = {
    width: 640,
    theme: THEMES.light,
    density: 1,
    blank: false,
    dense: false,
    brief: false,
    caption: false,
  };
  const drawn = drawPicture(pairState(), request);
  expect(drawn.sheet.pen.body).toContain("2 of 4 heads go from “cat” to “sat”");
  expect(drawn.caption.head).toBe("2 of 4 heads go from “cat” to “sat”");
  expect(drawPicture(state({ _lens: null }), request).sheet.pen.body).toContain(
    "Every token is hidden",
  );
});

describe("on a page", () => {
  test("tokens are chosen from the lists, in one message each; none is the first word", async () => {
    const { model, find } = await mounted(lens(), state());
    const from = find<HTMLSelectElement>("[data-control=from]");
    const to = find<HTMLSelectElement>("[data-control=to]");
    expect([from.value, to.value]).toEqual(["1 cat", "every token"]);
    to.value = "2 sat";
    to.dispatchEvent(new Event("change"));
    expect(model.sent).toEqual([
      {
        tokens: [
          ["query", 1],
          ["key", 2],
        ],
      },
    ]);
    model.fromKernel({ _lens: PAIR });
    await frame();
    expect(find(".attnw-lens-title").textContent).toBe("2 of 4 heads go from “cat” to “sat”");
  });

  test("keys: the cell's head, the row's token, turn round, back", async () => {
    const { model, find } = await mounted(lens(), state());
    const press = (key: string) =>
      find("[role=grid]").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "Enter"]) press(key);
    expect(model.get("selected")).toEqual([[1, 1, "self"]]);
    press("d");
    expect(model.get("tokens")).toEqual([["key", 1]]);
    press("Escape");
    press("Escape");
    expect([model.get("tokens"), model.get("selected")]).toEqual([[["query", 1]], []]);
    press("t");
    expect(model.get("tokens")).toEqual([
      ["query", 1],
      ["key", 2],
    ]);
    press("s");
    expect(model.get("sort")).toBe("weight");
    expect(find("[role=gridcell]").getAttribute("aria-label")).toContain("L1");
  });

  test("says what to do where none is locked, and dims what is out of date", async () => {
    const { model, el, find } = await mounted(lens(), state({ tokens: [] }));
    expect(find(".attnw-lens-hint").textContent).toContain("No word is locked");
    expect(el.querySelector(".attnw-lens-stale")).toBeNull();
    model.fromKernel({ tokens: [["query", 3]] });
    await frame();
    expect(el.querySelector(".attnw-lens-stale")).not.toBeNull();
    model.fromKernel({ _lens: null, hidden: ["cls", "sep"] });
    await frame();
    expect(find(".attnw-message").textContent).toContain("Every token is hidden");
    expect(find<HTMLElement>("[role=grid]").hidden).toBe(true);
  });
});

test("a tall lens is scrolled to the largest weight of the shown head, once", async () => {
  const count = 500;
  const text = Array.from({ length: count }, (_, i) => `t${i}`);
  const axis = { text, raw: text, special: text.map(() => ""), segments: text.map(() => 0) };
  const values = new Float32Array(2 * count).fill(0.001);
  values[400] = 0.9;
  values[count + 3] = 0.8;
  const tall = state({
    selected: [[1, 0, "self"]],
    _axes: { ...axes, query: axis, key: axis },
    _lens: { ...FROM, shape: [2, count], values: wireOf(values, [2, count]) },
  });
  const heights = vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(300);
  const { model, find } = await mounted(lens(), tall);
  const box = find(".attnw-lens-box");
  const place = box.scrollTop;
  expect(place).toBeGreaterThan(600);
  // A reader's own scrolling stays.
  box.scrollTop = 40;
  model.fromKernel({ scale: "linear" });
  await frame();
  expect(box.scrollTop).toBe(40);
  model.fromKernel({ selected: [[1, 1, "self"]] });
  await frame();
  expect(box.scrollTop).toBe(0);
  heights.mockRestore();
});
