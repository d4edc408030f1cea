import { describe, expect, test } from "vitest";
import { captionOf, effectRows, exampleText, ruleRows } from "../src/atlas_view/card_text.js";
import { exampleLine, lengthOf } from "../src/atlas_view/example_line.js";
import { layoutOf } from "../src/atlas_view/layout.js";
import { pageModel } from "../src/atlas_view/page.js";
import { effectRange } from "../src/atlas_view/paint.js";
import { distancesText, paintDistances } from "../src/atlas_view/paint_distances.js";
import { partsOf, sharesHeight } from "../src/atlas_view/paint_shares.js";
import { drawPicture } from "../src/atlas_view/picture.js";
import { anchorOf, headOf, rowsOf, shownRows, sorted } from "../src/atlas_view/rows.js";
import type { AtlasState, Effect, InText, RuleGroup, Shares } from "../src/atlas_view/state.js";
import atlas from "../src/atlas_view/widget.js";
import { captionText } from "../src/shared/caption.js";
import { tableRuler } from "../src/shared/labels.js";
import type { Pen } from "../src/shared/pen.js";
import { THEMES } from "../src/shared/theme.js";
import { atlasState, card } from "./atlas_state.js";
import { frame, mounted } from "./mounted.js";
import { request } from "./relation_state.js";

const measure = tableRuler("12px Arial");

async function show(change: Partial<AtlasState> = {}) {
  const { model, el, find } = await mounted(atlas(), atlasState(change));
  const heads = () =>
    [...el.querySelectorAll(".attnw-atlas-table tbody th")].map((cell) => cell.textContent);
  const button = (text: string) =>
    [...el.querySelectorAll<HTMLButtonElement>("button")].find(
      ({ textContent }) => textContent?.trim() === text,
    );
  const press = async (target: Element, key: string) => {
    target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    await frame();
  };
  return { model, el, find, heads, button, press };
}

/** Return the rectangles that a function fills. */
function recordedRects(draw: (pen: Pen) => void): [number, number, number, number][] {
  const rects: [number, number, number, number][] = [];
  draw({ fillRect: (...rect: [number, number, number, number]) => rects.push(rect) } as never);
  return rects;
}

const order = (change: Partial<AtlasState>) => {
  const state = atlasState(change);
  const rows = state._heads ? rowsOf(state._heads) : [];
  return shownRows(rows, state).map(({ head }) => anchorOf(head));
};

describe("rows", () => {
  test("heads without a value come last, and equal heads keep their order", () => {
    expect(order({})).toEqual(["L1H0", "L0H0", "L1H1", "L0H1"]);
    expect(order({ descending: false })).toEqual(["L0H0", "L1H1", "L1H0", "L0H1"]);
    expect(order({ sort: "head", descending: true })[0]).toBe("L1H1");
    expect(order({ sort: "name", descending: false })).toEqual(["L0H0", "L1H0", "L1H1", "L0H1"]);
    expect(order({ sort: "outcome", descending: false })).toEqual(["L1H0", "L1H1", "L0H0", "L0H1"]);
  });

  test("a search finds heads by number, name, runner-up and outcome", () => {
    expect(order({ search: "l1 h0" })).toEqual(["L1H0"]);
    expect(order({ search: "RARE" })).toEqual(["L1H0"]);
    expect(order({ search: "noun" })).toEqual(["L0H0"]);
    expect(order({ search: "cause" })).toEqual(["L1H0"]);
    expect(order({ search: "[cls]" })).toEqual(["L1H1"]);
    expect(order({ search: "nothing" })).toEqual([]);
  });

  test("a click on a heading sorts by it, and a second click turns the order", () => {
    const state = atlasState();
    expect(sorted(state, "strength")).toEqual({ sort: "strength", descending: false });
    expect(sorted(state, "name")).toEqual({ sort: "name", descending: false });
    expect(sorted(state, "held out")).toEqual({ sort: "held out", descending: true });
  });

  test("anchors name heads", () => {
    expect(headOf("#L1H3")).toEqual([1, 3, "self"]);
    expect(headOf("#l11h0")).toEqual([11, 0, "self"]);
    for (const text of ["", "#", "#L1", "#L1H3x", "#L-1H3"]) expect(headOf(text)).toBeUndefined();
  });
});

describe("an example", () => {
  const long = {
    pieces: Array.from({ length: 60 }, (_, i) => ` word${i}`),
    query: 50,
    key: 10,
    weight: 0.5,
  };

  test.each([160, 240, 400, 900])("fits into %s pixels and keeps both ends", (room) => {
    const line = exampleLine(long, measure, room);
    expect(lengthOf(line)).toBeLessThanOrEqual(room);
    expect(line.filter(({ end }) => end === "query").map(({ text }) => text)).toEqual(["word50"]);
    expect(line.filter(({ end }) => end === "key").map(({ text }) => text)).toEqual(["word10"]);
    expect(line.some(({ text }) => text === "…")).toBe(true);
    for (const [i, { x }] of line.slice(1).entries())
      expect(x).toBeGreaterThanOrEqual((line[i]?.x ?? 0) + (line[i]?.width ?? 0));
  });

  test("pieces of a word have no space between them", () => {
    const example = { pieces: [" him", "self"], query: 1, key: 0, weight: 1 };
    const [first, second] = exampleLine(example, measure, 200);
    expect(second?.x).toBe(first?.width);
  });

  test("ends that are too long are shortened", () => {
    const example = { pieces: [` ${"x".repeat(99)}`, ` ${"y".repeat(99)}`], query: 0, key: 1 };
    const line = exampleLine({ ...example, weight: 1 }, measure, 100);
    expect(lengthOf(line)).toBeLessThanOrEqual(100);
    expect(line.map(({ text }) => text.at(-1))).toEqual(["…", "…"]);
  });

  test("a token that attends to itself is both ends", () => {
    const example = { pieces: [" a", " b"], query: 1, key: 1, weight: 1 };
    expect(exampleLine(example, measure, 100).map(({ end }) => end)).toEqual(["", "both"]);
    expect(exampleText(example)).toBe("b → b, 100\u00a0%: a b");
  });
});

test("an effect has its controls, and an axis with all numbers and 0", () => {
  const effect = card().effect as Effect;
  const rows = effectRows(effect);
  expect(rows.map(({ label, text }) => [label, text])).toEqual([
    ["where it applies", "+0.100"],
    ["elsewhere", "−0.010"],
    ["1 other head", "+0.010"],
  ]);
  const [low, high] = effectRange(rows);
  expect(low).toBeLessThan(-0.01);
  expect(high).toBeGreaterThan(0.15);
  expect(effectRows({ ...effect, matched: null, random: [] })).toHaveLength(1);
});

test.each([320, 380, 480, 750, 1020, 1420, 1600])("parts fit into %s pixels", (width) => {
  const { isWide, table, card, column, label, bar, hasTwoColumns } = layoutOf(width);
  expect(isWide ? table + card + 24 : Math.max(table, card)).toBe(width);
  expect(hasTwoColumns ? 2 * column + 24 : column).toBeLessThanOrEqual(card);
  expect(label + bar + 120 + 16).toBe(column);
  expect(bar).toBeGreaterThan(60);
});

describe("the rule of a name", () => {
  test("has a sentence and three changes of the loss for each group of words", async () => {
    const { el } = await show();
    const text = (el.textContent ?? "").replaceAll(/\s+/g, " ");
    expect(text).toContain("Its rule predicts 19 % of where the head looks.");
    expect(text).toContain("Where it applies (the word itself), its rule recovers 90 %");
    expect(text).toContain("Elsewhere (the other words), the model does not need this head.");
    expect(text).toContain("measured on 120 sentences · 1,234 and 900 predictions");
    const rows = ruleRows(card().rule?.groups[0] as RuleGroup);
    expect(rows.map(({ label, text }) => [label, text])).toEqual([
      ["head off", "+0.300"],
      ["its rule instead", "+0.030"],
      ["a wrong rule", "+0.500"],
    ]);
    expect(rows.map(({ interval }) => interval)).toEqual([[0.24, 0.36], [-0.01, 0.07], null]);
  });

  test("is left out without a measurement, and a head without a name has its shares", async () => {
    const bare = await show({ _card: card({ rule: null, shares: null }) });
    expect(bare.el.textContent).not.toContain("its rule");
    expect(bare.el.textContent).not.toContain("what decides");
    const unnamed = await show({ _card: card({ name: "", named_by: null, rule: null }) });
    expect(unnamed.el.textContent).toContain("what decides where it looks");
  });
});

describe("the shares of what decides where a head looks", () => {
  const shares = card().shares as Shares;

  test("are without noise below 0, and sum to 1", () => {
    const parts = partsOf(shares);
    expect(parts.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 12);
    expect(parts.map(({ name }) => name)).toEqual(["position", "grammar", "same word", "rest"]);
    expect(parts[2]?.share).toBe(0);
  });

  test("are a bar with one color for each part, and a legend that breaks lines", () => {
    expect(sharesHeight(shares, 500, measure)).toBeLessThan(sharesHeight(shares, 120, measure));
    const state = atlasState();
    for (const theme of ["light", "dark"] as const) {
      const { sheet } = drawPicture(state, request(640, { theme: THEMES[theme] }));
      const svg = sheet.pen.body;
      const colors = theme === "dark" ? ["#35b08d", "#dd8f45"] : ["#0f7d62", "#b5661a"];
      for (const color of colors) expect(svg).toContain(color);
      for (const words of ["position", "what decides where it looks", "a wrong rule"])
        expect(svg).toContain(words);
    }
  });
});

test("a table with the card of the selected head", async () => {
  const { el, find, heads } = await show();
  expect(heads()).toEqual(["L1 H0", "L0 H0", "L1 H1", "L0 H1"]);
  expect(find("[aria-sort]").textContent).toBe("strength▼");
  expect(find("[aria-pressed=true]").textContent).toBe("L1 H0");
  const region = find("[role=region]");
  expect(region.textContent).toContain("L1 H0 · previous token");
  expect(region.textContent).toContain("Score 0.92 against 0.10 by the keys beside it, p < 0.001.");
  expect(region.textContent).toContain("Also: rare words.");
  expect(region.textContent).toContain(
    "losing it hurts: yes, here, and more than any other tested head",
  );
  expect(region.textContent).toContain("reads cat: promotes cats, dog; suppresses the");
  expect(find(".attnw-atlas-examples").textContent).toContain(
    "self → <b>, 42\u00a0%: the <b> saw him",
  );
  expect(el.querySelector("ol b")).toBeNull();
});

test("a row, a search, a heading and Escape each save their trait", async () => {
  const { model, find, heads, button, press } = await show();
  button("L0 H1")?.click();
  await frame();
  expect(model.sent.at(-1)).toEqual({ selected: [[0, 1, "self"]], layer: 0 });
  await press(find(".attnw-atlas-table tbody button"), "Escape");
  expect(model.sent.at(-1)).toEqual({ selected: [[1, 0, "self"]], layer: 1 });
  const search = find<HTMLInputElement>("input[type=search]");
  search.value = "det";
  search.dispatchEvent(new Event("input", { bubbles: true }));
  await frame();
  expect(model.sent.at(-1)).toEqual({ search: "det" });
  expect(heads()).toEqual(["L0 H0"]);
  expect(find(".attnw-atlas-count").textContent).toBe("1 of 4 heads · search: “det”");
  button("head")?.click();
  expect(model.sent.at(-1)).toEqual({ sort: "head", descending: false });
});

test("arrows move between rows, and one row is a tab stop", async () => {
  const { model, el, find, press } = await show();
  const body = find(".attnw-atlas-table tbody");
  await press(body, "ArrowDown");
  expect(el.ownerDocument.activeElement?.textContent).toBe("L0 H0");
  await press(body, "End");
  expect(el.ownerDocument.activeElement?.textContent).toBe("L0 H1");
  expect(body.querySelectorAll("[tabindex='0']")).toHaveLength(1);
  expect(model.sent).toEqual([]);
  await press(body, "[");
  expect(model.sent.at(-1)).toEqual({ selected: [[0, 0, "self"]], layer: 0 });
});

test("examples of the name stand beside the examples of the chosen kind", async () => {
  const example = { pieces: [" a", " cat"], query: 0, key: 1, weight: 0.5 };
  const right = Array.from({ length: 5 }, (_, i) => ({ ...example, pieces: [" a", ` cat${i}`] }));
  const wrong = [{ ...example, pieces: [" the", " ."] }];
  const shown = { _card: card({ examples: { ...card().examples, right, wrong } }) };
  const { model, el, button } = await show(shown);
  const few = () => [...el.querySelectorAll(".attnw-atlas-few li .attnw-unseen")];
  expect(few().map((each) => each.textContent)).toEqual([
    "a → cat0, 50\u00a0%: a cat0",
    "a → cat1, 50\u00a0%: a cat1",
    "the → ., 50\u00a0%: the .",
  ]);
  button("all 5")?.click();
  expect(model.sent.at(-1)).toEqual({ examples: "right" });
  await frame();
  expect(few().map((each) => each.textContent)).toEqual(["the → ., 50\u00a0%: the ."]);
  expect(el.querySelectorAll(".attnw-atlas-examples button")).toHaveLength(5);
  const { sheet } = drawPicture(atlasState(shown), request(640));
  const height = (state: AtlasState) => drawPicture(state, request(640)).sheet.height;
  expect(sheet.height).toBeGreaterThan(height(atlasState()));
});

describe("the distances of a head", () => {
  test("have one bar each, on a scale from 0 to 1, and a tick at the token itself", () => {
    const sheet = JSON.stringify(drawPicture(atlasState({ table: false }), request(984)).sheet);
    expect(sheet).toContain(">how far it looks: 1 after 40\u00a0%, 2 after 28\u00a0%</text>");
    const rects = recordedRects((pen) => paintDistances(pen, THEMES.light, card().distances));
    const bars = rects.filter(([, , width]) => width === 12);
    expect(bars.map(([, , , height]) => Math.round((height / 28) * 100) / 100)).toEqual([
      0.05, 0.25, 0.02, 0.4, 0.28,
    ]);
    expect(rects.filter(([, , width]) => width === 1).map(([x]) => x)).toEqual([33.5]);
  });

  test("are told up to half of the attention, and left out if they were not measured", async () => {
    expect(
      distancesText([
        ["1 before", 0.99],
        ["itself", 0.01],
      ]),
    ).toBe("1 before 99\u00a0%");
    const { el } = await show();
    expect(el.textContent).toContain("1 after 40\u00a0%, 2 after 28\u00a0%");
    expect((await show({ _card: card({ distances: [] }) })).el.textContent).not.toContain(
      "how far it looks",
    );
  });
});

describe("the links of the reader's own text", () => {
  const link = { pieces: [" he", " left", " it"], query: 0, key: 2, weight: 0.59 };
  const inText = (change: Partial<InText> = {}): InText => ({
    predictions: 3,
    likelihood: "",
    kinds: [
      ["right", 2, [link]],
      ["wrong", 1, [{ ...link, key: 1, weight: 0.2 }]],
      ["missed", 0, []],
    ],
    ...change,
  });

  test("stand before the examples of the atlas, each with its kind", async () => {
    const { el } = await show({ _card: card({ in_text: inText() }) });
    const [first] = el.querySelectorAll(".attnw-atlas-examples");
    expect(first?.getAttribute("aria-label")).toBe("in this text");
    expect(
      [...(first?.querySelectorAll("li") ?? [])].map(({ textContent }) => textContent),
    ).toEqual([
      "right59\u00a0%he → it, 59\u00a0%: he left it",
      "wrong20\u00a0%he → left, 20\u00a0%: he left it",
    ]);
    expect(el.textContent).toContain("3 predictions: 2 right, 1 wrong");
    expect(el.textContent).not.toContain("likely");
  });

  test("say that they are likely, that there is none, or nothing", async () => {
    const likely = await show({ _card: card({ in_text: inText({ likelihood: "likely " }) }) });
    expect(likely.el.textContent).toContain("3 predictions: 2 likely right, 1 likely wrong");
    expect(likely.el.textContent).toContain("likely: the text has no parse");
    const none = await show({ _card: card({ in_text: inText({ predictions: 0, kinds: [] }) }) });
    expect(none.el.textContent).toContain("In this text, the name predicts no link.");
    expect((await show()).el.textContent).not.toContain("in this text");
  });

  test("are drawn in a picture with their kinds", () => {
    const state = atlasState({ table: false, _card: card({ in_text: inText() }) });
    const svg = JSON.stringify(drawPicture(state, request(984)).sheet);
    expect(svg).toContain(">wrong</text>");
    expect(svg).toContain(">in this text: 3 predictions: 2 right, 1 wrong");
  });
});

test("more scores and examples on request", async () => {
  const { model, el, find, button } = await show({ examples: "middle" });
  const scores = () =>
    el.querySelector("[aria-label='scores and controls']")?.querySelectorAll("tr").length;
  expect(scores()).toBe(7);
  button("all 11")?.click();
  await frame();
  expect(model.sent.at(-1)).toEqual({ all_scores: true });
  expect(scores()).toBe(11);
  expect(el.querySelectorAll("ol li")).toHaveLength(6);
  button("all 10")?.click();
  await frame();
  expect(el.querySelectorAll("ol li")).toHaveLength(10);
  button("L0 H1")?.click();
  const select = find<HTMLSelectElement>("select");
  expect([...select.options].map(({ value }) => value)).toEqual(["strongest", "middle"]);
});

test("a click on an example opens it, and a second click closes it", async () => {
  const { model, el, button } = await show({ examples: "middle" });
  const examples = () => [...el.querySelectorAll<HTMLButtonElement>("ol button")];
  const pressed = () => examples().map((each) => each.getAttribute("aria-pressed") === "true");
  expect(pressed()).toEqual(Array(6).fill(false));
  examples()[1]?.click();
  await frame();
  expect(model.sent.at(-1)).toEqual({ example: 1 });
  expect(pressed()).toEqual([false, true, false, false, false, false]);
  examples()[1]?.click();
  expect(model.sent.at(-1)).toEqual({ example: null });
  button("?")?.click();
  await frame();
  // A figure without a kernel has no model that reads the text.
  expect(el.textContent).toContain("mark the example");
});

test("a note is typed on the card and found by the search", async () => {
  const { model, el, find, heads, press } = await show({ search: "look" });
  expect(heads()).toEqual([]);
  // Without a kernel there is no text field, and this head has no note yet.
  expect(el.querySelector("textarea, .attnw-atlas-noted")).toBeNull();
  model.fromKernel({ notes: [[[1, 0, "self"], "look <b>\nagain"]] });
  await frame();
  expect(heads()).toEqual(["L1 H0"]);
  expect(find(".attnw-atlas-noted").textContent).toBe("look <b>\nagain");
  const live = await mounted(
    { render: (context) => atlas().render({ ...context, model: { ...context.model, send() {} } }) },
    atlasState(),
  );
  const area = live.find<HTMLTextAreaElement>("textarea");
  await press(area, "[");
  expect(live.model.sent).toEqual([]);
  area.value = " two\nlines ";
  area.dispatchEvent(new Event("change", { bubbles: true }));
  expect(live.model.sent.at(-1)).toEqual({ notes: [[[1, 0, "self"], "two\nlines"]] });
  await frame();
  area.value = "typed";
  await press(area, "Escape");
  expect(area.value).toBe("two\nlines");
  area.value = "";
  area.dispatchEvent(new Event("change", { bubbles: true }));
  expect(live.model.sent.at(-1)).toEqual({ notes: [] });
});

test("without a card it says what to do; a head without a name has a card", async () => {
  const { find, model } = await show({ selected: [], _card: null });
  expect(find("[role=region]").textContent).toContain("Select a head");
  model.fromKernel({
    _card: card({
      name: "",
      named_by: null,
      effect: null,
      writes: [],
      feeds: [],
      examples: {},
      rule: null,
      shares: null,
      distances: [],
    }),
  });
  await frame();
  expect(find("[role=region]").textContent).toContain("no name");
  expect(find("[role=region]").textContent).toContain("measured behaviors describes this head.");
  expect(find("[role=region]").textContent).toContain("Closest: previous token, 0.92 against 0.10");
  expect(find("[role=region]").querySelector("canvas")).toBeNull();
  find<HTMLButtonElement>("[role=region] button").click();
  await frame();
  expect(find("[role=region]").querySelectorAll("canvas").length).toBeGreaterThan(3);
});

test("a saved page has the cards of all heads, and follows its address", async () => {
  history.replaceState(null, "", "#L0H1");
  const other = card({ head: [0, 1, "self"], name: "" });
  const model = pageModel(
    {
      name: "atlas_view",
      label: "",
      remark: "",
      state: atlasState(),
      own: { cards: { L1H0: card(), L0H1: other } },
      shapes: { self: [2, 2] },
      relations: null,
    },
    {},
  );
  expect(model.get("_card")).toEqual(other);
  model.set("selected", [[1, 0, "self"]]);
  expect(model.get("_card")?.name).toBe("previous token");
  expect(location.hash).toBe("#L1H0");
  model.set("example", 0);
  model.set("examples", "middle");
  expect(model.get("example")).toBeNull();
  model.set("example", 2);
  model.set("selected", [[0, 1, "self"]]);
  expect(model.get("example")).toBeNull();
  model.set("selected", [[1, 0, "self"]]);
  history.replaceState(null, "", "#L9H9");
  dispatchEvent(new Event("hashchange"));
  expect(model.get("selected")).toEqual([[1, 0, "self"]]);
});

test.each([380, 700, 984, 1400])("a picture of %s pixels has the table and the card", (width) => {
  const { sheet, caption, table } = drawPicture(atlasState(), request(width));
  expect(sheet.width).toBe(width);
  expect(sheet.height).toBeGreaterThan(300);
  expect(captionText(caption)).toContain("Atlas of attention heads · BertModel · L1 H0 (2-1)");
  expect(table.rows[0]).toEqual(["L1 H0", "previous token", "0.90", "0.91", "primary cause"]);
  const empty = drawPicture(atlasState({ search: "nothing", _card: null }), request(width));
  expect(empty.table.rows).toEqual([]);
});

test("the caption says what is searched and how to read the figure", () => {
  const state = atlasState({ search: "det" });
  const text = captionText(captionOf(state, [], 4));
  expect(text).toContain("0 of 4 heads · search: “det”");
  expect(text).toContain("strength: (score − control) / (1 − control)");
});
