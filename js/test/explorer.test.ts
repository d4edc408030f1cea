import { expect, test } from "vitest";
import type { ExplorerContext, ExplorerState, Host } from "../src/model/explorer_types.js";
import { PANELS } from "../src/model/explorer_types.js";
import { luminance } from "../src/model/theme.js";
import type { RenderContext } from "../src/model/types.js";
import explorer from "../src/widgets/explorer.js";
import { frame, leave, mounted } from "./mounted.js";

const STACK = { name: "self", n_layers: 6, n_heads: 12, n_key_heads: 12, n_query: 5, n_key: 5 };

const state = (change: Partial<ExplorerState> = {}): ExplorerState => ({
  ...{ selected: [[1, 3, "self"]], layer: 1, _error: "", text: "The cat sat.", pair: null },
  ...{ panels: [...PANELS], progress: {}, _notes: {}, _problems: {}, _painted: false },
  ...{ _stacks: [STACK], _source: { model: "Bert", note: "" } },
  ...{ _shown: { text: "The cat sat.", pair: null } },
  ...{ grid: "anywidget:1", view: "anywidget:2" },
  ...{ head_map: null, strip: null, table: null, arcs: null },
  ...change,
});

/** A host whose widgets write their reference, and count how many are drawn. */
function hosting() {
  const alive = new Set<string>();
  const asked: string[] = [];
  const host: Host = {
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
  return { host, alive, asked };
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

const press = (node: HTMLElement, key: string, options: KeyboardEventInit = {}) =>
  node.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, ...options }));

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
  const { panel, model, asked } = await shown({ progress: { table: 0, head_map: 0 } });
  expect(panel("table").textContent).toContain("predicts relations");
  model.fromKernel({ progress: { table: 0.25 } });
  await frame();
  const line = panel("table").querySelector("[role=progressbar]");
  expect(line?.getAttribute("aria-valuenow")).toBe("25");
  expect(panel("head_map").hidden).toBe(true);
  model.fromKernel({ table: "anywidget:3", progress: {}, _notes: { table: "of this text alone" } });
  await frame();
  expect(panel("table").querySelector(".attnw-ex-slot")?.textContent).toBe("anywidget:3");
  expect(panel("table").textContent).toContain("of this text alone");
  expect(line?.hasAttribute("hidden")).toBe(true);
  model.fromKernel({ layer: 2 });
  await frame();
  expect(asked).toEqual(["anywidget:1", "anywidget:2", "anywidget:3"]);
});

test("a problem stands in the place of its figure", async () => {
  const { panel } = await shown({ _problems: { table: "no fast tokenizer" } });
  expect(panel("table").textContent).toContain("no fast tokenizer");
  const broken = await shown({ grid: "anywidget:broken" });
  expect(broken.panel("grid").textContent).toContain("could not be drawn: no such model");
});

test("Run and Ctrl+Enter send the text once; until it is read the old picture is dimmed", async () => {
  const { model, find, panel } = await shown();
  const area = find<HTMLTextAreaElement>("textarea");
  area.value = "A dog.";
  area.dispatchEvent(new Event("input"));
  expect(find(".attnw-ex-run").classList.contains("attnw-ex-changed")).toBe(true);
  press(area, "Enter");
  expect(model.sent.at(-1)).toEqual({ _painted: true });
  press(area, "Enter", { ctrlKey: true });
  expect(model.sent.at(-1)).toEqual({ text: "A dog." });
  await frame();
  const slot = panel("grid").querySelector(".attnw-ex-slot");
  expect(slot?.getAttribute("aria-busy")).toBe("true");
  model.fromKernel({ _shown: { text: "A dog.", pair: null } });
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
  expect(second?.closest("label")?.hidden).toBe(false);
  if (second) second.value = "It slept.";
  find("form").dispatchEvent(new Event("submit", { cancelable: true }));
  expect(model.sent.at(-1)).toEqual({ pair: "It slept." });
  find(".attnw-ex-quiet").click();
  find("form").dispatchEvent(new Event("submit", { cancelable: true }));
  expect(model.sent.at(-1)).toEqual({ pair: null });
});

test("a header folds its panel; what was never unfolded is never drawn", async () => {
  const { model, panel, asked } = await shown({ panels: ["grid"], arcs: "anywidget:6" });
  expect(asked).toEqual(["anywidget:1"]);
  const button = panel("arcs").querySelector("button");
  expect(button?.getAttribute("aria-expanded")).toBe("false");
  button?.click();
  expect(model.sent.at(-1)).toEqual({ panels: ["grid", "arcs"] });
  await frame();
  expect(button?.getAttribute("aria-expanded")).toBe("true");
  expect(asked).toEqual(["anywidget:1", "anywidget:6"]);
  button?.click();
  await frame();
  expect(panel("arcs").querySelector<HTMLElement>(".attnw-ex-body")?.hidden).toBe(true);
});

test("the stepper and the brackets step the layer with the selection", async () => {
  const { model, find } = await shown();
  const slider = find<HTMLInputElement>("input[type=range]");
  expect([slider.max, slider.value]).toEqual(["5", "1"]);
  slider.value = "4";
  slider.dispatchEvent(new Event("input"));
  expect(model.sent.at(-1)).toEqual({ layer: 4, selected: [[4, 3, "self"]] });
  let heard = 0;
  document.addEventListener("keydown", () => heard++, { once: true });
  press(slider, "ArrowRight");
  expect(heard).toBe(0);
  press(find(".attnw-ex-run"), "[");
  expect(model.get("layer")).toBe(3);
  press(find("textarea"), "]");
  expect(model.get("layer")).toBe(3);
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
