import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { groupsFor, leftWidth, planFor } from "../src/explorer/arrangement.js";
import type { ExplorerContext, ExplorerState, Host } from "../src/explorer/explorer_types.js";
import { PANELS } from "../src/explorer/explorer_types.js";
import explorer from "../src/explorer/widget.js";
import { luminance } from "../src/shared/theme.js";
import type { RenderContext } from "../src/shared/types.js";
import { fakeModel } from "./fake_model.js";
import { axes, weights } from "./four_tokens.js";
import { gridState } from "./grid_state.js";
import { frame, leave, mounted } from "./mounted.js";
import { tileOf, viewState } from "./view_state.js";
import { wireOf } from "./wire_of.js";

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
  scaled_links: [],
  method: "uniform",
  _quantities: ["weights"],
  panels: [...PANELS],
  tab: null,
  progress: {},
  _notes: {},
  _problems: {},
  _painted: false,
  _stacks: [STACK],
  _source: { model: "Bert", note: "", loss: "" },
  _shown: { text: "The cat sat.", pair: null, target: null, versus_text: null },
  example: null,
  _examples: EXAMPLES,
  _tested: [],
  _name_links: null,
  _unknown: null,
  _without_model: "",
  _way_out: "",
  _way_out_taken: 0,
  _second: "pair",
  _offers: {},
  _accepted: "",
  _sentence_asked: 0,
  _circle: "",
  grid: "anywidget:1",
  view: "anywidget:2",
  head_scatter: null,
  predictions: null,
  why: null,
  card: null,
  table: null,
  arcs: null,
  ...change,
});

/** Create the models of grid and view with four tokens. */
const gridModel = () =>
  fakeModel(gridState({ metric: null as string | null, filter: null, cells: "maps" }));

const viewModel = () =>
  fakeModel(
    viewState({
      selected: [[1, 3, "self"]],
      _tile: tileOf(wireOf(Float32Array.from(weights.flat()), [4, 4]), { head: [1, 3, "self"] }),
      _axes: axes,
    }),
  );

/** Return a host whose widgets render their reference and count how many are drawn. */
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

/** Type a text into a box. */
function type(area: HTMLTextAreaElement | undefined, text: string): void {
  if (!area) throw new Error("no box");
  area.value = text;
  area.dispatchEvent(new Event("input"));
}

test("each figure that there is is drawn in its panel; the others are not there", async () => {
  const { panel, alive, model } = await shown();
  expect(panel("grid").querySelector(".attnw-ex-slot")?.textContent).toBe("anywidget:1");
  expect(panel("view").hidden).toBe(false);
  for (const name of ["head_scatter", "table", "arcs"]) expect(panel(name).hidden).toBe(true);
  expect([...alive]).toEqual(["anywidget:1", "anywidget:2"]);
  expect(model.sent).toEqual([{ _painted: true }]);
  leave();
  expect(alive.size).toBe(0);
});

test("what is measured says so, then takes its place, once", async () => {
  const { panel, model, asked, find } = await shown({
    tab: "table",
    progress: { table: 0, head_scatter: 0 },
  });
  expect(panel("table").textContent).toContain("predicts relations");
  model.fromKernel({ progress: { table: 0.25 } });
  await frame();
  const line = panel("table").querySelector("[role=progressbar]");
  expect(line?.getAttribute("aria-valuenow")).toBe("25");
  expect(panel("head_scatter").hidden).toBe(true);
  model.fromKernel({ table: "anywidget:3", progress: {}, _notes: { table: "of this text alone" } });
  await frame();
  expect(panel("table").querySelector(".attnw-ex-slot")?.textContent).toBe("anywidget:3");
  expect(find(".attnw-ex-note").textContent).toBe("of this text alone");
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

test("Run and Enter send the text once; until it is read the old picture is dimmed", async () => {
  const { model, find, panel } = await shown();
  const form = find("form");
  expect(form.hidden).toBe(true);
  find(".attnw-ex-edit").click();
  expect(form.hidden).toBe(false);
  const area = find<HTMLTextAreaElement>("textarea");
  type(area, "A dog.");
  await frame();
  expect(find(".attnw-ex-run").classList.contains("attnw-ex-changed")).toBe(true);
  press(area, "Enter", { shiftKey: true });
  expect(model.sent.at(-1)).toEqual({ _painted: true });
  press(area, "Enter");
  expect(model.sent.at(-1)).toEqual({ text: "A dog." });
  await frame();
  expect(form.hidden).toBe(true);
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

test("Escape leaves the box, and what was typed is dropped", async () => {
  const { model, find } = await shown();
  find(".attnw-ex-edit").click();
  const area = find<HTMLTextAreaElement>("textarea");
  type(area, "A dog.");
  press(area, "Escape");
  await frame();
  expect([find("form").hidden, area.value]).toEqual([true, "The cat sat."]);
  expect(model.sent).toHaveLength(1);
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
  find(".attnw-ex-actions .attnw-ex-quiet").click();
  expect(second?.hidden).toBe(false);
  type(second, "It slept.");
  find("form").dispatchEvent(new Event("submit", { cancelable: true }));
  expect(model.sent.at(-1)).toEqual({ pair: "It slept." });
  find(".attnw-ex-actions .attnw-ex-quiet").click();
  find("form").dispatchEvent(new Event("submit", { cancelable: true }));
  expect(model.sent.at(-1)).toEqual({ pair: null });
});

test("the row more is closed at first; what was never opened is never drawn", async () => {
  const { model, panel, find, asked, el } = await shown({
    table: "anywidget:3",
    arcs: "anywidget:6",
  });
  const more = find(".attnw-ex-bottom [aria-expanded]");
  expect([more.textContent, find(".attnw-ex-details").hidden]).toEqual(["more ▸", true]);
  expect(asked).toEqual(["anywidget:1", "anywidget:2"]);
  more.click();
  expect(model.sent.at(-1)).toEqual({ tab: "table" });
  await frame();
  expect(panel("table").getAttribute("role")).toBe("tabpanel");
  expect(tab(el, "arcs").getAttribute("aria-selected")).toBe("false");
  tab(el, "arcs").click();
  expect(model.sent.at(-1)).toEqual({ tab: "arcs" });
  await frame();
  expect(tab(el, "arcs").getAttribute("aria-selected")).toBe("true");
  expect(tab(el, "arcs").getAttribute("aria-controls")).toBe(panel("arcs").id);
  expect(asked.at(-1)).toBe("anywidget:6");
  expect([panel("table").hidden, panel("arcs").hidden, panel("grid").hidden]).toEqual([
    true,
    false,
    false,
  ]);
  press(tab(el, "arcs"), "ArrowRight");
  expect(model.sent.at(-1)).toEqual({ tab: "table" });
  press(tab(el, "table"), "End");
  expect(model.get("tab")).toBe("arcs");
  await frame();
  more.click();
  expect(model.sent.at(-1)).toEqual({ tab: null });
  await frame();
  expect(panel("arcs").hidden).toBe(true);
  // The button reopens the detail that was open last.
  more.click();
  expect(model.sent.at(-1)).toEqual({ tab: "arcs" });
});

test("panels that there are not have neither a tab nor a place", async () => {
  const { panel, el } = await shown({
    panels: ["view", "arcs"],
    table: "anywidget:3",
    arcs: "anywidget:6",
    tab: "arcs",
  });
  expect([panel("grid").hidden, panel("view").hidden, panel("arcs").hidden]).toEqual([
    true,
    false,
    false,
  ]);
  expect([...el.querySelectorAll("[role=tab]")].map((node) => node.textContent)).toEqual(["arcs"]);
});

test.each([
  [356, 12, "one", 356],
  [726, 12, "two", 450],
  [1034, 12, "two", 594],
  [1034, 30, "two", 661],
  [1396, 12, "two", 802],
  [1034, 4, "two", 517],
  // Cells that are too narrow for words are strips, which leave more space for the lines.
  [603, 12, "two", 320],
  [603, 8, "two", 363],
  [560, 16, "two", 320],
  [700, 16, "two", 404],
])("%s px with %s columns are laid out as %s", (room, columns, plan, left) => {
  expect(planFor(room)).toBe(plan);
  expect(leftWidth(room, columns)).toBe(left);
});

test("a plan leaves no panel out", () => {
  const { fixed, details } = groupsFor([...PANELS]);
  expect([...fixed, ...details].sort()).toEqual([...PANELS].sort());
});

test("an example is asked for with its text, in one message", async () => {
  const { model, find } = await shown({ example: "cats" });
  const select = find<HTMLSelectElement>(".attnw-ex-examples");
  const look = () => find(".attnw-ex-look").textContent;
  expect(select.value).toBe("cats");
  expect(look()).toContain("In L1 H3, the strongest link is “cat” to “sat” (83");
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
  });
  await frame();
  expect(look()).not.toBe("");
  type(find<HTMLTextAreaElement>("textarea"), "A text of one's own.");
  await frame();
  expect([select.value, select.selectedOptions[0]?.textContent]).toEqual(["", "your text"]);
});

test("a click locks a word, a second one makes a pair, and Escape takes both back", async () => {
  const { model, find } = await shown();
  const word = (at: number) => find(`[data-word="query-${at}"]`);
  const last = () => model.sent.at(-1);
  word(1).dispatchEvent(new Event("pointermove"));
  await frame();
  expect(find(".attnw-ex-look").textContent).toContain("“cat” looks at “sat” (83");
  expect(model.sent).toHaveLength(1);
  word(1).click();
  expect(last()).toEqual({ tokens: [["query", 1]] });
  await frame();
  word(2).click();
  expect(last()).toEqual({
    tokens: [
      ["query", 1],
      ["key", 2],
    ],
  });
  await frame();
  expect(find(".attnw-ex-look").textContent).toContain("“cat” gives “sat” 83");
  expect(word(2).getAttribute("aria-pressed")).toBe("true");
  press(word(2), "Escape");
  expect(last()).toEqual({ tokens: [["query", 1]] });
  press(word(2), "Escape");
  expect(last()).toEqual({ tokens: [] });
  model.fromKernel({ disabled: [[1, 3, "self"]] });
  await frame();
  press(word(2), "Escape");
  expect(last()).toEqual({ disabled: [] });
});

test("the word of the story is locked as if it were clicked, and Escape unlocks it", async () => {
  const { model, find } = await shown();
  const word = (at: number) => find(`[data-word="query-${at}"]`);
  const screen = () => [
    find(".attnw-ex-look").textContent,
    find(".attnw-ex-left h4").textContent,
    find(".attnw-ex-sentence").textContent,
  ];
  word(1).click();
  await frame();
  const clicked = screen();
  word(1).click();
  await frame();
  expect(screen()).not.toEqual(clicked);
  model.fromKernel({ tokens: [["query", 1]] });
  await frame();
  expect(screen()).toEqual(clicked);
  word(2).click();
  expect(model.sent.at(-1)).toEqual({
    tokens: [
      ["query", 1],
      ["key", 2],
    ],
  });
  model.fromKernel({ tokens: [["query", 1]] });
  press(word(2), "Escape");
  expect(model.sent.at(-1)).toEqual({ tokens: [] });
});

test("a pointer that rests on a word does not win over the story", async () => {
  const { model, find } = await shown();
  const word = (at: number) => find(`[data-word="query-${at}"]`);
  const line = () => find(".attnw-ex-look").textContent;
  model.fromKernel({ tokens: [["query", 1]] });
  await frame();
  const story = line();
  expect(story).toContain("“cat” looks at “sat”");
  word(2).dispatchEvent(new Event("pointerenter"));
  await frame();
  expect(line()).toBe(story);
  word(2).dispatchEvent(new Event("pointermove"));
  await frame();
  expect(line()).toContain("“sat” looks at");
});

test("after a click the line is about what is locked, while the pointer rests on the word", async () => {
  const { model, find } = await shown();
  const word = (at: number) => find(`[data-word="query-${at}"]`);
  const line = () => find(".attnw-ex-look").textContent;
  model.fromKernel({ tokens: [["query", 1]] });
  await frame();
  word(2).dispatchEvent(new Event("pointermove"));
  word(2).click();
  await frame();
  expect(line()).toContain("“cat” gives “sat” 83");
  word(2).dispatchEvent(new Event("pointermove"));
  await frame();
  expect(line()).toContain("“cat” gives “sat” 83");
  word(3).dispatchEvent(new Event("pointermove"));
  word(2).dispatchEvent(new Event("pointermove"));
  await frame();
  expect(line()).toContain("“sat” looks at");
});

test("the arrow keys move between the words of the sentence", async () => {
  const { find, el } = await shown();
  const now = () => el.querySelector('[data-word][tabindex="0"]')?.getAttribute("data-word");
  const toolbar = find('[role="toolbar"]');
  expect(now()).toBe("query-0");
  press(toolbar, "ArrowRight");
  expect(now()).toBe("query-1");
  press(toolbar, "End");
  expect(now()).toBe("query-3");
  press(toolbar, "ArrowLeft");
  expect(now()).toBe("query-2");
  press(toolbar, "Home");
  expect(now()).toBe("query-0");
});

test("a text stands before the sound that it looks at, and after a text", async () => {
  const { view, el } = await shown();
  const order = async (placed?: boolean[]) => {
    const key = { ...axes.key, text: ["s0", "s1"], raw: ["s0", "s1"], special: ["", ""], placed };
    view.fromKernel({ _axes: { ...axes, key } });
    await frame();
    return [...el.querySelectorAll(".attnw-ex-words")].map((row) =>
      row.querySelector("[data-word]")?.getAttribute("data-word"),
    );
  };
  expect(await order()).toEqual(["key-0", "query-0"]);
  expect(await order([true, true])).toEqual(["query-0", "key-0"]);
  const names = Array.from({ length: 101 }, (_, i) => `s${i}`);
  const key = { ...axes.key, text: names, raw: names, special: names.map(() => "") };
  view.fromKernel({ _axes: { ...axes, key: { ...key, placed: names.map(() => true) } } });
  await frame();
  expect(el.querySelectorAll(".attnw-ex-words")).toHaveLength(1);
});

test("of a chat, roles stand before lines, the template is dots, and the end and the locked word are in sight", async () => {
  vi.spyOn(HTMLElement.prototype, "offsetTop", "get").mockReturnValue(400);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(112);
  const { view, model, find, el } = await shown();
  const axis = {
    ...axes.query,
    text: ["<s>", "Hi", "<|end|>", "Hello"],
    raw: ["<s>", "Hi", "<|end|>", "Hello"],
    special: ["first", "", "other", ""],
    roles: ["template", "user", "template", "assistant"],
    turns: [null, 0, null, 1],
  };
  view.fromKernel({ _axes: { ...axes, query: axis, key: axis } });
  await frame();
  const names = [...el.querySelectorAll(".attnw-ex-words .attnw-ex-row-name")];
  expect(names.map((name) => name.textContent)).toEqual(["user", "assistant"]);
  const dot = find('[data-word="query-2"]');
  expect([dot.textContent?.trim(), dot.title, dot.className]).toEqual([
    "·",
    "<|end|>",
    "attnw-ex-word attnw-ex-folded",
  ]);
  expect(dot.getAttribute("aria-label")).toBe("<|end|>, of the chat template");
  const list = find('[role="toolbar"]');
  expect(list.scrollTop).toBeGreaterThan(300);
  list.scrollTop = 0;
  model.fromKernel({ tokens: [["query", 3]] });
  await frame();
  expect(list.scrollTop).toBeGreaterThan(300);
  // The list must not scroll back after the user scrolls away from the word.
  list.scrollTop = 20;
  model.fromKernel({ labels: [] });
  await frame();
  expect(list.scrollTop).toBe(20);
});

test("a chat without an answer ends in the line of the answer, and all its roles are in sight", async () => {
  const { view, el, find } = await shown();
  const turns = Array.from({ length: 6 }, (_, turn) => ({
    text: ["<|start|>", `word${turn}`, "<|end|>"],
    roles: ["template", turn % 2 ? "assistant" : "user", "template"],
    turns: [null, turn, null],
  }));
  turns.push({
    text: ["<|start|>", "last", "<|end|>"],
    roles: ["template", "user", "template"],
    turns: [null, 6, null],
  });
  const text = turns.flatMap((turn) => turn.text);
  const axis = {
    ...axes.query,
    text,
    raw: text,
    special: text.map((token) => (token.startsWith("<") ? "other" : "")),
    segments: text.map(() => 0),
    roles: turns.flatMap((turn) => turn.roles),
    turns: turns.flatMap((turn) => turn.turns),
  };
  view.fromKernel({ _axes: { ...axes, query: axis, key: axis } });
  await frame();
  const roles = [
    "user",
    "assistant",
    "user",
    "assistant",
    "user",
    "assistant",
    "user",
    "assistant",
  ];
  const texts = (nodes: NodeListOf<Element>) => [...nodes].map((node) => node.textContent);
  expect(texts(el.querySelectorAll(".attnw-ex-words .attnw-ex-row-name"))).toEqual(roles);
  expect(texts(el.querySelectorAll(".attnw-ex-roles button"))).toEqual(roles);
  const last = find(`[data-word="query-${text.length - 1}"]`);
  expect(last.previousElementSibling?.textContent).toBe("assistant");
  // Each button scrolls to its message.
  vi.spyOn(HTMLElement.prototype, "offsetTop", "get").mockReturnValue(400);
  find(".attnw-ex-roles button").click();
  expect(find('[role="toolbar"]').scrollTop).toBeGreaterThan(300);
});

test("a text scrolls only where several of its lines are out of sight", async () => {
  const { view, find } = await shown();
  const show = async (count: number) => {
    const text = Array(count).fill("captain");
    const axis = {
      ...axes.query,
      text,
      raw: text,
      special: text.map(() => ""),
      segments: text.map(() => 0),
    };
    view.fromKernel({ _axes: { ...axes, query: axis, key: axis } });
    await frame();
    return find(".attnw-ex-sentence").classList.contains("attnw-ex-scrolling");
  };
  const scrolls = [];
  for (const count of [40, 80, 200]) scrolls.push(await show(count));
  expect(scrolls).toEqual([false, false, true]);
});

test("the power button and x switch the head off and on", async () => {
  const { model, find } = await shown();
  const power = find(".attnw-ex-power");
  power.click();
  expect(model.sent.at(-1)).toEqual({ disabled: [[1, 3, "self"]] });
  await frame();
  expect([power.getAttribute("aria-pressed"), power.textContent?.trim()]).toEqual([
    "true",
    "switch on",
  ]);
  expect(find(".attnw-ex-look").textContent).toContain("L1 H3 is off: it looks nowhere");
  press(find(".attnw-ex-look"), "x");
  expect(model.sent.at(-1)).toEqual({ disabled: [] });
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

test("the maps of a comparison are chosen once, for all heads and for the shown head", async () => {
  const { el, grid, view } = await shown();
  const choice = () => el.querySelector<HTMLElement>("h4 [role=group]");
  expect(choice()).toBeNull();
  grid.fromKernel({ _compared: ["here", "there"] });
  view.fromKernel({ _compared: ["here", "there"], comparison_part: "difference" });
  await frame();
  const buttons = () => [...(choice()?.querySelectorAll("button") ?? [])];
  const texts = () => buttons().map((button) => button.textContent);
  const pressed = () => buttons().map((button) => button.getAttribute("aria-pressed"));
  expect([choice()?.getAttribute("aria-label"), choice()?.title]).toEqual([
    "maps of A and B",
    "A: here · B: there",
  ]);
  expect(texts()).toEqual(["A − B", "A", "B"]);
  expect(pressed()).toEqual(["true", "false", "false"]);
  buttons()[2]?.click();
  await frame();
  expect([view.sent.at(-1), grid.sent.at(-1)]).toEqual([
    { comparison_part: "second" },
    { comparison_part: "second" },
  ]);
  expect(pressed()).toEqual(["false", "false", "true"]);
  // All three maps are offered only after Python sets them.
  view.fromKernel({ comparison_part: "all" });
  await frame();
  expect(texts()).toEqual(["all", "A − B", "A", "B"]);
});

test("an error offers the way out", async () => {
  const { model, find } = await shown({ _error: "too long", _way_out: "read the first 512" });
  const way = find("[role=alert] button");
  expect([way.hidden, way.textContent]).toEqual([false, "read the first 512"]);
  way.click();
  expect(model.sent.at(-1)).toEqual({ _way_out_taken: 1 });
});

test("of a kernel that is gone the line says so", async () => {
  const { find, el } = await shown();
  const root = el.querySelector<HTMLElement>(".attnw-ex-root");
  if (!root) throw new Error("no root");
  root.dataset.link = "lost";
  await frame();
  await frame();
  expect(find(".attnw-ex-look").textContent).toContain("The kernel does not answer");
});

test("relations that nobody measured are offered, and the sentence of the arcs can be read", async () => {
  const offers = { table: "measure on 115 sentences", arcs: "measure on 115 sentences" };
  const { model, panel } = await shown({ tab: "table", _offers: offers });
  const offer = panel("table").querySelector<HTMLElement>(".attnw-ex-act");
  expect(offer?.textContent).toBe("measure on 115 sentences");
  offer?.click();
  expect(model.sent.at(-1)).toEqual({ _accepted: "table" });
  model.fromKernel({ _offers: {}, tab: "arcs", table: "anywidget:5", arcs: "anywidget:6" });
  await frame();
  expect(offer?.hidden).toBe(true);
  const button = panel("arcs").querySelector<HTMLElement>(".attnw-ex-act");
  expect(button?.textContent).toBe("read this sentence above");
  button?.click();
  expect(model.sent.at(-1)).toEqual({ _sentence_asked: 1 });
});

test("heads without names are offered names, in the row below the figures and in their tab", async () => {
  const { model, panel, find } = await shown({ _offers: { card: "name the heads: 4 minutes" } });
  const way = find<HTMLButtonElement>(".attnw-ex-name");
  expect([way.hidden, panel("card").hidden]).toEqual([false, true]);
  way.click();
  await frame();
  expect([way.hidden, model.get("tab"), panel("card").hidden]).toEqual([true, "card", false]);
  expect(panel("card").textContent).toContain("What does every head of this model do?");
  panel("card").querySelector<HTMLElement>(".attnw-ex-act")?.click();
  expect(model.sent.at(-1)).toEqual({ _accepted: "card" });
  model.fromKernel({ _offers: {}, progress: { card: 0 } });
  await frame();
  expect(panel("card").textContent).toContain("Finding out what every head does");
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
    expect(causal.find(".attnw-ex-actions .attnw-ex-quiet").hidden).toBe(true);
  },
);

test("a model that hears has the box of the target alone", async () => {
  const { el } = await shown({ _second: "target", text: "" });
  const boxes = [...el.querySelectorAll("textarea")];
  expect(boxes.map(({ hidden }) => hidden)).toEqual([true, false]);
});

test("brackets step the layer with the selection, but not in a text", async () => {
  const { model, find } = await shown();
  press(find(".attnw-ex-run"), "]");
  expect(model.sent.at(-1)).toEqual({ layer: 2, selected: [[2, 3, "self"]] });
  press(find(".attnw-ex-run"), "[");
  press(find(".attnw-ex-run"), "[");
  press(find(".attnw-ex-run"), "[");
  expect(model.get("layer")).toBe(0);
  press(find("textarea"), "]");
  expect(model.get("layer")).toBe(0);
});

test("with a kept word, brackets step to the strongest head, also in the figures", async () => {
  const { model, grid, find } = await shown({ tokens: [["query", 1]] });
  const { n_layers, n_heads, name } = model.get("_stacks")[0] ?? { n_layers: 0, n_heads: 0 };
  const keys = grid.get("_axes").key.text.length;
  const values = new Float32Array(n_layers * n_heads * keys).fill(0.1);
  values[(2 * n_heads + 1) * keys + 1] = 0.6;
  grid.fromKernel({
    cells: "answers",
    tokens: [["query", 1]],
    _rows: {
      stack: name ?? "",
      unit: grid.get("unit"),
      quantity: "weights",
      side: "query",
      of: 1,
      values: wireOf(values, [n_layers, n_heads, keys]),
    },
  });
  const inner = document.createElement("div");
  const heard = vi.fn();
  inner.addEventListener("keydown", heard);
  find(".attnw-ex-slot").append(inner);
  press(inner, "]");
  expect(model.sent.at(-1)).toEqual({ layer: 2, selected: [[2, 1, "self"]] });
  expect(heard).not.toHaveBeenCalled();
});

test.each([
  ["rgb(255, 255, 255)", 1],
  ["rgba(0, 0, 0, 0)", undefined],
  ["color(srgb 1 1 1)", 1],
  ["color(srgb 0 0 0 / 0.2)", undefined],
  ["oklch(0.97 0.01 250)", 0.97],
  ["lab(50 0 0)", 0.5],
  ["", undefined],
])("%s is %s light", (color, light) => {
  if (light === undefined) expect(luminance(color)).toBeUndefined();
  else expect(luminance(color)).toBeCloseTo(light);
});

test("cells that are painted on pictures keep the legend of their grid", async () => {
  const { el, grid } = await shown();
  const hasOwn = () =>
    el.querySelector(".attnw-ex-root")?.classList.contains("attnw-ex-own-legend");
  expect(hasOwn()).toBe(false);
  const maps = { stack: "self", quantity: "weights" as const, unit: "tokens" as const };
  const empty = { hidden: [], versus: null, values: wireOf(new Uint8Array(), [6, 12, 0, 0]) };
  const maxima = wireOf(new Float32Array(72).fill(0.5), [6, 12]);
  const strongest = wireOf(new Int32Array(144), [6, 12, 2]);
  const row = {
    side: "query" as const,
    of: 0,
    values: wireOf(new Uint8Array(288).fill(100), [6, 12, 4]),
    largest: maxima,
  };
  grid.fromKernel({ _thumbnails: { ...maps, ...empty, maxima, strongest, row } });
  await frame();
  expect(hasOwn()).toBe(true);
});

test("without a model nothing is offered that needs one, and a sentence says so", async () => {
  const { model, el, find } = await shown({
    _without_model: "This attention comes without its model.",
    _source: { model: "weights", note: "", loss: "", fixed: "no model" },
    _examples: [],
  });
  const root = find(".attnw-ex-root");
  expect(root.classList).toContain("attnw-ex-no-model");
  expect(find(".attnw-ex-guess").textContent).toContain("without its model");
  press(find(".attnw-ex-look"), "?");
  await frame();
  expect(el.textContent).toContain("lines or matrix");
  expect(el.textContent).not.toContain("switch the head off");
  model.set("_without_model", "");
  await frame();
  expect(root.classList).not.toContain("attnw-ex-no-model");
});
