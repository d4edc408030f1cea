import { expect, test } from "vitest";
import {
  isRightToLeft,
  layoutPassage,
  leftOf,
  levels,
  type PassageLayout,
} from "../src/coreference_view/passage.js";
import { drawPicture } from "../src/coreference_view/picture.js";
import type { CoreferenceState, DrawnWindow, Mention } from "../src/coreference_view/scene.js";
import coreference from "../src/coreference_view/widget.js";
import { captionText } from "../src/shared/caption.js";
import { tableRuler } from "../src/shared/labels.js";
import { THEMES } from "../src/shared/theme.js";
import { frame, leave, mounted } from "./mounted.js";
import { wireOf } from "./wire_of.js";

const mention = (index: number, words: number[], cluster: number, kind = "nominal"): Mention => ({
  mention: index,
  words,
  head: words.at(-1) ?? 0,
  cluster,
  kind,
});

/** Return "Ann <b> told [[her] men] that [she] left .", from word 5 of its document. */
function drawnAnn(change: Partial<DrawnWindow> = {}): DrawnWindow {
  const none = { nearest: 4, "rule-based": -1 };
  const rule = { nearest: 6, "rule-based": 4 };
  return {
    document: 0,
    window: 0,
    windows: 1,
    name: "ann",
    start: 5,
    length: 40,
    head: [1, 2, "self"],
    words: ["Ann", "<b>", "told", "her", "men", "that", "she", "left", "."],
    mentions: [
      mention(4, [0, 1], 1, "proper"),
      mention(5, [3], 1, "pronoun"),
      mention(6, [3, 4], 0),
      mention(7, [6], 1, "pronoun"),
    ],
    evaluated: [
      { mention: 5, antecedents: [4], baselines: none },
      { mention: 7, antecedents: [4, 5], baselines: rule },
    ],
    chosen: {
      words: wireOf(Int32Array.from([2, 3, 1, 4]), [2, 2]),
      weights: wireOf(Float32Array.from([0.5, 0.25, 0.125, 0]), [2, 2]),
      correct: [30, 60],
    },
    ...change,
  };
}

const state = (change: Partial<CoreferenceState> = {}): CoreferenceState => ({
  selected: [[1, 2, "self"]],
  layer: 1,
  _error: "",
  document: 0,
  window: 0,
  mention: null,
  variant: "words",
  _drawn: drawnAnn(),
  _jump: {},
  _jumped: {},
  _source: {
    model: "BertModel",
    count: 3,
    layers: 4,
    n: 120,
    baselines: { nearest: 60, "rule-based": 90 },
  },
  ...change,
});

const REQUEST = {
  // The text is as wide as on a page of 640 pixels.
  width: 656,
  theme: THEMES.light,
  density: 1,
  blank: false,
  dense: false,
  brief: false,
  caption: false,
};

/** Return the elements of a picture as tag, attributes and text. */
function picture(change: Partial<CoreferenceState> = {}) {
  const { sheet, caption } = drawPicture(state(change), REQUEST);
  const found = [...sheet.pen.body.matchAll(/<(\w+)([^>]*?)\/?>(?:([^<]*)<\/text>)?/g)];
  const elements = found.map(([, tag = "", all = "", text = ""]) => {
    const [, dx = "0"] = /translate\(([\d.]+)/.exec(all) ?? [];
    const attributes = Object.fromEntries(
      [...all.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value]),
    ) as Record<string, string | undefined>;
    return { tag, text, x: Number(attributes.x ?? 0) + Number(dx), attributes };
  });
  return { elements, caption, figure: sheet.figures[0] };
}

async function show(change: Partial<CoreferenceState> = {}) {
  const { model, el, find } = await mounted(coreference(), state(change));
  const all = (selector: string) => [...el.querySelectorAll<HTMLElement>(selector)];
  const click = async (selector: string) => {
    find(selector).dispatchEvent(new MouseEvent("click", { bubbles: true }));
    await frame();
  };
  const press = async (key: string, keys: KeyboardEventInit = {}) => {
    const target = el.contains(document.activeElement)
      ? (document.activeElement as Element)
      : find("[data-mention]");
    target.dispatchEvent(
      new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...keys }),
    );
    await frame();
  };
  const text = (selector: string) => find(selector).textContent ?? "";
  return { model, el, find, all, click, press, text };
}

test("the text is text, and each mention that corefers has its number", async () => {
  const { el, all, text } = await show();
  expect(all("[data-word]").map((node) => node.textContent)).toEqual(drawnAnn().words);
  expect(el.querySelector("b")).toBeNull();
  expect(text(".attnw-coref-text").trim()).toBe("1Ann <b> told 1her men that 1she left.");
  const names = all("[data-mention]").map((node) => node.getAttribute("aria-label"));
  expect(names[0]).toBe("1 Ann <b> (cluster 1, word 5), proper");
  expect(names).toHaveLength(3);
  const dotted = picture().elements.filter((one) => one.attributes["stroke-dasharray"] === "1 2");
  expect(dotted).toHaveLength(2); // "her men", and the key.
  expect(text(".attnw-coref-title")).toBe(
    "L1 H2 · among all words · right on 1 of 2 mentions here · 25.0\u00a0% of 120 in the study",
  );
  expect(text(".attnw-coref-caption")).toContain("nearest 50.0\u00a0%, rule-based 75.0\u00a0%");
  expect(text(".attnw-coref-caption")).toBe(captionText(picture().caption));
});

const WORDS = Array.from({ length: 90 }, (_, i) => (i % 9 === 8 ? "," : `word${i * i}`));
const LONG = {
  words: WORDS,
  mentions: [mention(4, [0, 1], 1), mention(5, [40], 1)],
  evaluated: [],
};

test("words stand on the page where they stand in the picture", async () => {
  for (const words of [WORDS, ["שלום", ...WORDS]]) {
    const _drawn = drawnAnn({ ...LONG, words });
    const { all, find } = await show({ _drawn });
    const { elements, figure } = picture({ _drawn });
    const drawn = elements.filter((one) => one.attributes["font-size"] === "14");
    expect(drawn.map(({ text }) => text.replaceAll("\u200f", ""))).toEqual(words);
    const rtl = find(".attnw-coref-text").dir === "rtl";
    expect(rtl).toBe(words !== WORDS);
    expect(drawn.every((one) => (one.attributes["text-anchor"] === "end") === rtl)).toBe(true);
    const width = (node: Element) => Number.parseFloat((node as HTMLElement).style.width);
    const rows = all(".attnw-coref-row");
    expect(rows.length).toBeGreaterThan(5);
    const places = rows.flatMap((row) => {
      let x = 0;
      return [...row.children].flatMap((node) => {
        const start = x;
        x += width(node);
        const edge = rtl ? (figure?.width ?? 0) - start : start;
        return node.hasAttribute("data-word") ? [edge + (figure?.x ?? 0)] : [];
      });
    });
    expect(places).toHaveLength(words.length);
    for (const [i, x] of places.entries()) expect(x).toBeCloseTo(drawn[i]?.x ?? 0, 2);
    leave();
  }
});

test("the whole text can be copied, with the spaces between its words", async () => {
  const { text, all } = await show({ _drawn: drawnAnn(LONG) });
  for (const chip of all("button[data-mention]")) chip.remove();
  expect(text(".attnw-coref-text")).toBe(WORDS.join(" ").replaceAll(" ,", ","));
});

const place = (words: string[], room: number, mentions: Mention[] = []): PassageLayout =>
  layoutPassage(words, mentions, { room, font: "Arial", ruler: tableRuler });

test("lines break as in print", () => {
  const { pieces } = place(["(", "The", "end", ".", ")"], 56);
  expect(pieces.map(({ line }) => line)).toEqual([0, 0, 1, 1, 1]);
  expect(pieces[1]?.start).toBe(pieces[0]?.end);
  expect(pieces[3]?.start).toBe(pieces[2]?.end);
  const { pieces: long } = place(["a", "x".repeat(100), "b"], 200);
  expect(long.length).toBeGreaterThan(4);
  expect(Math.max(...long.map(({ end }) => end))).toBeLessThanOrEqual(200);
  expect(long.map(({ text }) => text).join("")).toBe(`a${"x".repeat(100)}b`);
});

test("text from right to left runs from the right", () => {
  const at = place(["שלום", "עולם"], 300);
  const [[left = 0, right = 0] = [], [next = 0, end = 0] = []] = at.pieces.map((piece) => {
    const left = leftOf(at, piece.start, piece.end);
    return [left, left + piece.end - piece.start];
  });
  expect(right).toBe(300);
  expect(end).toBeLessThan(left);
  expect(next).toBeGreaterThan(0);
  expect(isRightToLeft(["1", "שלום"])).toBe(true);
  expect(isRightToLeft(["cat", "שלום"])).toBe(false);
});

test("words cannot be parted from the numbers of their mentions", () => {
  const { pieces } = place(["Ann", "saw", "her"], 640, [mention(0, [0], 1), mention(1, [2], 1)]);
  const [ann, saw, her] = pieces;
  expect(ann?.numbers[0]).toMatchObject({ start: 0, mention: { mention: 0 } });
  expect(ann?.start).toBeGreaterThan(ann?.numbers[0]?.end ?? 0);
  expect(saw?.numbers).toEqual([]);
  expect(her?.outer).toBe(her?.numbers[0]?.start);
});

test("lines of nested mentions lie one below the other", () => {
  const lines = levels([
    mention(0, [0, 1, 2, 3], 1),
    mention(1, [1, 2], 2),
    mention(2, [1], 3),
    mention(3, [3], 4),
    mention(4, [5], 5),
  ]);
  expect([...lines].sort()).toEqual([
    [0, 2],
    [1, 1],
    [2, 0],
    [3, 0],
    [4, 0],
  ]);
});

test("a click asks for a mention; the choice, the antecedents and the rules are shown", async () => {
  const { model, all, click, find, text } = await show();
  await click("[data-mention='5']");
  expect(model.sent).toEqual([{ mention: 5 }]);
  expect(text(".attnw-coref-readout")).toContain(
    "L1 H2× told (word 7) with weight 50\u00a0%, wrong",
  );
  expect(text(".attnw-coref-readout")).toContain("antecedentsAnn <b> (cluster 1, word 5)");
  expect(text(".attnw-coref-readout")).toContain("nearest✓ Ann <b> (cluster 1, word 5), right");
  expect(text(".attnw-coref-readout")).toContain("rule-based× nothing, wrong");
  expect(all("[data-marks~=antecedent]")).toHaveLength(2);
  expect(find("[data-marks~=wrong]").getAttribute("data-word")).toBe("2");
  const strokes = picture({ mention: 5 }).elements.map(({ attributes }) => attributes);
  const wrong = strokes.filter(({ stroke }) => stroke === THEMES.light.wrong);
  // The box, the arrow and the legend sample are dashed. One cross is next to the word, one in the
  // legend, and two are in the readout.
  expect(wrong.filter((one) => one["stroke-dasharray"] === "5 3")).toHaveLength(3);
  const crosses = wrong.filter((one) => !one["stroke-dasharray"]);
  expect(crosses.flatMap(({ d = "" }) => d.match(/M/g) ?? [])).toHaveLength(2 * 4);
  expect(text("[aria-live]")).toContain("told (word 7) with weight 50\u00a0%, wrong");
  expect(find("[data-mention='5']").getAttribute("aria-pressed")).toBe("true");
  await click("[data-mention='5']");
  expect(model.get("mention")).toBeNull();
  expect(all("[data-marks]")).toHaveLength(0);
});

test("a word asks for the mentions over it, the innermost first", async () => {
  const drawn = drawnAnn();
  const around = { ...(drawn.mentions[2] as Mention), cluster: 2 };
  const { model, click } = await show({
    _drawn: drawnAnn({ mentions: drawn.mentions.map((one) => (one.mention === 6 ? around : one)) }),
  });
  for (const wanted of [5, 6, 5]) {
    await click("[data-word='3']");
    expect(model.get("mention")).toBe(wanted);
  }
  await click("[data-word='2']");
  expect(model.get("mention")).toBe(5);
});

test("the variant changes the choice and sends nothing but itself", async () => {
  const { model, press, text } = await show({ mention: 5 });
  await press("v");
  expect(model.sent).toEqual([{ variant: "mentions" }]);
  expect(text(".attnw-coref-readout")).toContain("✓ <b> (word 6) with weight 13\u00a0%, right");
  expect(text(".attnw-coref-title")).toContain("among preceding mentions · right on 1 of 2");
});

test("arrows move between mentions, and Escape lets go", async () => {
  const { model, press, text } = await show({ mention: 5 });
  const active = () => document.activeElement?.getAttribute("data-mention");
  await press("Home");
  expect(active()).toBe("4");
  await press("ArrowRight");
  expect(active()).toBe("5");
  expect(text("[aria-live]")).toBe("her (cluster 1, word 8), pronoun");
  await press("ArrowDown");
  expect(active()).toBe("7");
  await press("ArrowUp");
  await press("End");
  expect(active()).toBe("7");
  expect(model.sent).toEqual([]);
  await press("Escape");
  expect(model.sent).toEqual([{ mention: null }]);
});

test("documents are stepped through, and jumps are asked for", async () => {
  const { model, el, press, text } = await show();
  await press("w");
  expect(model.sent).toEqual([{ _jump: { n: 1, outcome: "wrong", step: 1 } }]);
  await press("r");
  expect(model.sent).toHaveLength(1);
  model.fromKernel({ _jumped: { n: 1, found: false } });
  await frame();
  expect(text("[aria-live]")).toBe("There is no other such mention.");
  expect(text(".attnw-coref-title + .attnw-coref-note")).toContain("no other");
  await press("PageDown");
  expect(model.sent[1]).toEqual({ document: 1 });
  expect(el.querySelector(".attnw-coref-busy")).not.toBeNull();
  model.fromKernel({ _drawn: drawnAnn({ document: 1, words: ["No", "one"], mentions: [] }) });
  await frame();
  expect(el.querySelector(".attnw-coref-busy")).toBeNull();
  expect(text(".attnw-coref-text").trim()).toBe("No one");
});

test("another head keeps the text, the focus and the mention", async () => {
  const { model, press, find, text } = await show({ mention: 7 });
  await press("Home");
  const button = document.activeElement;
  await press("[");
  expect(model.get("selected")).toEqual([[0, 2, "self"]]);
  model.fromKernel({ _drawn: drawnAnn({ head: [0, 2, "self"] }) });
  await frame();
  expect(document.activeElement).toBe(button);
  expect(find("[data-mention='4']")).toBe(button);
  expect(text(".attnw-coref-readout")).toContain("L0 H2");
});

test("another text, and a mention jumped to, take the focus along", async () => {
  const { model, press } = await show();
  const active = () => document.activeElement?.getAttribute("data-mention");
  await press("End");
  model.fromKernel({ document: 1, _drawn: drawnAnn({ document: 1, start: 0 }) });
  await frame();
  expect(active()).toBe("4");
  model.fromKernel({ mention: 7 });
  await frame();
  expect(active()).toBe("7");
});

test("without a head it says what to do, and still shows the antecedents", async () => {
  const drawn = drawnAnn({ head: null, chosen: null });
  const { model, el, all, press } = await show({ selected: [], mention: 7, _drawn: drawn });
  expect(el.textContent).toContain("Select a head");
  expect(all("[data-marks~=antecedent]")).toHaveLength(3);
  expect(all("[data-marks~=right], [data-marks~=wrong]")).toHaveLength(0);
  await press("w");
  expect(model.sent).toEqual([]);
});

test("what is not evaluated is said; errors take the place, leaving removes all", async () => {
  const { model, el, text, find } = await show({ mention: 4 });
  expect(text(".attnw-coref-readout")).toContain("no mention of its cluster precedes it");
  model.fromKernel({ mention: 6 });
  await frame();
  expect(text(".attnw-coref-readout")).toContain("mentions this once");
  model.fromKernel({ _error: "closed" });
  await frame();
  expect(find("[role=alert]").textContent).toBe("closed");
  leave();
  model.fromKernel({ mention: 5 });
  expect(el.childElementCount).toBe(0);
});

test("before the text arrives nothing breaks", async () => {
  const { el } = await show({ _drawn: null });
  expect(el.querySelectorAll("[data-word]")).toHaveLength(0);
});
