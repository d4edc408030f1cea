import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { groupsFor, PLANS, planFor } from "../src/explorer/arrangement.js";
import type { ExplorerContext, ExplorerState, Host } from "../src/explorer/explorer_types.js";
import { PANELS } from "../src/explorer/explorer_types.js";
import explorer from "../src/explorer/widget.js";
import { luminance } from "../src/shared/theme.js";
import type { RenderContext } from "../src/shared/types.js";
import { fakeModel } from "./fake_model.js";
import { frame, leave, mounted } from "./mounted.js";

let width = 1000;
beforeEach(() => {
  width = 1000;
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockImplementation(() => width);
});
afterEach(() => vi.restoreAllMocks());

const STACK = { name: "self", n_layers: 6, n_heads: 12, n_key_heads: 12, n_query: 5, n_key: 5 };

const EXAMPLES = [
  { name: "cats", text: "The cat sat.", pair: null },
  { name: "pairs", text: "Where is it?", pair: "It is here." },
];

const state = (change: Partial<ExplorerState> = {}): ExplorerState => ({
  selected: [[1, 3, "self"]],
  layer: 1,
  _error: "",
  text: "The cat sat.",
  pair: null,
  target: null,
  versus_text: null,
  tokens: [],
  hidden: [],
  quantity: "weights",
  unit: "tokens",
  scale: "absolute",
  disabled: [],
  method: "uniform",
  _quantities: ["weights"],
  panels: [...PANELS],
  tab: "strip",
  progress: {},
  _notes: {},
  _problems: {},
  _painted: false,
  _stacks: [STACK],
  _source: { model: "Bert", note: "", loss: "" },
  _shown: { text: "The cat sat.", pair: null, target: null, versus_text: null },
  example: null,
  _examples: EXAMPLES,
  _look: "",
  _effect_told: null,
  _way_out: "",
  _way_out_taken: 0,
  _second: "pair",
  _offer: "",
  _accepted: false,
  _sentence_asked: 0,
  _circle: "",
  grid: "anywidget:1",
  view: "anywidget:2",
  lens: null,
  head_map: null,
  strip: null,
  predictions: null,
  why: null,
  card: null,
  table: null,
  arcs: null,
  ...change,
});

/** The models of grid and view: of their own traits those that the controls show. */
const gridModel = () =>
  fakeModel({
    stack: "self",
    metric: null as string | null,
    filter: null,
    _metrics: null as object | null,
    _axes: {
      query: { special: ["cls", "", "sep"], text: ["[CLS]", "cat", "[SEP]"] },
      key: { special: [], text: [] },
    },
  });

const viewModel = () =>
  fakeModel({
    mode: "lines",
    arrangement: "one",
    of: "selected",
    top_mass: 0.8,
    renormalise: false,
    sentences: "all",
    _compared: [] as string[],
    _axes: {
      query: { special: ["cls", "", "sep"], text: ["[CLS]", "cat", "[SEP]"], segments: [0, 0, 0] },
      key: { special: ["cls", "", "sep"], text: ["[CLS]", "cat", "[SEP]"], segments: [0, 0, 0] },
    },
  });

/** A host whose widgets write their reference, and count how many are drawn. */
function hosting() {
  const grid = gridModel();
  const view = viewModel();
  const alive = new Set<string>();
  const asked: string[] = [];
  const host: Host = {
    getModel: async (reference) => (reference === "anywidget:1" ? grid : view),
    async getWidget(reference) {
      asked.push(reference);
      if (reference === "anywidget:broken") throw new Error("no such model");
      return {
        render({ el, signal }) {
          el.textContent = reference;
          alive.add(reference);
          signal.addEventListener("abort", () => alive.delete(reference));
        },
      };
    },
  };
  return { host, alive, asked, grid, view };
}

async function shown(change: Partial<ExplorerState> = {}) {
  const hosted = hosting();
  const widget = {
    render: (context: RenderContext<ExplorerState>) =>
      explorer().render({ ...context, host: hosted.host } as ExplorerContext),
  };
  const found = await mounted<ExplorerState>(widget, state(change));
  const panel = (name: string) => found.find(`[data-panel="${name}"]`);
  return { ...found, ...hosted, panel };
}

const tab = (el: HTMLElement, name: string) => {
  const found = el.querySelector<HTMLElement>(`[data-tab="${name}"]`);
  if (!found) throw new Error(`no tab ${name}`);
  return found;
};
const press = (node: HTMLElement, key: string, options: KeyboardEventInit = {}) =>
  node.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, ...options }));

/** What a reader types into a box. */
function type(area: HTMLTextAreaElement | undefined, text: string): void {
  if (!area) throw new Error("no box");
  area.value = text;
  area.dispatchEvent(new Event("input"));
}

test("each figure that there is is drawn in its panel; the others are not there", async () => {
  const { panel, alive, model } = await shown();
  expect(panel("grid").querySelector(".attnw-ex-slot")?.textContent).toBe("anywidget:1");
  expect(panel("view").hidden).toBe(false);
  for (const name of ["head_map", "strip", "table", "arcs"]) expect(panel(name).hidden).toBe(true);
  expect([...alive]).toEqual(["anywidget:1", "anywidget:2"]);
  expect(model.sent).toEqual([{ _painted: true }]);
  leave();
  expect(alive.size).toBe(0);
});

test("what is measured says so, then takes its place, once", async () => {
  const { panel, model, asked, find } = await shown({
    tab: "table",
    progress: { table: 0, head_map: 0 },
  });
  expect(panel("table").textContent).toContain("predicts relations");
  model.fromKernel({ progress: { table: 0.25 } });
  await frame();
  const line = panel("table").querySelector("[role=progressbar]");
  expect(line?.getAttribute("aria-valuenow")).toBe("25");
  expect(panel("head_map").hidden).toBe(true);
  model.fromKernel({ table: "anywidget:3", progress: {}, _notes: { table: "of this text alone" } });
  await frame();
  expect(panel("table").querySelector(".attnw-ex-slot")?.textContent).toBe("anywidget:3");
  expect(find(".attnw-ex-below .attnw-ex-note").textContent).toBe("of this text alone");
  expect(line?.hasAttribute("hidden")).toBe(true);
  model.fromKernel({ layer: 2 });
  await frame();
  expect(asked).toEqual(["anywidget:1", "anywidget:2", "anywidget:3"]);
});

test("a problem stands in the place of its figure", async () => {
  const { panel } = await shown({ tab: "table", _problems: { table: "no fast tokenizer" } });
  expect(panel("table").textContent).toContain("no fast tokenizer");
  const broken = await shown({ grid: "anywidget:broken" });
  expect(broken.panel("grid").textContent).toContain("could not be drawn: no such model");
});

test("Run and Ctrl+Enter send the text once; until it is read the old picture is dimmed", async () => {
  const { model, find, panel } = await shown();
  const area = find<HTMLTextAreaElement>("textarea");
  type(area, "A dog.");
  await frame();
  expect(find(".attnw-ex-run").classList.contains("attnw-ex-changed")).toBe(true);
  press(area, "Enter");
  expect(model.sent.at(-1)).toEqual({ _painted: true });
  press(area, "Enter", { ctrlKey: true });
  expect(model.sent.at(-1)).toEqual({ text: "A dog." });
  await frame();
  const slot = panel("grid").querySelector(".attnw-ex-slot");
  expect(slot?.getAttribute("aria-busy")).toBe("true");
  model.fromKernel({
    _shown: { text: "A dog.", pair: null, target: null, versus_text: null },
  });
  await frame();
  expect(slot?.getAttribute("aria-busy")).toBe("false");
  find("form").dispatchEvent(new Event("submit", { cancelable: true }));
  expect(model.sent).toHaveLength(2);
});

test("an error shows below the text, and the picture stays", async () => {
  const { model, find, panel, el } = await shown();
  model.fromKernel({ text: "too long", _error: "the text has 602 tokens" });
  await frame();
  expect(find("[role=alert]").textContent).toBe("the text has 602 tokens");
  expect(el.querySelector(".attnw-ex-failed")).not.toBeNull();
  expect(panel("grid").querySelector(".attnw-ex-slot")?.textContent).toBe("anywidget:1");
  expect(panel("grid").querySelector(".attnw-ex-slot")?.getAttribute("aria-busy")).toBe("false");
});

test("a second sentence can be added and taken away", async () => {
  const { model, find, el } = await shown();
  const [, second] = [...el.querySelectorAll("textarea")];
  find(".attnw-ex-quiet").click();
  expect(second?.hidden).toBe(false);
  type(second, "It slept.");
  find("form").dispatchEvent(new Event("submit", { cancelable: true }));
  expect(model.sent.at(-1)).toEqual({ pair: "It slept." });
  find(".attnw-ex-quiet").click();
  find("form").dispatchEvent(new Event("submit", { cancelable: true }));
  expect(model.sent.at(-1)).toEqual({ pair: null });
});

test("one detail is open; what was never opened is never drawn", async () => {
  const { model, panel, asked, el } = await shown({
    strip: "anywidget:3",
    arcs: "anywidget:6",
    _stacks: [{ ...STACK, n_layers: 24 }],
  });
  expect(asked).toEqual(["anywidget:1", "anywidget:2", "anywidget:3"]);
  expect(panel("strip").getAttribute("role")).toBe("tabpanel");
  expect(tab(el, "arcs").getAttribute("aria-selected")).toBe("false");
  tab(el, "arcs").click();
  expect(model.sent.at(-1)).toEqual({ tab: "arcs" });
  await frame();
  expect(tab(el, "arcs").getAttribute("aria-selected")).toBe("true");
  expect(tab(el, "arcs").getAttribute("aria-controls")).toBe(panel("arcs").id);
  expect(asked.at(-1)).toBe("anywidget:6");
  expect([panel("strip").hidden, panel("arcs").hidden, panel("grid").hidden]).toEqual([
    true,
    false,
    false,
  ]);
  press(tab(el, "arcs"), "ArrowRight");
  expect(model.sent.at(-1)).toEqual({ tab: "strip" });
  press(tab(el, "strip"), "End");
  expect(model.get("tab")).toBe("arcs");
});

test("panels that there are not have neither a tab nor a place", async () => {
  const { panel, el } = await shown({
    panels: ["view", "arcs"],
    strip: "anywidget:3",
    arcs: "anywidget:6",
  });
  expect([panel("grid").hidden, panel("view").hidden, panel("arcs").hidden]).toEqual([
    true,
    false,
    false,
  ]);
  expect([...el.querySelectorAll("[role=tab]")].map((node) => node.textContent)).toEqual(["arcs"]);
});

test("where there is little room one panel of all is open, and a tap on a head shows it", async () => {
  width = 456;
  const { panel, el, model } = await shown({ strip: "anywidget:3" });
  expect([...el.querySelectorAll("[role=tab]")].map((node) => node.textContent)).toEqual([
    "all heads",
    "one head",
    "metrics",
  ]);
  expect([panel("grid").hidden, panel("view").hidden, panel("strip").hidden]).toEqual([
    false,
    true,
    true,
  ]);
  const canvas = document.createElement("canvas");
  panel("grid").append(canvas);
  canvas.dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: true }));
  await frame();
  expect(panel("view").hidden).toBe(true);
  canvas.click();
  await frame();
  expect([panel("grid").hidden, panel("view").hidden]).toEqual([true, false]);
  model.fromKernel({ tab: "strip" });
  await frame();
  expect(panel("strip").hidden).toBe(true);
  tab(el, "strip").click();
  await frame();
  expect([panel("view").hidden, panel("strip").hidden]).toEqual([true, false]);
});

test.each([956, 1396])(
  "%s px have two lists of details, each with an open one; three columns always have the lens",
  async (room) => {
    width = room;
    const details = {
      lens: "anywidget:7",
      strip: "anywidget:3",
      head_map: "anywidget:4",
      table: "anywidget:5",
      arcs: "anywidget:6",
    };
    const { panel, el } = await shown(details);
    const hidden = () =>
      ["lens", "strip", "head_map", "table", "arcs"].map((name) => panel(name).hidden);
    const lens = room < 1340;
    expect(hidden()).toEqual([lens, false, true, false, true]);
    tab(el, "arcs").click();
    await frame();
    expect(hidden()).toEqual([lens, false, true, true, false]);
    expect(el.querySelector('[data-tab="lens"]') === null).toBe(!lens);
  },
);

test.each([
  [356, 6, 12, "one"],
  [726, 6, 12, "under"],
  [996, 6, 12, "under"],
  [1396, 6, 12, "three"],
  [996, 12, 12, "under"],
  [1396, 12, 16, "three"],
  [726, 24, 16, "broad"],
  [996, 24, 16, "two"],
  [1396, 24, 16, "two"],
  [996, 32, 32, "broad"],
  [1396, 32, 32, "two"],
])("%s px with %s layers of %s heads are laid out as %s", (room, n_layers, n_heads, plan) => {
  expect(planFor(room, [{ n_layers, n_heads }])).toBe(plan);
});

test("a plan leaves no panel out", () => {
  for (const plan of PLANS) {
    const { fixed, groups } = groupsFor(plan, [...PANELS]);
    expect([...fixed, ...groups.flat()].sort()).toEqual([...PANELS].sort());
  }
});

test("an example is asked for with its text, in one message", async () => {
  const { model, find } = await shown({ example: "cats", _look: "the cat sits" });
  const select = find<HTMLSelectElement>(".attnw-ex-examples");
  const look = () => find(".attnw-ex-look").textContent;
  expect([select.value, look()]).toEqual(["cats", "the cat sits"]);
  select.value = "pairs";
  select.dispatchEvent(new Event("change"));
  expect(model.sent.at(-1)).toEqual({
    example: "pairs",
    text: "Where is it?",
    pair: "It is here.",
  });
  await frame();
  expect(find<HTMLTextAreaElement>("textarea").value).toBe("Where is it?");
  expect(look()).toBe("");
  model.fromKernel({
    _shown: { text: "Where is it?", pair: "It is here.", target: null, versus_text: null },
    _look: "there",
  });
  await frame();
  expect(look()).toBe("there");
  type(find<HTMLTextAreaElement>("textarea"), "A text of one's own.");
  await frame();
  expect([select.value, select.selectedOptions[0]?.textContent]).toEqual(["", "your text"]);
});

test("the present text is kept as A while another one is edited", async () => {
  const { model, find } = await shown();
  const area = find<HTMLTextAreaElement>("textarea");
  const compare = find(".attnw-ex-compare");
  expect(compare.hidden).toBe(true);
  type(area, "The dog sat.");
  await frame();
  expect(compare.hidden).toBe(false);
  compare.click();
  expect(model.sent.at(-1)).toEqual({ versus_text: "The dog sat." });
  await frame();
  expect([find(".attnw-ex-kept span").textContent, area.value]).toEqual([
    "The cat sat.",
    "The dog sat.",
  ]);
  type(area, "The dog ran.");
  find("form").dispatchEvent(new Event("submit", { cancelable: true }));
  expect(model.sent.at(-1)).toEqual({ versus_text: "The dog ran." });
  await frame();
  find(".attnw-ex-kept button").click();
  expect(model.sent.at(-1)).toEqual({ versus_text: null });
  await frame();
  expect(area.value).toBe("The cat sat.");
});

test("an error offers the way out, and the head that matters is switched off in a click", async () => {
  const { model, find } = await shown({ _error: "too long", _way_out: "read the first 512" });
  const way = find("[role=alert] button");
  expect([way.hidden, way.textContent]).toEqual([false, "read the first 512"]);
  way.click();
  expect(model.sent.at(-1)).toEqual({ _way_out_taken: 1 });
  model.fromKernel({ _error: "", _effect_told: { text: "Without L2 H11", head: [2, 11, "self"] } });
  await frame();
  const tell = find(".attnw-ex-tell");
  expect(tell.textContent).toBe("Without L2 H11");
  tell.click();
  expect(model.sent.at(-1)).toEqual({ disabled: [[2, 11, "self"]], tab: "predictions" });
});

test("of a kernel that is gone the line says so", async () => {
  const { find, el } = await shown({ _look: "the cat sits" });
  const root = el.querySelector<HTMLElement>(".attnw-ex-root");
  if (!root) throw new Error("no root");
  root.dataset.link = "lost";
  await frame();
  await frame();
  expect(find(".attnw-ex-look").textContent).toContain("The kernel does not answer");
});

test("relations that nobody measured are offered, and the sentence of the arcs can be read", async () => {
  const { model, panel } = await shown({ tab: "table", _offer: "measure on 115 sentences" });
  const offer = panel("table").querySelector<HTMLElement>(".attnw-ex-act");
  expect(offer?.textContent).toBe("measure on 115 sentences");
  offer?.click();
  expect(model.sent.at(-1)).toEqual({ _accepted: true });
  model.fromKernel({ _offer: "", tab: "arcs", table: "anywidget:5", arcs: "anywidget:6" });
  await frame();
  expect(offer?.hidden).toBe(true);
  const read = panel("arcs").querySelector<HTMLElement>(".attnw-ex-act");
  expect(read?.textContent).toBe("read this sentence above");
  read?.click();
  expect(model.sent.at(-1)).toEqual({ _sentence_asked: 1 });
});

test(
  "an encoder-decoder has a box for what its decoder reads, others that read one text " +
    "have none",
  async () => {
    const { el, model, find } = await shown({ _second: "target" });
    const [, second] = [...el.querySelectorAll("textarea")];
    expect([second?.hidden, second?.getAttribute("aria-label")]).toEqual([false, "target"]);
    type(second, "Die Katze");
    find("form").dispatchEvent(new Event("submit", { cancelable: true }));
    expect(model.sent.at(-1)).toEqual({ target: "Die Katze" });
    const causal = await shown({ _second: "" });
    expect(causal.find(".attnw-ex-quiet").hidden).toBe(true);
  },
);

test("the stepper and the brackets step the layer with the selection", async () => {
  const { model, find } = await shown();
  const [before, after] = [...find(".attnw-ex-stepper").querySelectorAll("button")];
  expect(find(".attnw-ex-stepper output").textContent).toBe("layer 1");
  after?.click();
  expect(model.sent.at(-1)).toEqual({ layer: 2, selected: [[2, 3, "self"]] });
  await frame();
  before?.click();
  press(find(".attnw-ex-run"), "[");
  expect(model.get("layer")).toBe(0);
  await frame();
  expect(before?.disabled).toBe(true);
  press(find("textarea"), "]");
  expect(model.get("layer")).toBe(0);
});

test.each([
  ["rgb(255, 255, 255)", 1],
  ["rgba(0, 0, 0, 0)", undefined],
  ["color(srgb 1 1 1)", 1],
  ["color(srgb 0 0 0 / 0.2)", undefined],
  ["oklch(0.97 0.01 250)", 0.97],
  ["lab(50 0 0)", 0.5],
  ["", undefined],
])("%s is %s light", (colour, light) => {
  if (light === undefined) expect(luminance(colour)).toBeUndefined();
  else expect(luminance(colour)).toBeCloseTo(light);
});
