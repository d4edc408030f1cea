import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { StackInfo, ViewState } from "../src/model/types.js";
import headView from "../src/widgets/head_view.js";
import { fakeModel } from "./fake_model.js";
import { axes, weights } from "./four_tokens.js";

const stack: StackInfo = {
  name: "self",
  n_layers: 3,
  n_heads: 8,
  n_key_heads: 8,
  n_query: 4,
  n_key: 4,
};
const wire = (rows: number[][]) => ({
  shape: [rows.length, rows[0]?.length ?? 0],
  dtype: "<f4" as const,
  view: new DataView(Float32Array.from(rows.flat()).buffer),
});

const state = (): ViewState => ({
  selected: [[1, 5, "self"]],
  layer: 1,
  tokens: [],
  hidden: [],
  quantity: "weights",
  unit: "tokens",
  scale: "sqrt",
  mode: "lines",
  top_mass: 1,
  renormalise: false,
  sentences: "all",
  _source: { model: "Bert", note: "weights only", loss: "" },
  _quantities: ["weights"],
  _axes: axes,
  _stacks: [stack],
  _error: "",
  _highlighted: { query: [], key: [] },
  _map: {
    ...{ stack: "self", layer: 1, head: 5, quantity: "weights", unit: "tokens", exact: true },
    values: wire(weights),
  },
});

let ended = new AbortController();
beforeEach(() => {
  ended = new AbortController();
});
afterEach(() => ended.abort());

const frame = () => vi.waitFor(() => new Promise((done) => requestAnimationFrame(() => done(0))));

async function show(patch: Partial<ViewState> = {}) {
  const model = fakeModel<ViewState>({ ...state(), ...patch });
  const el = document.createElement("div");
  document.body.append(el);
  headView().render({ model, el, signal: ended.signal });
  await frame();
  await frame();
  const $ = <T extends HTMLElement = HTMLElement>(selector: string) => {
    const found = el.querySelector<T>(selector);
    if (!found) throw new Error(`no ${selector}`);
    return found;
  };
  const press = async (
    key: string,
    target = $(".attnw-figure:not([hidden])"),
    shiftKey = false,
  ) => {
    target.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true }));
    await frame();
  };
  return { model, el, $, press };
}

describe("the view", () => {
  test("names the head, and what the figure shows", async () => {
    const { $ } = await show();
    expect($(".attnw-root").dataset.lmSuppressShortcuts).toBe("true");
    expect($(".attnw-title").textContent).toBe("L1 H5 · 2-6 · weights · tokens");
    expect($(".attnw-caption").textContent).toContain("Bert · L1 H5 (2-6 counted from 1)");
    expect($(".attnw-caption").textContent).toContain("weights only");
    expect($(".attnw-lines-figure").getAttribute("aria-label")).toContain("cat → sat 0.831");
    expect($(".attnw-lines-figure").hidden).toBe(false);
    expect($(".attnw-matrix-figure").hidden).toBe(true);
  });

  test("an error or no selection is a sentence in the widget's place", async () => {
    const { model, $ } = await show({ selected: [] });
    expect($(".attnw-message").textContent).toContain("Select a head");
    expect($(".attnw-view-body").hidden).toBe(true);
    model.fromKernel({ _error: "There is no layer 9." });
    await frame();
    expect($("[role=alert]").textContent).toBe("There is no layer 9.");
    expect($(".attnw-view").hidden).toBe(true);
    model.fromKernel({ _error: "", selected: [[1, 5, "self"]] });
    await frame();
    expect($(".attnw-view-body").hidden).toBe(false);
  });

  test("keeps the old picture until the selected head's map is there", async () => {
    const { model, $ } = await show();
    expect($(".attnw-progress").hidden).toBe(true);
    model.set("selected", [[2, 5, "self"]]);
    await frame();
    expect($(".attnw-title").textContent).toContain("L2 H5");
    expect($(".attnw-caption").textContent).toContain("L1 H5");
    expect($(".attnw-plate").classList.contains("attnw-busy")).toBe(true);
    expect($(".attnw-progress").hidden).toBe(false);
    model.fromKernel({ _map: { ...state()._map, layer: 2 } as ViewState["_map"] });
    await frame();
    expect($(".attnw-progress").hidden).toBe(true);
    expect($(".attnw-caption").textContent).toContain("L2 H5");
  });

  test("a map does not show on another stack's axes", async () => {
    const { model, $ } = await show();
    model.fromKernel({ _axes: { ...axes, unit: "words" } });
    await frame();
    expect($(".attnw-plate").classList.contains("attnw-busy")).toBe(true);
  });

  test("the keyboard moves, locks, undoes, steps and switches", async () => {
    const { model, $, press } = await show();
    await press("ArrowDown");
    await press("ArrowDown");
    expect($("[aria-live]").textContent).toBe("cat → sat 0.831 · [SEP] 0.069 · [CLS] 0.05");
    expect(model.sent).toEqual([]);
    await press("Enter");
    await press("ArrowRight");
    await press(" ", undefined, true);
    expect(model.get("tokens")).toEqual([
      ["query", 1],
      ["key", 1],
    ]);
    await press("Escape");
    expect(model.get("tokens")).toEqual([["query", 1]]);
    await press("m");
    expect(model.get("mode")).toBe("matrix");
    await press("ArrowDown");
    await press("Enter");
    expect(model.get("tokens")).toEqual([
      ["query", 0],
      ["key", 0],
    ]);
    await press("Escape");
    expect(model.get("tokens")).toEqual([]);
    await press("]");
    expect(model.sent.at(-1)).toEqual({ layer: 2, selected: [[2, 5, "self"]] });
    await press("?");
    expect($(".attnw-keys").hidden).toBe(false);
    expect($(".attnw-help").getAttribute("aria-expanded")).toBe("true");
  });

  test("keys of a select stay its own", async () => {
    const { model, $, press } = await show();
    await press("m", $("select"));
    expect(model.get("mode")).toBe("lines");
  });

  test("hiding is offered for what is there, and stated", async () => {
    const { model, $ } = await show();
    const renormalise = $<HTMLInputElement>("[data-control=renormalise]");
    expect(renormalise.disabled).toBe(true);
    expect($("[data-hide=first]").parentElement?.hidden).toBe(true);
    $<HTMLInputElement>("[data-hide=cls]").click();
    await frame();
    expect(model.sent).toEqual([{ hidden: ["cls"] }]);
    expect($(".attnw-caption").textContent).toContain("hidden: [CLS] (");
    expect($(".attnw-caption").textContent).not.toContain("renormalised");
    expect(renormalise.disabled).toBe(false);
    renormalise.click();
    await frame();
    expect($(".attnw-caption").textContent).toContain("rows renormalised");
    model.fromKernel({ hidden: ["cls", "sep"], _axes: axes });
    await frame();
    expect($(".attnw-caption").textContent).toContain("[CLS] [SEP]");
  });

  test("another unit drops locks: their positions would be other tokens", async () => {
    const { model, $ } = await show({ tokens: [["query", 1]] });
    const select = $<HTMLSelectElement>("[data-control=unit]");
    select.value = "words";
    select.dispatchEvent(new Event("change"));
    expect(model.sent).toEqual([{ tokens: [], unit: "words" }]);
  });

  test("tokens are text, never markup", async () => {
    const text = ["<img src=x onerror=boom()>", "cat", "sat", "[SEP]"];
    const evil = { ...axes.query, text };
    const { el, press } = await show({ _axes: { ...axes, query: evil, key: evil } });
    await press("ArrowDown");
    expect(el.querySelector("img")).toBeNull();
    expect(el.textContent).toContain("<img");
  });

  test("two views of a model agree, and one that ends leaves nothing behind", async () => {
    const { model, el } = await show();
    const other = document.createElement("div");
    const rest = new AbortController();
    headView().render({ model, el: other, signal: rest.signal });
    model.set("mode", "matrix");
    await frame();
    for (const each of [el, other])
      expect(each.querySelector<HTMLElement>(".attnw-matrix-figure")?.hidden).toBe(false);
    rest.abort();
    expect(other.children).toHaveLength(0);
    model.set("mode", "lines");
    await frame();
    expect(el.querySelector<HTMLElement>(".attnw-matrix-figure")?.hidden).toBe(true);
  });
});
