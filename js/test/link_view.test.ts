import { describe, expect, test } from "vitest";
import { captionOf, panelsOf, tableOf, titleOf } from "../src/link_view/link_text.js";
import { drawPicture } from "../src/link_view/picture.js";
import { sceneOf } from "../src/link_view/scene.js";
import {
  type Answer,
  type Distances,
  isAsked,
  type Link,
  type LinkState,
  type Sources,
  type Vocabulary,
  type Wavelengths,
  type Why,
} from "../src/link_view/state.js";
import link from "../src/link_view/widget.js";
import { captionText } from "../src/shared/caption.js";
import { tableRuler } from "../src/shared/labels.js";
import { THEMES } from "../src/shared/theme.js";
import type { Head } from "../src/shared/types.js";
import { axes } from "./four_tokens.js";
import { frame, mounted } from "./mounted.js";
import { wireOf } from "./wire_of.js";

const HEAD: Head = [1, 0, "self"];
const ENDS = { head: HEAD, query: 1, key: 2, versus: 0, is_runner_up: true };
const LOCKS: LinkState["tokens"] = [
  ["query", 1],
  ["key", 2],
];
const LINK: Link = {
  ...ENDS,
  asked: { selected: [HEAD], tokens: LOCKS, hidden: [], unit: "tokens", versus: null },
  weight: 0.831,
  is_strongest: false,
  rivals: [
    [0, 0.1],
    [3, 0.069],
  ],
};
const answer = <T>(found: T | null, problem = ""): Answer<T> => ({ ...ENDS, problem, found });
const WEIGHTS = Float32Array.of(0.9, 0.831, 0.5, 0.2);
const SCORES = Float32Array.of(3, 2, 1, -1);

const state = (change: Partial<LinkState> = {}): LinkState => ({
  selected: [HEAD],
  layer: 1,
  tokens: LOCKS,
  hidden: [],
  quantity: "weights",
  unit: "tokens",
  disabled: [],
  method: "uniform",
  scale: "absolute",
  versus: null,
  distance: null,
  _axes: axes,
  _token_axes: axes,
  _error: "",
  _circle: "",
  _problem: "",
  _quantities: ["weights"],
  _source: { model: "BertModel", note: "", loss: "" },
  _stacks: [{ name: "self", n_layers: 2, n_heads: 2, n_key_heads: 2, n_query: 4, n_key: 4 }],
  _link: LINK,
  _why: answer({
    factors: [
      ["the word itself", Math.log(4), "× 4.0"],
      ["its place", Math.log(0.5), "× 0.50"],
      ["together", Math.log(2), "× 2.0"],
    ],
    finding: "In L1 H0, “cat” gives “sat” 83 %, 2.0 times the weight of a typical word.",
    rival: "a typical word",
    n_words: 2,
    written: "",
  }),
  _wavelengths: answer({
    parts: [
      ["turn of 6.28 tokens", 1.5],
      ["content", -0.25],
    ],
    rest: [3, 0.5],
    others: [["ALiBi", 0.367]],
    total: 2.117,
    log_ratio: 2.117,
    note: "",
  }),
  _distances: answer({
    first: 0,
    distance: 1,
    weights: wireOf(WEIGHTS, [4]),
    scores: wireOf(SCORES, [4]),
  }),
  _sources: answer({
    pairs: [
      ["embeddings × L0 H1", 1.2],
      ["L0 MLP × positions", -0.4],
    ],
    rest: [14, 0.95],
    total: 1.75,
    is_whole: false,
  }),
  _writes: answer({
    tokens: [
      [2, 0.83, 0.831],
      [0, -0.1, 0.1],
    ],
    rest: [2, 0.27, 0.069],
    layer_share: 0.4,
    note: "",
  }),
  _vocabulary: answer({
    promoted: [["mat", 3.25]],
    suppressed: [["dog", -1.5]],
    note: "",
  }),
  ...change,
});

const look = (width: number) => ({
  theme: THEMES.light,
  width,
  font: "Arial",
  ruler: tableRuler,
  density: 1,
});
const scene = (of: LinkState, width = 960) => {
  const found = sceneOf(of, look(width));
  if (!found) throw new Error("nothing to draw");
  return found;
};
const request = {
  width: 640,
  theme: THEMES.light,
  density: 1,
  blank: false,
  dense: false,
  brief: false,
  caption: false,
};

describe("what is shown", () => {
  test("the factors of the weight, with the sentence and a logarithmic axis", () => {
    expect(titleOf(state(), LINK)).toBe("L1 H0: “cat” → “sat” 83\u00a0%");
    const chosen = { ...LINK, is_runner_up: false };
    expect(titleOf(state(), chosen)).toBe("L1 H0: “cat” → “sat” 83\u00a0%, not “[CLS]” 10\u00a0%");
    const [why] = panelsOf(state(), LINK);
    expect(why?.title).toContain("2.0 times the weight of a typical word.");
    expect(why?.blocks[0]?.rows.map(({ label, text }) => `${label} ${text}`)).toEqual([
      "the word itself × 4.0",
      "its place × 0.50",
      "together × 2.0",
    ]);
    expect(why?.below.join("")).toContain("the geometric mean of the 2 other words");
    const [placed] = scene(state()).panels;
    const [block] = placed?.blocks ?? [];
    expect(block?.ticks.map(({ text }) => text)).toEqual(["× 0.5", "equal", "× 2"]);
    const at = block?.ticks.map(({ x }) => x) ?? [];
    expect(at[1]).toBe(block?.zero);
    expect((at[2] ?? 0) - (at[1] ?? 0)).toBeCloseTo((at[1] ?? 0) - (at[0] ?? 0));
  });

  test("the earlier heads and their words, only where they matter", () => {
    const found = state()._why?.found as Why;
    const written = "What earlier heads wrote there × 2.3: L0 H2 about “the” × 1.3.";
    const [open] = panelsOf(state({ _why: answer({ ...found, written }) }), LINK);
    expect(open?.below[0]).toBe(written);
    const texts = (shown: LinkState) => scene(shown).panels[0]?.lines.map(({ text }) => text) ?? [];
    const opened = texts(state({ _why: answer({ ...found, written }) })).join(" ");
    expect(opened).toContain("L0 H2 about “the” × 1.3");
    expect(texts(state()).join(" ")).not.toContain("about");
  });

  test("a factor beyond 100,000 ends at the edge, and the table has its value", () => {
    const why = state()._why?.found as Why;
    const far = state({ _why: answer({ ...why, factors: [["its place", 30, "> × 100,000"]] }) });
    const [block] = scene(far).panels[0]?.blocks ?? [];
    expect(block?.rows[0]?.value).toBeCloseTo(Math.log(1e5));
    expect(tableOf(far).rows[0]?.[2]).toBeCloseTo(Math.exp(30));
  });

  test("the wavelengths against a rival, and their sum as the log ratio", () => {
    const [, why] = panelsOf(state(), LINK);
    expect(why?.title).toBe("Why “sat” and not “[CLS]”, by wavelength");
    expect(why?.above).toEqual(["“[CLS]” is the other token with most weight."]);
    expect(why?.blocks[0]?.rows.map(({ label, text }) => `${label} ${text}`)).toEqual([
      "turn of 6.28 tokens +1.50",
      "ALiBi +0.37",
      "content −0.25",
      "3 others +0.50",
      "sum +2.12",
    ]);
    expect(why?.below[1]).toBe(
      "The sum is the log ratio of the weights: log (83.1\u00a0% / 10\u00a0%) = +2.12.",
    );
    const unturned = panelsOf(state({ _wavelengths: null }), LINK);
    expect(unturned.map(({ name }) => name)).toEqual(["why", "who wrote", "carried"]);
  });

  test("who wrote, what is carried, and words", () => {
    const [, , sources, carried] = panelsOf(state(), LINK);
    expect(sources?.above).toEqual([
      "Writer of the query × writer of the key, for “sat” and not “[CLS]”.",
    ]);
    expect(sources?.blocks[0]?.rows.at(-1)).toMatchObject({ label: "sum", text: "+1.75" });
    expect(sources?.below).toEqual([
      "",
      "The sum is the difference of scores before bias and soft cap.",
    ]);
    expect(carried?.above[0]).toBe(
      "“sat” is 83\u00a0% of what L1 H0 writes at “cat”. " +
        "The head is 40\u00a0% of what the heads of layer 1 write.",
    );
    expect(carried?.blocks.map(({ rows }) => rows.map(({ label }) => label))).toEqual([
      ["sat", "[CLS]", "2 others"],
      ["mat", "dog"],
    ]);
  });

  test("a refusal stands in the place of its numbers", () => {
    const refused = state({
      _why: answer<Why>(null, "only the weights are known"),
      _wavelengths: null,
      _sources: answer<Sources>(null, "quantized"),
      _vocabulary: answer<Vocabulary>(null, "no exact path"),
      _distances: answer<Distances>(null, "ask for layer 0"),
    });
    const [why, sources, carried] = panelsOf(refused, LINK);
    expect([why?.above, sources?.above]).toEqual([
      ["only the weights are known (docs: Why a head attends, Limits)."],
      ["quantized (docs: Why a head attends, Limits)."],
    ]);
    expect(carried?.below[0]).toBe("No words: no exact path (docs: What a head writes, Limits).");
    expect(scene(refused)).toMatchObject({
      curve: null,
      noCurve: "Other distances are not known: ask for layer 0 (docs: Why a head attends, Limits).",
    });
    expect(drawPicture(refused, request).sheet.pen.body).toContain("ask for layer 0");
  });

  test("answers about another link are waited for; a rival changes only those about it", () => {
    const other = { ...LINK, key: 3 };
    for (const { above, blocks } of panelsOf(state({ _wavelengths: null }), other)) {
      expect(above[0]).toContain("being asked");
      expect(blocks).toEqual([]);
    }
    const rival = panelsOf(state(), { ...LINK, versus: 3 });
    expect(rival.map(({ blocks }) => blocks.length)).toEqual([0, 0, 2]);
    const named = panelsOf(state(), { ...LINK, is_runner_up: false });
    expect(named.map(({ blocks }) => blocks.length)).toEqual([0, 0, 2]);
    expect(scene(state({ _link: other })).noCurve).toContain("being asked");
  });

  test("one to three columns, by the width; nothing beyond it", () => {
    for (const [width, columns] of [
      [300, 1],
      [464, 1],
      [700, 2],
      [1184, 3],
    ] as const) {
      const { panels, curve } = scene(state(), width);
      expect(new Set(panels.map(({ x }) => x)).size).toBe(columns);
      for (const panel of panels) {
        expect(panel.x + panel.width).toBeLessThanOrEqual(width);
        for (const { start, end, zero } of panel.blocks) {
          expect(end).toBeGreaterThan(start);
          expect(zero).toBeGreaterThanOrEqual(start);
          expect(zero).toBeLessThanOrEqual(end);
        }
      }
      expect(curve?.right).toBeLessThanOrEqual(width);
    }
  });

  test("the curve says the weight at the distance of the slider", () => {
    expect(scene(state()).curve?.readout).toBe(
      "1 token before the query: weight 83\u00a0%, score 2.",
    );
    const moved = scene(state({ distance: 3 })).curve;
    expect(moved?.readout).toBe(
      "3 tokens before the query: weight 20\u00a0%, score −1; in the text 83\u00a0%.",
    );
    expect(scene(state({ distance: 0 })).curve?.readout).toContain("At the place of the query");
    // This distance existed for another link, but not for this one.
    expect(scene(state({ distance: 40 })).curve?.at).toBe(1);
  });

  test("caption and table", () => {
    expect(captionText(captionOf(state()))).toContain(
      "L1 H0 (2-1) · “cat” → “sat” · factors of the weight, relative to a typical word",
    );
    const { rows } = tableOf(state());
    expect(rows).toContainEqual(["sum", "wavelengths", 2.117]);
    expect(rows[0]?.slice(0, 2)).toEqual(["the word itself", "why"]);
    expect(rows[0]?.[2]).toBeCloseTo(4);
    expect(rows).toContainEqual(["mat", "words", 3.25]);
    expect(tableOf(state({ _link: null })).rows).toEqual([]);
  });

  test("a link is asked for until an option names another", () => {
    expect(isAsked(LINK, state())).toBe(true);
    expect(isAsked(LINK, state({ tokens: [["key", 1], ...LOCKS] }))).toBe(true);
    for (const change of [
      { tokens: [["query", 1]] },
      { selected: [[0, 1, "self"]] },
      { versus: 3 },
      { unit: "words" },
      { hidden: ["cls"] },
    ])
      expect(isAsked(LINK, state(change as Partial<LinkState>))).toBe(false);
  });
});

describe("on a page", () => {
  /** The fake model has no `send`, so add it to simulate a kernel. */
  const alive = {
    render(context: Parameters<ReturnType<typeof link>["render"]>[0]) {
      Object.assign(context.model, { send: () => {} });
      link().render(context);
    },
  };

  test("the slider redraws without a message, and the kernel hears of its end", async () => {
    const { model, find } = await mounted(alive, state());
    const slider = find<HTMLInputElement>("input[type=range]");
    expect([slider.max, slider.value]).toEqual(["3", "1"]);
    for (const value of ["2", "3"]) {
      slider.value = value;
      slider.dispatchEvent(new Event("input"));
      await frame();
      expect(slider.getAttribute("aria-valuetext")).toContain(`${value} tokens before`);
    }
    expect(model.sent).toEqual([]);
    slider.dispatchEvent(new Event("change"));
    expect(model.sent).toEqual([{ distance: 3 }]);
  });

  test("link, rival and head are chosen from the controls", async () => {
    const { model, find } = await mounted(alive, state());
    const choose = (name: string, value: string) => {
      const chosen = find<HTMLSelectElement>(`[data-control="${name}"]`);
      chosen.value = value;
      chosen.dispatchEvent(new Event("change"));
    };
    choose("against", "3");
    choose("to", "3 [SEP]");
    find<HTMLButtonElement>("[aria-label='next head']").click();
    expect(model.sent).toEqual([
      { versus: 3 },
      {
        tokens: [
          ["query", 1],
          ["key", 3],
        ],
      },
      { selected: [[1, 1, "self"]] },
    ]);
  });

  test("Escape takes back the distance, the rival, then the locks", async () => {
    const { model, find } = await mounted(alive, state({ distance: 3, versus: 3 }));
    for (let i = 0; i < 3; i++)
      find(".attnw-root").dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
    expect(model.sent).toEqual([{ distance: null }, { versus: null }, { tokens: [["query", 1]] }]);
  });

  test("another link dims the figure until the kernel has answered", async () => {
    const { model, el } = await mounted(alive, state());
    expect(el.querySelector(".attnw-why-stale")).toBeNull();
    model.fromKernel({ tokens: [["query", 3]] });
    await frame();
    expect(el.querySelector(".attnw-why-stale")).not.toBeNull();
  });

  test("without a kernel the page says that it holds one link", async () => {
    const { model, find } = await mounted(link(), state());
    expect(find<HTMLElement>(".attnw-controls").hidden).toBe(true);
    expect(find<HTMLElement>(".attnw-why-held").hidden).toBe(true);
    model.fromKernel({ selected: [[0, 0, "self"]] });
    await frame();
    expect(find(".attnw-why-held").textContent).toContain("This page holds one link, L1 H0");
    model.fromKernel({ _link: null, selected: [] });
    await frame();
    expect(find(".attnw-message").textContent).toContain("Select a head");
  });
});

test("a rest that is larger than the parts is said, a long reason is one line", () => {
  const found = state()._wavelengths?.found as Wavelengths;
  const of = (parts: Partial<Wavelengths>) =>
    panelsOf(state({ _wavelengths: answer({ ...found, ...parts }) }), LINK)[1];
  expect(of({ rest: [54, -3] })?.below[0]).toMatch(/^The 54 others outweigh the parts/);
  expect(of({ rest: [54, 2] })?.below[0]).toBe("");
  const none = of({ parts: [["content", 0]], others: [], rest: [0, 0], total: 0 });
  expect([none?.blocks, none?.above[0]]).toEqual([[], "No part makes a difference."]);
  const long = state({ _sources: answer<Sources>(null, "no scores: the weights. Read again") });
  expect(panelsOf(long, LINK)[2]?.above).toEqual(["no scores (docs: Why a head attends, Limits)."]);
  // Model names may contain parentheses, and the next step must stay.
  const step = "queries of BERT (a copy) do not turn. A key cannot be moved: ask for layer 0";
  const next = panelsOf(state({ _sources: answer<Sources>(null, step) }), LINK)[2];
  expect(next?.above).toEqual([
    "queries of BERT (a copy) do not turn: ask for layer 0 (docs: Why a head attends, Limits).",
  ]);
});
