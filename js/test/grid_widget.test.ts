import { afterEach, expect, test, vi } from "vitest";
import type { GridState, Thumbnails } from "../src/model/types.js";
import grid from "../src/widgets/head_grid.js";
import { fakeModel } from "./fake_model.js";

const wire = <D extends string>(
  a: Uint8Array | Float32Array | Int32Array,
  dtype: D,
  shape: number[],
) => ({
  ...{ shape, dtype },
  view: new DataView(a.buffer as ArrayBuffer),
});

function thumbnails(
  stack: string,
  layers: number,
  heads: number,
  hidden: string[] = [],
): Thumbnails {
  const n = layers * heads;
  return {
    ...{ stack, hidden, unit: "tokens" },
    quantity: "weights",
    values: wire(new Uint8Array(n * 9).fill(255), "|u1", [layers, heads, 3, 3]),
    maxima: wire(new Float32Array(n).fill(0.8312), "<f4", [layers, heads]),
    strongest: wire(new Int32Array(2 * n).fill(1), "<i4", [layers, heads, 2]),
  };
}

const info = (name: string, n_layers: number, n_heads: number, n_key_heads = n_heads) => ({
  ...{ name, n_layers, n_heads, n_key_heads },
  ...{ n_query: 3, n_key: 3 },
});

function state(change: Partial<GridState> = {}): GridState {
  const axis = {
    text: ["[CLS]", "<b>cat</b>", "[SEP]"],
    raw: ["[CLS]", "<b>cat</b>", "[SEP]"],
    special: ["cls", "", "sep"],
    segments: [0, 0, 0],
  };
  return {
    ...{ selected: [], layer: 0, tokens: [], hidden: [], quantity: "weights", unit: "tokens" },
    ...{ scale: "sqrt", stack: "self", shared_scale: false, _error: "" },
    ...{ metric: null, sort: "none", descending: true, filter: null, outside: "dim" },
    _metrics: null,
    _source: { model: "BertModel", note: "weights only", loss: "" },
    _quantities: ["weights"],
    _axes: { stack: "self", unit: "tokens", query: axis, key: axis },
    _stacks: [info("self", 4, 6)],
    _thumbnails: thumbnails("self", 4, 6),
    ...change,
  };
}

/** One metric whose value is the head's place among all, 4 layers of 6. */
const METRICS: GridState["_metrics"] = {
  stack: "self",
  titles: ["entropy", "to [SEP]"],
  values: wire(
    Float32Array.from({ length: 48 }, (_, i) => i % 24),
    "<f4",
    [2, 4, 6],
  ),
  similar: wire(
    Int32Array.from({ length: 48 }, (_, i) => (i + 2) % 24),
    "<i4",
    [24, 2],
  ),
};

const frame = () => new Promise((resolve) => setTimeout(resolve, 60));
let controller = new AbortController();
afterEach(() => {
  controller.abort();
  controller = new AbortController();
  vi.useRealTimers();
});

async function show(change: Partial<GridState> = {}) {
  const model = fakeModel(state(change));
  const el = document.createElement("div");
  document.body.append(el);
  grid().render({ model, el, signal: controller.signal });
  await frame();
  const find = <E extends HTMLElement>(selector: string) => {
    const found = el.querySelector<E>(selector);
    if (!found) throw new Error(`nothing matches ${selector}`);
    return found;
  };
  const box = find<HTMLElement>("[role=grid]");
  const press = async (key: string, keys: KeyboardEventInit = {}) => {
    box.dispatchEvent(
      new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...keys }),
    );
    await frame();
  };
  return { model, el, find, press };
}

async function pick(found: HTMLSelectElement | HTMLInputElement, change: () => void) {
  change();
  found.dispatchEvent(new Event("change", { bubbles: true }));
  await frame();
}

test("the keyboard moves, selects, adds, and Escape goes back", async () => {
  const { model, find, press } = await show();
  await press("ArrowDown");
  await press("End");
  await press("Enter");
  expect(model.sent.at(-1)).toEqual({ selected: [[1, 5, "self"]], layer: 1 });
  await press("ArrowLeft");
  await press("Enter", { shiftKey: true });
  expect(model.get("selected")).toEqual([
    [1, 5, "self"],
    [1, 4, "self"],
  ]);
  expect(find("[aria-live]").textContent).toBe("layer 1 head 4, 2 heads selected");
  expect(find("[role=gridcell]").getAttribute("aria-label")).toBe(
    "layer 1 head 4, strongest <b>cat</b> to <b>cat</b> 0.831, selected",
  );
  await press("Escape");
  expect(model.get("selected")).toEqual([[1, 5, "self"]]);
});

test("the one gridcell says where it is, and the grid points to it", async () => {
  const { find, press } = await show();
  await press("ArrowRight");
  const cell = find("[role=gridcell]");
  expect(find("[role=grid]").getAttribute("aria-activedescendant")).toBe(cell.id);
  expect(cell.getAttribute("aria-colindex")).toBe("2");
  expect(find("[role=row]").getAttribute("aria-rowindex")).toBe("1");
  expect(find("[role=grid]").getAttribute("aria-rowcount")).toBe("4");
  expect(find("[role=grid]").getAttribute("aria-colcount")).toBe("6");
});

test("brackets step the layer, and the selection with it", async () => {
  const { model, press } = await show({ selected: [[2, 3, "self"]], layer: 2 });
  await press("]");
  expect(model.sent).toEqual([{ layer: 3, selected: [[3, 3, "self"]] }]);
  await press("]");
  expect(model.sent).toHaveLength(1);
});

test("stepping another stack than the selection's brings the selection there", async () => {
  const { model, press } = await show({
    ...{ selected: [[5, 7, "encoder"]], stack: "cross" },
    _stacks: [info("encoder", 6, 8), info("cross", 4, 6)],
    _thumbnails: thumbnails("cross", 4, 6),
  });
  await press("]");
  expect(model.get("selected")).toEqual([[1, 5, "cross"]]);
});

test("the controls set the traits, and the stack switch is there only for several stacks", async () => {
  const { model, el, find } = await show();
  const selects = [...el.querySelectorAll("select")];
  expect(selects.filter((s) => !s.closest("[hidden]"))).toHaveLength(2);
  const scale = selects.at(-1) as HTMLSelectElement;
  await pick(scale, () => {
    scale.value = "log";
  });
  const hide = find<HTMLInputElement>("[data-hide=sep]");
  await pick(hide, () => {
    hide.checked = true;
  });
  expect(model.sent).toEqual([{ scale: "log" }, { hidden: ["sep"] }]);
  expect(find(".attnw-grid-legend").textContent).toContain("log · per head");
  expect(find("[data-hide=first]").closest("label")?.hidden).toBe(true);
});

test("the old picture stays dimmed until its answer arrives", async () => {
  const { model, find } = await show();
  const root = find(".attnw-grid-root");
  model.fromKernel({ hidden: ["cls"] });
  await frame();
  expect(root.classList.contains("attnw-grid-stale")).toBe(true);
  expect(find(".attnw-progress").hidden).toBe(false);
  model.fromKernel({ _thumbnails: thumbnails("self", 4, 6, ["cls"]) });
  await frame();
  expect(root.classList.contains("attnw-grid-stale")).toBe(false);
  expect(find(".attnw-grid-caption").textContent).toBe(
    "BertModel · 3 tokens · weights · sqrt colour scale per head · [CLS] hidden · weights only",
  );
});

test("an error stands in the widget's place until it is solved", async () => {
  const { model, find } = await show({ _error: "no <b>map</b>" });
  expect(find("[role=alert]").textContent).toBe("no <b>map</b>");
  expect(find("[role=alert]").nextElementSibling?.hasAttribute("hidden")).toBe(true);
  model.fromKernel({ _error: "" });
  await frame();
  expect(find("[role=alert]").hidden).toBe(true);
});

test("selections out of range and a missing picture draw nothing and break nothing", async () => {
  const { find } = await show({
    selected: [
      [99, 0, "self"],
      [0, 0, "other"],
    ],
    _thumbnails: null,
  });
  expect(find(".attnw-grid").dataset.layout).toContain('"rows":4,"cols":6');
});

test("play steps the layers and wraps; leaving removes every listener", async () => {
  const { model, el, find } = await show({ layer: 3 });
  const play = find<HTMLButtonElement>("button[aria-label^=play]");
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  play.click();
  expect(play.getAttribute("aria-label")).toBe("pause");
  vi.advanceTimersByTime(700);
  expect(model.get("layer")).toBe(0);
  controller.abort();
  model.fromKernel({ layer: 2 });
  vi.advanceTimersByTime(1400);
  expect(model.get("layer")).toBe(2);
  expect(el.childElementCount).toBe(0);
});

test("the metric row is there only for metrics; choosing one starts without a filter", async () => {
  expect((await show()).find(".attnw-metric-controls").hidden).toBe(true);
  const { model, find } = await show({ _metrics: METRICS, metric: "entropy", filter: [1, 2] });
  const select = find<HTMLSelectElement>(".attnw-metric-controls select");
  expect([...select.options].map(({ text }) => text)).toEqual(["none", "entropy", "to [SEP]"]);
  await pick(select, () => {
    select.value = "to [SEP]";
  });
  expect(model.sent).toEqual([{ metric: "to [SEP]", filter: null }]);
});

test("sorted heads are selected by what they are, not by where they stand", async () => {
  const { model, find, press } = await show({ _metrics: METRICS, metric: "entropy", sort: "all" });
  await press("ArrowRight");
  await press("Enter");
  expect(model.get("selected")).toEqual([[3, 4, "self"]]);
  expect(find("[role=gridcell]").getAttribute("aria-label")).toBe(
    "layer 3 head 4, entropy 22, strongest <b>cat</b> to <b>cat</b> 0.831, selected",
  );
  expect(find(".attnw-grid-caption").textContent).toContain(
    "bars: entropy, 0 to 23 · all heads by entropy, largest first",
  );
});

test("heads outside the filter can be removed; an empty place cannot be selected", async () => {
  const { model, find, press } = await show({
    ...{ _metrics: METRICS, metric: "entropy", filter: [1, 3], outside: "remove" },
  });
  expect(find("[role=gridcell]").getAttribute("aria-label")).toBe("no head: filtered out");
  await press("Enter");
  expect(model.sent).toEqual([]);
  expect(find(".attnw-grid-caption").textContent).toContain(
    "3 of 24 heads have 1 to 3, the others removed",
  );
  model.fromKernel({ sort: "all" });
  await frame();
  expect(find(".attnw-grid").dataset.layout).toContain('"rows":1,"cols":6');
});

test("the ends of the range push each other, and the whole range is no filter", async () => {
  const { model, el } = await show({ _metrics: METRICS, metric: "entropy" });
  const [from, to] = [...el.querySelectorAll<HTMLInputElement>("input[type=range]")];
  const slide = async (input: HTMLInputElement | undefined, value: number) => {
    if (!input) throw new Error("no slider");
    input.value = String(value);
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await frame();
  };
  await slide(from, 100);
  expect(model.get("filter")).toEqual([11.5, 23]);
  await slide(to, 50);
  expect(model.get("filter")).toEqual([5.75, 5.75]);
  await slide(from, 0);
  await slide(to, 200);
  expect(model.get("filter")).toBeNull();
});

test("heads like the shown one are selected with it, and Escape goes back", async () => {
  const { model, find, press } = await show({ _metrics: METRICS, selected: [[0, 1, "self"]] });
  const button = find<HTMLButtonElement>(".attnw-metric-controls > button");
  expect(button.textContent).toBe("select 2 heads like L0 H1");
  button.click();
  await frame();
  expect(model.get("selected")).toEqual([
    [0, 4, "self"],
    [0, 5, "self"],
    [0, 1, "self"],
  ]);
  await press("Escape");
  expect(model.get("selected")).toEqual([[0, 1, "self"]]);
});
