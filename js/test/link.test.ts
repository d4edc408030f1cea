import { render } from "lit-html";
import { describe, expect, test, vi } from "vitest";
import type { ExplorerState } from "../src/explorer/explorer_types.js";
import { linkControl } from "../src/explorer/link/link_control.js";
import { withLinkCut } from "../src/explorer/link/link_guess.js";
import { linkLines } from "../src/explorer/link/link_line.js";
import { linkNote } from "../src/explorer/link/link_note.js";
import {
  extentOf,
  headOf,
  includes,
  lockedLink,
  scopeOf,
  scopeText,
} from "../src/explorer/link/link_state.js";
import { withScaledLink } from "../src/explorer/link/scaled_reading.js";
import { arcsOf, marksOf, numberOf } from "../src/explorer/sentence/arcs.js";
import { afterName, guessOf } from "../src/explorer/sentence/guess.js";
import { lineOf, lineText } from "../src/explorer/sentence/line.js";
import { readingOf } from "../src/explorer/sentence/reading.js";
import type { PredictionState, ScaledLink } from "../src/prediction_view/state.js";
import { THEMES } from "../src/shared/theme.js";
import type { Head } from "../src/shared/types.js";
import { fakeModel } from "./fake_model.js";
import { gridState } from "./grid_state.js";
import { tileOf, viewState } from "./view_state.js";
import { wireOf } from "./wire_of.js";

const TEXT = ["[CLS]", "the", "captain", "that", "he", "left", "[SEP]"];
const N = TEXT.length;
const [HE, THAT] = [4, 3];
const [LAYERS, HEADS] = [2, 2];
const SHOWN: Head = [1, 1, "self"];
const STACK = { name: "self", n_layers: LAYERS, n_heads: HEADS, n_key_heads: HEADS };
const axis = {
  text: TEXT,
  raw: TEXT,
  special: ["cls", "", "", "", "", "", "sep"],
  prompt: 0,
} as never;
const AXES = { stack: "self", unit: "words", query: axis, key: axis } as never;
/** Weights of the shown head: "he" gives "that" 25 %. */
const WEIGHTS = Float32Array.from(
  TEXT.flatMap((_, i) =>
    i === HE ? [0.3, 0.1, 0.15, 0.25, 0.1, 0.05, 0.05] : Array(N).fill(1 / N),
  ),
);
const PAIR: ExplorerState["tokens"] = [
  ["query", HE],
  ["key", THAT],
];
const rows = [
  { answer: "he", token: "he", before: 0.73, after: 0.29 },
  { answer: "they", token: "they", before: 0.05, after: 0.02 },
];
const scaled = (factor = 0, scope = "L1 H1"): ScaledLink => ({
  query: [HE],
  key: [THAT],
  factor,
  scope,
  name: "he→that",
});

/** Answers of two words with the link cut: in each head, in each layer, and in all heads. */
const CUTS = {
  of: [HE, THAT] as [number, number],
  unit: "words",
  stack: "self",
  tokens: ["he", "they"],
  before: wireOf(Float32Array.of(0.73, 0.05), [2]),
  everywhere: wireOf(Float32Array.of(0.4, 0.1), [2]),
  layers: wireOf(Float32Array.of(0.73, 0.05, 0.42, 0.1), [LAYERS, 2]),
  heads: wireOf(Float32Array.of(0.726, 0.05, 0.73, 0.05, 0.73, 0.05, 0.29, 0.02), [2, 2, 2]),
  others: 0.019,
  weights: wireOf(Float32Array.of(0.1, 0.1, 0.1, 0.56), [LAYERS, HEADS]),
};

interface Change {
  links?: ScaledLink[];
  asked?: ExplorerState["scaled_links"];
  tokens?: ExplorerState["tokens"];
  selected?: Head;
  predictions?: object;
  answered?: object;
}

/** Return the screen of the explorer with the kept pair "he" and "that". */
function screen(change: Change = {}) {
  const { links = [], asked = [], tokens = PAIR, selected = SHOWN } = change;
  const explorer = {
    selected: [selected],
    tokens,
    labels: [],
    disabled: [],
    scaled_links: asked,
    _shown: { text: "the captain that he left" },
    _tested: null,
    _name_links: null,
    _unknown: null,
  } as unknown as ExplorerState;
  const view = viewState({
    selected: [selected],
    unit: "words",
    tokens,
    hidden: ["cls", "sep"],
    _axes: AXES,
    _stacks: [{ ...STACK, n_query: N, n_key: N }],
    _tile: tileOf(wireOf(WEIGHTS, [N, N]), { head: selected, unit: "words" }),
  } as never);
  const grid = gridState({});
  const predictions = {
    tokens,
    unit: "words",
    _stacks: [{ ...STACK, n_query: N, n_key: N }],
    _effects: null,
    _link: { of: [HE, THAT], unit: "words", stack: "self", query: [HE], key: [THAT] },
    _cuts: CUTS,
    _predictions: {
      task: "masked",
      position: HE,
      own: null,
      piece: [1, 1],
      followed: "he",
      name: "he",
      rows,
      off: [],
      links,
      method: "uniform",
      masks: true,
      ...change.answered,
    },
    ...change.predictions,
  } as unknown as PredictionState;
  const read = readingOf({
    explorer,
    grid,
    view,
    predictions,
    peeked: null,
    pointed: null,
  } as never);
  if (!read) throw new Error("no reading");
  const link = lockedLink(read, predictions, explorer);
  const reading = withScaledLink(read, link) ?? read;
  const guess = withLinkCut(guessOf(reading, predictions), link, reading);
  const line = lineText(lineOf(reading, grid, guess, linkLines(reading, guess, link)));
  return { reading, link, guess, line: line.replaceAll("\u00a0", " ") };
}

describe("scopes", () => {
  test("of one head name it", () => {
    expect(headOf("L2 H11")).toEqual([2, 11, "self"]);
    expect(headOf("cross L2 H7")).toEqual([2, 7, "cross"]);
    expect(headOf("L2")).toBeUndefined();
    expect(headOf("cross all heads")).toBeUndefined();
  });
  test.each([
    ["head", "L1 H1", "L1 H1"],
    ["layer", "L1", "layer 1"],
    ["all", "all heads", "all 72 heads"],
  ] as const)("%s is %s", (extent, scope, text) => {
    expect(scopeOf(extent, SHOWN)).toBe(scope);
    expect(extentOf(scope)).toBe(extent);
    expect(scopeText(scope, 72)).toBe(text);
    expect(includes(scope, SHOWN)).toBe(true);
  });
  test("have the stack of encoder-decoders", () => {
    const head: Head = [2, 7, "cross"];
    expect(scopeOf("layer", head)).toBe("cross L2");
    expect(scopeText("cross L2")).toBe("cross layer 2");
    expect(includes("cross all heads", head)).toBe(true);
    expect(includes("cross L2", [2, 7, "decoder"])).toBe(false);
    expect(includes("L1 H1", [1, 11, "self"])).toBe(false);
  });
});

describe("before the cut", () => {
  test("the line has the weight in the pass that answers, and two scopes next to each other", () => {
    const { line } = screen();
    expect(line).toContain("“he” gives “that” 25 % of its attention");
    expect(line).toContain("Asked to guess “he”, this place is masked and gives “that” 56 %.");
    expect(line).toContain("Link cut in L1 H1: he 73 % → 29 %; in all heads: 40 %.");
    expect(line).not.toContain("because");
  });
  test("a model that masks nothing has one pass", () => {
    const { line } = screen({ answered: { masks: false } });
    expect(line).toContain("Asked to guess “he”, the model says he 73 %. Link cut in L1 H1");
    expect(line).not.toContain("masked");
  });
  test("a question about the complete text names no word, and one after its end the last word", () => {
    const ofText = screen({ answered: { masks: false, task: "class", position: -1 } }).line;
    expect(ofText).toContain(". The model says he 73 %. Link cut in L1 H1: he 73 % → 29 %;");
    const after = screen({ answered: { masks: false, task: "next", position: N } }).line;
    expect(after).toContain("After “[SEP]”, the model says he 73 %. Link cut in L1 H1");
    const cut = screen({
      links: [scaled()],
      answered: { masks: false, task: "class", position: -1 },
    }).line;
    expect(cut).toBe("In L1 H1, “he” cannot see “that”. The model says he 73 % → 29 %.");
    expect([ofText, after, cut].join()).not.toContain("“”");
  });
  test("bars show the answers with the link cut in the shown head", () => {
    const { guess, reading } = screen();
    expect(guess?.answers.map(({ after }) => after?.toFixed(2))).toEqual(["0.29", "0.02"]);
    expect(guess && afterName(guess, reading.head)).toBe("if the link is cut");
    expect(guess?.isOff).toBe(false);
  });
  test("a change below half a point is none", () => {
    const { line } = screen({ selected: [0, 0, "self"] });
    expect(line).toContain("Link cut in L0 H0: he 73 % as before; in all heads: 40 %.");
  });
  test("results stand next to each other with the other words as control", () => {
    const { link, reading, guess } = screen({ selected: [0, 0, "self"] });
    const el = document.createElement("div");
    const cut = vi.fn();
    render(linkNote(link, reading, guess, cut), el);
    expect(el.textContent?.replaceAll("\u00a0", " ").replace(/\s+/g, " ")).toBe(
      "link cut in L0 H0 no change · layer 0 no change · all 4 heads he 40 % · " +
        "most in one head: L1 H1 he 29 % · other words: median 2 points",
    );
    for (const button of el.querySelectorAll("button")) button.click();
    expect(cut.mock.calls.flat()).toEqual(["L0 H0", "L0", "all heads", "L1 H1"]);
    // A page without a kernel shows the results, which nothing can change.
    render(linkNote(link, reading, guess, undefined), el);
    expect(el.querySelector("button")).toBeNull();
    expect(el.textContent).toContain("other words: median 2 points");
  });
  test("answers that are not computed are left out", () => {
    const { line, guess } = screen({ predictions: { _cuts: { ...CUTS, heads: null } } });
    expect(line).toContain("gives “that” 56 %. Link cut in all heads: 40 %.");
    expect(guess?.answers.every(({ after }) => after === undefined)).toBe(true);
    expect(screen({ predictions: { _cuts: null } }).line).toContain("the model says he 73 %");
  });
});

describe("after the cut", () => {
  test.each([
    ["L1 H1", "In L1 H1, “he” cannot see “that”."],
    ["L1", "In layer 1, “he” cannot see “that”."],
    ["all heads", "In all 4 heads, “he” cannot see “that”."],
  ])("the line says it of %s", (scope, said) => {
    const { line } = screen({ links: [scaled(0, scope)] });
    expect(line).toBe(
      `${said} Asked to guess “he”, which is then masked, the model says he 73 % → 29 %.`,
    );
  });
  test("a link is strengthened", () => {
    const { line, guess, reading } = screen({ links: [scaled(4)] });
    expect(line).toContain("In L1 H1, “he” looks at “that” with 4 times the weight.");
    expect(guess && afterName(guess, reading.head)).toBe("link × 4");
  });
  test("an answer that overtakes the first one is named", () => {
    const overtaken = [rows[0], { answer: "they", token: "they", before: 0.05, after: 0.4 }];
    const { line } = screen({ links: [scaled()], answered: { rows: overtaken } });
    expect(line).toContain("says he 73 % → 29 %, they 5 % → 40 %.");
  });
  test.each([
    [0.732, "says he 73 % as before."],
    [0.7349, "says he 73 % as before."],
    [0.74, "says he 73 % → 74 %."],
  ])("a probability of %s", (after, said) => {
    const { line } = screen({ links: [scaled()], answered: { rows: [{ ...rows[0], after }] } });
    expect(line).toContain(said);
  });
  test("the arc is dashed and the word has 0 %, while other heads keep the weight", () => {
    const box = { x: 0, y: 60, width: 40, height: 27 };
    const boxOf = (_: string, at: number) => ({ ...box, x: 50 * at });
    const arc = (scope: string) => {
      const { reading } = screen({ links: [scaled(0, scope)] });
      const [own] = arcsOf(reading, boxOf, true, THEMES.light).filter(({ key }) => key === THAT);
      return { own, share: numberOf(reading, THAT), mark: marksOf(reading).get(THAT) };
    };
    expect(arc("L1").own?.look).toMatchObject({ isDashed: true, color: THEMES.light.wrong });
    expect(arc("L1").share).toBe(0);
    expect(arc("L1").mark).toEqual({ weight: 0, isNumbered: true });
    expect(arc("L0").own?.look.isDashed).toBeUndefined();
    expect(arc("L0").share).toBe(0.25);
  });
  test("links elsewhere, and several links, are named with the answers", () => {
    const other = { ...scaled(), query: [5], name: "left→that" };
    const { line, guess } = screen({ links: [scaled(), other] });
    expect(line).toContain("With he→that cut in L1 H1, left→that cut in L1 H1: he 29 %");
    expect(guess?.edits).toBe("links changed");
  });
});

describe("the control", () => {
  const control = (change: Partial<ExplorerState> = {}, of: Change = {}) => {
    const model = fakeModel({
      selected: [SHOWN],
      tokens: PAIR,
      scaled_links: of.asked ?? [],
      _source: { model: "", note: "", loss: "" },
      ...change,
    } as unknown as ExplorerState);
    const made = linkControl(model, () => {});
    const el = document.createElement("div");
    const draw = () => {
      made.show(screen({ ...of, asked: model.get("scaled_links") }).link);
      render(made.view(), el);
    };
    draw();
    const click = (name: string) => {
      const buttons = [...el.querySelectorAll("button")];
      buttons.find(({ textContent }) => textContent === name)?.click();
      draw();
    };
    return { model, made, el, draw, click };
  };
  const pressed = (el: HTMLElement) =>
    [...el.querySelectorAll("[aria-pressed=true]")].map(({ textContent }) => textContent);

  test("cuts, strengthens and undoes by mouse", () => {
    const { model, el, click } = control();
    expect(pressed(el)).toEqual(["as it is"]);
    const options = [...el.querySelectorAll("option")].map(({ textContent }) => textContent);
    expect(options).toEqual(["L1 H1", "layer 1", "all heads"]);
    click("cut");
    expect(model.get("scaled_links")).toEqual([[[HE], [THAT], 0, "L1 H1"]]);
    expect(pressed(el)).toEqual(["cut"]);
    click("4 ×");
    expect(model.get("scaled_links")).toEqual([[[HE], [THAT], 4, "L1 H1"]]);
    click("as it is");
    expect(model.get("scaled_links")).toEqual([]);
  });
  test("the choice of heads moves a cut, and is kept for the next one", () => {
    const { model, el, draw, click } = control();
    const choose = (value: string) => {
      const select = el.querySelector("select");
      if (!select) throw new Error("no select");
      select.value = value;
      select.dispatchEvent(new Event("change"));
      draw();
    };
    choose("L1");
    expect(model.get("scaled_links")).toEqual([]);
    click("cut");
    expect(model.get("scaled_links")).toEqual([[[HE], [THAT], 0, "L1"]]);
    choose("all heads");
    expect(model.get("scaled_links")).toEqual([[[HE], [THAT], 0, "all heads"]]);
  });
  test("keys", () => {
    const { model, made, draw } = control();
    expect(made.press("0") && made.press("x")).toBe(false);
    draw();
    expect(model.get("scaled_links")).toEqual([[[HE], [THAT], 0, "L1 H1"]]);
    expect(made.takeBack()).toBe(true);
    expect(made.takeBack()).toBe(false);
    expect(model.get("scaled_links")).toEqual([]);
  });
  test("a cut in a named head shows this head, and in a layer or all heads the head stays", () => {
    const { model, made } = control();
    made.cut()?.("L0");
    made.cut()?.("all heads");
    expect(model.get("selected")).toEqual([SHOWN]);
    made.cut()?.("L0 H1");
    expect(model.get("selected")).toEqual([[0, 1, "self"]]);
    expect(model.get("layer")).toBe(0);
    expect(model.get("scaled_links")).toEqual([[[HE], [THAT], 0, "L0 H1"]]);
  });
  test("the control names the head of a cut that is not the shown head", () => {
    const asked: ExplorerState["scaled_links"] = [[HE, THAT, 0, "L0 H1"]];
    const { el } = control({}, { asked });
    expect(el.querySelector("select")?.selectedOptions[0]?.textContent).toBe("L0 H1");
    const options = [...el.querySelectorAll("option")].map(({ textContent }) => textContent);
    expect(options).toEqual(["L0 H1", "L1 H1", "layer 1", "all heads"]);
  });
  test("changes of other links stay", () => {
    const other: ExplorerState["scaled_links"][number] = [5, 2, 0, "L0"];
    const asked: ExplorerState["scaled_links"] = [other, [HE, THAT, 0, "all heads"]];
    const { model, made } = control({}, { asked });
    made.press("1");
    expect(model.get("scaled_links")).toEqual([other]);
  });
  test.each([
    ["without a pair", {}, { tokens: [["query", HE]] as ExplorerState["tokens"] }],
    ["at another place", {}, { predictions: { _link: null } }],
    ["without a kernel", { _source: { model: "", note: "", loss: "", fixed: "no kernel" } }, {}],
  ])("is not there %s", (_, change, of) => {
    const { el, made, model } = control(change, of);
    expect(el.textContent?.trim()).toBe("");
    expect(made.press("0")).toBe(false);
    expect(made.cut()).toBeUndefined();
    expect(model.get("scaled_links")).toEqual([]);
  });
});
