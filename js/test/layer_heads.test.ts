import { afterEach, expect, test, vi } from "vitest";
import { decode } from "../src/head_grid/grid_pixels.js";
import { drawPicture } from "../src/head_grid/picture.js";
import { sceneOf } from "../src/head_grid/scene.js";
import type { GridState, Thumbnails } from "../src/head_grid/state.js";
import grid from "../src/head_grid/widget.js";
import { askedOf, layerAnswers, strongestHead } from "../src/head_grid/word_answers.js";
import { type GridLayout, SCROLL_BAR } from "../src/shared/cells.js";
import { Sheet } from "../src/shared/picture/sheet.js";
import { THEMES } from "../src/shared/theme.js";
import type { Side, StackInfo } from "../src/shared/types.js";
import { gridState } from "./grid_state.js";
import { frame, mounted } from "./mounted.js";
import { stack } from "./view_state.js";
import { wireOf } from "./wire_of.js";

const KEYS = 4;
const EVEN = 1 / KEYS;

interface Asked {
  layers?: number;
  heads?: number;
  /** Weights of some heads, by layer and head; all other heads attend evenly. */
  rows?: [layer: number, head: number, weights: number[]][];
  tokens?: [Side, number][];
  side?: Side;
}

/** Return a grid of four tokens whose locked words have answers, without thumbnails' values. */
function asked(
  { layers = 3, heads = 8, rows = [], tokens = [["query", 1]], side = "query" }: Asked,
  patch: Partial<GridState> = {},
): GridState {
  const values = new Float32Array(layers * heads * KEYS).fill(EVEN);
  for (const [layer, head, weights] of rows) values.set(weights, (layer * heads + head) * KEYS);
  const count = layers * heads;
  const info: StackInfo = { ...stack, n_layers: layers, n_heads: heads, n_key_heads: heads };
  return gridState({
    tokens,
    _stacks: [info],
    _rows: {
      stack: "self",
      unit: "tokens",
      quantity: "weights",
      side,
      of: tokens.find(([of]) => of === side)?.[1] ?? 0,
      values: wireOf(values, [layers, heads, KEYS]),
    },
    _thumbnails: {
      stack: "self",
      quantity: "weights",
      unit: "tokens",
      hidden: patch.hidden ?? [],
      disabled: [],
      method: null,
      versus: null,
      comparison_part: "difference",
      signed: false,
      times_keys: false,
      common: null,
      changes: null,
      values: wireOf(new Uint8Array(count), [layers, heads, 1, 1]),
      maxima: wireOf(new Float32Array(count).fill(0.5), [layers, heads]),
      strongest: wireOf(new Int32Array(2 * count), [layers, heads, 2]),
    },
    ...patch,
  });
}

const ROWS: Asked["rows"] = [
  [0, 2, [0, 0.1, 0.9, 0]],
  [1, 5, [0.6, 0.1, 0.2, 0.1]],
  [1, 6, [0.05, 0.05, 0.55, 0.35]],
];

const answersOf = (state: GridState) => {
  const question = askedOf(state);
  if (!question) throw new Error("no question");
  return layerAnswers(question, state._axes, state.hidden);
};

afterEach(() => vi.restoreAllMocks());

test("each layer has its strongest head and the word, without hidden tokens", () => {
  const all = answersOf(asked({ rows: ROWS }));
  expect(all.map((answer) => [answer?.head, answer?.other, answer?.standsOut])).toEqual([
    [2, 2, true],
    [5, 0, true],
    [0, 0, false],
  ]);
  const hidden = answersOf(asked({ rows: ROWS }, { hidden: ["cls"] }));
  expect(hidden[1]).toMatchObject({ head: 6, other: 2 });
});

test("of a pair, each layer has the head with the largest share for the key", () => {
  const tokens: [Side, number][] = [
    ["query", 1],
    ["key", 2],
  ];
  const all = answersOf(asked({ rows: ROWS, tokens }));
  expect(all.map((answer) => answer?.head)).toEqual([2, 6, 0]);
  expect(all.map((answer) => answer?.standsOut)).toEqual([true, true, false]);
  expect(all[1]?.weight).toBeCloseTo(0.55);
});

test("a layer that attends to no visible word has no strongest head", () => {
  const none = Array.from({ length: 8 }, (_, head) => [2, head, [0, 0, 0, 0]]);
  const state = asked({ rows: [...ROWS, ...(none as NonNullable<Asked["rows"]>)] });
  expect(answersOf(state)[2]).toBeUndefined();
  expect(strongestHead(state, 2)).toBeUndefined();
  expect(strongestHead(state, 1)).toEqual([1, 5, "self"]);
  for (const patch of [{ cells: "maps" as const }, { quantity: "norms" }, { tokens: [] }])
    expect(strongestHead({ ...state, ...patch }, 1)).toBeUndefined();
});

const REQUEST = { theme: THEMES.light, density: 1, blank: false, dense: false };
const drawn = (state: GridState, width: number) =>
  drawPicture(state, { ...REQUEST, width, brief: false, caption: false });

/** Return the texts of a picture. */
function textsOf(state: GridState, width = 640): string[] {
  const { sheet } = drawn(state, width);
  const svg = sheet.pen.body;
  return [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text = ""]) => text);
}

test("rows tell the word, the head and the share, and a dash where nothing stands out", () => {
  const texts = textsOf(asked({ rows: ROWS }));
  for (const text of ["sat", "H2 · 90", "[CLS]", "H5 · 60", "–"]) expect(texts).toContain(text);
  expect(texts.filter((text) => text === "layer")).toHaveLength(1);
  const pair = textsOf(
    asked({
      rows: ROWS,
      tokens: [
        ["query", 1],
        ["key", 2],
      ],
    }),
  );
  for (const text of ["90\u00a0%", "H2", "55\u00a0%", "H6", "–"]) expect(pair).toContain(text);
});

test("low rows tell the word and the share on one line", () => {
  const texts = textsOf(asked({ layers: 40, heads: 40, rows: ROWS }, { selected: [] }), 2400);
  expect(texts).toContain("90");
  expect(texts).not.toContain("H2 · 90");
});

test("without a kept word, and where cells would lose their words, rows have numbers alone", () => {
  const some = ["–", "H2 · 90"];
  const without = textsOf(asked({ rows: ROWS }, { tokens: [], _rows: null }));
  const narrow = textsOf(asked({ rows: ROWS }), 330);
  for (const texts of [without, narrow]) {
    expect(texts.filter((text) => some.includes(text))).toEqual([]);
    expect(texts).toContain("layer 0");
  }
});

test("columns of layers have their words below", () => {
  const texts = textsOf(asked({ layers: 30, heads: 9, rows: ROWS }));
  for (const text of ["best", "sat 90", "[CLS] 60"]) expect(texts).toContain(text);
  const wide = textsOf(asked({ layers: 12, heads: 8, rows: ROWS }));
  for (const text of ["best", "sat", "H2 · 90"]) expect(wide).toContain(text);
});

test("rows of a deep grid in a narrow column have their words beside them", () => {
  const deep = asked({ layers: 30, heads: 9, rows: ROWS });
  const texts = textsOf(deep, 300);
  for (const text of ["sat", "90", "[CLS]", "60", "–"]) expect(texts).toContain(text);
  expect(texts.join(" ")).toContain("left of each row: the strongest");
  const narrowest = textsOf(deep, 200);
  expect(narrowest).not.toContain("sat");
});

test("48 layers lie across in half a page, and have words beside them where it is too narrow", () => {
  const deep = asked({ layers: 48, heads: 16, rows: ROWS });
  const explorer = { highest: 404, least: 8, largest: 64 };
  const at = (width: number) => {
    const { look } = new Sheet({ ...REQUEST, width, brief: false, caption: false });
    return sceneOf(deep, decode(deep._thumbnails as Thumbnails), look, explorer);
  };
  const across = at(550);
  expect(across.heads?.side).toBe("column");
  expect(across.layout.cols).toBe(48);
  expect(across.width).toBeLessThanOrEqual(550);
  const upright = at(490);
  expect(upright.heads?.side).toBe("row");
  // A row is as high as its text.
  expect(upright.layout.tall).toBeGreaterThanOrEqual(13);
  // The scroll bar does not hide the last head.
  expect(upright.width).toBeLessThanOrEqual(490 - SCROLL_BAR);
});

test("columns that are too narrow for strips have one color", () => {
  const { caption } = drawn(asked({ layers: 48, heads: 25, rows: ROWS }), 700);
  const notes = caption.notes.join(" ");
  expect(notes).toContain("cells: the largest share that “cat” gives to a word");
});

async function shown(state: GridState) {
  const found = await mounted<GridState>(grid(), state);
  const canvas = found.find<HTMLCanvasElement>("canvas.attnw-grid");
  const layout: GridLayout = JSON.parse(canvas.dataset.layout ?? "{}");
  const click = async (clientX: number, clientY: number) => {
    // The test environment has no sizes, so the grid scrolls to each selected head.
    found.find("[role=grid]").scrollTo(0, 0);
    canvas.dispatchEvent(new MouseEvent("click", { clientX, clientY, bubbles: true }));
    await frame();
  };
  const press = async (key: string) => {
    found
      .find("[role=grid]")
      .dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    await frame();
  };
  return { ...found, layout, click, press };
}

test("a click on a row and the brackets go to the strongest head of the layer", async () => {
  const { model, layout, click, press } = await shown(asked({ rows: ROWS }));
  const row = (layer: number) => layout.y0 + (layer + 0.5) * (layout.tall + layout.gap);
  await click(10, row(0));
  expect(model.sent.at(-1)).toEqual({ selected: [[0, 2, "self"]], layer: 0 });
  await press("]");
  expect(model.get("selected")).toEqual([[1, 5, "self"]]);
  await press("Escape");
  expect(model.get("selected")).toEqual([[0, 2, "self"]]);
  const before = model.sent.length;
  await click(10, 8);
  await click(layout.x0 + 20, 8);
  expect(model.sent).toHaveLength(before);
});

test("without a kept word, a click on a row keeps the number of the head", async () => {
  const { model, layout, click } = await shown(asked({}, { tokens: [], _rows: null }));
  await click(10, layout.y0 + 5);
  expect(model.sent.at(-1)).toEqual({ layer: 0, selected: [[0, 5, "self"]] });
});

test("columns of layers are clicked above and below the cells, labels of heads are not", async () => {
  const { model, layout, click } = await shown(asked({ layers: 30, heads: 9, rows: ROWS }));
  const bottom = layout.y0 + layout.rows * (layout.tall + layout.gap);
  await click(layout.x0 + 3, bottom + 20);
  expect(model.get("selected")).toEqual([[0, 2, "self"]]);
  await click(layout.x0 + layout.cell + layout.gap + 3, 8);
  expect(model.get("selected")).toEqual([[1, 5, "self"]]);
  const before = model.sent.length;
  await click(10, layout.y0 + 5);
  await click(10, bottom + 20);
  expect(model.sent).toHaveLength(before);
});

test("the header of a cell names the strongest head of its layer", async () => {
  const { find, press } = await shown(asked({ rows: ROWS }, { selected: [[0, 2, "self"]] }));
  const name = () => find("[role=rowheader]").textContent;
  expect(name()).toBe("layer 0: “sat” 90\u00a0% in head 2");
  await press("ArrowDown");
  await press("ArrowDown");
  expect(name()).toBe("layer 2: no head stands out");
});

test("the header of a column of layers has its own row", async () => {
  const { find } = await shown(asked({ layers: 30, heads: 9, rows: ROWS }));
  expect(find("[role=row] > [role=columnheader]").textContent).toContain("layer 0:");
});
