import { expect, test } from "vitest";
import {
  type CoreferenceState,
  type DrawnWindow,
  levels,
  type Mention,
} from "../src/draw/coreference_data.js";
import coreference from "../src/widgets/coreference_view.js";
import { frame, leave, mounted } from "./mounted.js";
import { wireOf } from "./wire_of.js";

const mention = (index: number, words: number[], cluster: number, kind = "nominal"): Mention => ({
  ...{ mention: index, words, head: words.at(-1) ?? 0, cluster, kind },
});

/** "Ann <b> told [[her] men] that [she] left ." from word 5 of its document. */
function drawnAnn(change: Partial<DrawnWindow> = {}): DrawnWindow {
  const [none, rule] = [
    { nearest: 4, "rule-based": -1 },
    { nearest: 6, "rule-based": 4 },
  ];
  return {
    ...{
      document: 0,
      window: 0,
      windows: 1,
      name: "ann",
      start: 5,
      length: 40,
      head: [1, 2, "self"],
    },
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
  ...{ selected: [[1, 2, "self"]], layer: 1, _error: "", document: 0, window: 0, mention: null },
  ...{ variant: "words", _drawn: drawnAnn(), _jump: {}, _jumped: {} },
  _source: {
    ...{ model: "BertModel", count: 3, layers: 4, n: 120 },
    baselines: { nearest: 60, "rule-based": 90 },
  },
  ...change,
});

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
  expect(all(".attnw-coref-once")).toHaveLength(2);
  expect(text(".attnw-coref-title")).toBe(
    "L1 H2 · 2-3 · among all words · right on 1 of 2 mentions here · 25.0 % of 120 in the study",
  );
  expect(text(".attnw-coref-caption")).toContain("nearest 50.0 %, rule-based 75.0 %");
});

test("lines of nested mentions lie one below the other", () => {
  const lines = levels([
    ...[mention(0, [0, 1, 2, 3], 1), mention(1, [1, 2], 2), mention(2, [1], 3)],
    ...[mention(3, [3], 4), mention(4, [5], 5)],
  ]);
  expect([...lines].sort()).toEqual([
    ...[
      [0, 2],
      [1, 1],
      [2, 0],
    ],
    ...[
      [3, 0],
      [4, 0],
    ],
  ]);
});

test("a click asks for a mention; the choice, the antecedents and the rules are shown", async () => {
  const { model, all, click, find, text } = await show();
  await click("[data-mention='5']");
  expect(model.sent).toEqual([{ mention: 5 }]);
  expect(text(".attnw-coref-readout")).toContain("L1 H2× told (word 7) with weight 0.5, wrong");
  expect(text(".attnw-coref-readout")).toContain("antecedentsAnn <b> (cluster 1, word 5)");
  expect(text(".attnw-coref-readout")).toContain("nearest✓ Ann <b> (cluster 1, word 5), right");
  expect(text(".attnw-coref-readout")).toContain("rule-based× nothing, wrong");
  expect(all(".attnw-coref-antecedent")).toHaveLength(2);
  expect(find(".attnw-coref-choice").closest("[data-word]")?.getAttribute("data-word")).toBe("2");
  expect(text(".attnw-coref-mark")).toBe("×");
  expect(text("[aria-live]")).toContain("told (word 7) with weight 0.5, wrong");
  expect(find("[data-mention='5']").getAttribute("aria-pressed")).toBe("true");
  await click("[data-mention='5']");
  expect(model.get("mention")).toBeNull();
  expect(all(".attnw-coref-box")).toHaveLength(0);
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
  expect(text(".attnw-coref-readout")).toContain("✓ <b> (word 6) with weight 0.125, right");
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
  expect(all(".attnw-coref-antecedent")).toHaveLength(3);
  expect(all(".attnw-coref-choice")).toHaveLength(0);
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
