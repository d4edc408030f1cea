import { afterEach, describe, expect, test, vi } from "vitest";
import type { GridState } from "../src/head_grid/state.js";
import headGrid from "../src/head_grid/widget.js";
import type { ViewState } from "../src/head_view/state.js";
import headView from "../src/head_view/widget.js";
import {
  barPrinter,
  differencePrinter,
  printer,
  quantityName,
  symbolOf,
  tablePrinter,
  weightText,
} from "../src/shared/quantity.js";
import { fakeModel } from "./fake_model.js";
import { weights } from "./four_tokens.js";
import { stack, tileOf, viewState } from "./view_state.js";

const wire = (rows: number[][]) => ({
  shape: [rows.length, rows[0]?.length ?? 0],
  dtype: "<f4" as const,
  view: new DataView(Float32Array.from(rows.flat()).buffer),
});

const map = (quantity: string, times: number) =>
  tileOf(wire(weights.map((row) => row.map((value) => value * times))), {
    head: [0, 1, "self"],
    quantity,
  });

const state = () =>
  viewState({
    selected: [[0, 1, "self"]],
    layer: 0,
    hidden: ["cls"],
    quantity: "norms",
    scale: "linear",
    mode: "matrix",
    _quantities: ["weights", "norms", "gradients"],
    _source: { model: "Bert", note: "", loss: "masked-LM 2.31, masked: sat" },
    _stacks: [{ ...stack, n_layers: 1 }],
    _tile: map("norms", 10),
  });

let ended = new AbortController();
afterEach(() => {
  ended.abort();
  ended = new AbortController();
});

const frame = () => vi.waitFor(() => new Promise((done) => requestAnimationFrame(() => done(0))));

async function show(patch: Partial<ViewState> = {}) {
  const model = fakeModel<ViewState>({ ...state(), ...patch });
  const el = document.createElement("div");
  document.body.append(el);
  headView().render({ model, el, signal: ended.signal });
  await frame();
  await frame();
  const $ = <T extends HTMLElement = HTMLElement>(selector: string) =>
    el.querySelector<T>(selector) as T;
  return { model, $ };
}

describe("quantities", () => {
  test("are named, and have numbers of any size", () => {
    expect(symbolOf("weights")).toBe("");
    expect(symbolOf("norms")).toBe("‖a·f(x)‖");
    expect(tablePrinter("weights")(0.0001)).toBe("<0.0005");
    expect(tablePrinter("weights")(0.5866)).toBe("0.587");
    expect(printer("weights")(0.5866)).toBe("59\u00a0%");
    expect(printer("weights")(0.0001)).toBe("<0.1\u00a0%");
    expect(differencePrinter("weights")(-0.0813)).toBe("−8.1\u00a0points");
    expect(differencePrinter("norms")(0.0813)).toBe("+0.0813");
    expect(printer("gradients")(0.0001234)).toBe("1.2e-4");
    expect(quantityName("weights")).toBe("attention weights");
    expect(quantityName("norms", "masked-LM")).not.toContain("masked-LM");
    expect(quantityName("gradients", "masked-LM")).toContain("L: masked-LM");
  });

  test("stand in title, caption, legend and name, and rows are no shares of one", async () => {
    const { $ } = await show();
    expect($(".attnw-title").textContent).toBe(
      "L0 H1: norms between tokens · relative scale (linear)",
    );
    const caption = $(".attnw-caption").textContent ?? "";
    expect(caption).toContain("‖a·f(x)‖; rows do not sum to 1");
    expect(caption).toContain("% of the norms)");
    expect(caption).not.toContain("attention sinks");
    expect($(".attnw-legend").textContent).toContain("‖a·f(x)‖ · linear · this head");
    expect($(".attnw-matrix-figure").getAttribute("aria-label")).toMatch(/^Attention norms of L0/);
  });

  test("are switched in the page where there are several", async () => {
    const { model, $ } = await show();
    const select = $<HTMLSelectElement>("[data-control=quantity]");
    expect(select.closest("label")?.hidden).toBe(false);
    expect([...select.options].map(({ value }) => value)).toEqual(state()._quantities);
    expect(select.value).toBe("norms");
    select.value = "gradients";
    select.dispatchEvent(new Event("change"));
    expect(model.get("quantity")).toBe("gradients");
    await frame();
    expect($(".attnw-plate").getAttribute("aria-busy")).toBe("true");
    expect($(".attnw-caption").textContent).toContain("norms");
    model.fromKernel({ _tile: map("gradients", 1e-4) });
    await frame();
    expect($(".attnw-plate").getAttribute("aria-busy")).toBe("false");
    expect($(".attnw-caption").textContent).toContain("L: masked-LM 2.31, masked: sat");
  });

  test("offer no choice where there is one", async () => {
    const only = { quantity: "weights", _quantities: ["weights"], _tile: map("weights", 1) };
    const { $ } = await show(only);
    expect($("[data-control=quantity]").closest("label")?.hidden).toBe(true);
  });
});

describe("quantities of a grid", () => {
  const bytes = (array: Uint8Array | Float32Array | Int32Array, dtype: "|u1" | "<f4" | "<i4") => ({
    shape: array.length === 16 ? [1, 1, 4, 4] : array.length === 2 ? [1, 1, 2] : [1, 1],
    dtype,
    view: new DataView(array.buffer as ArrayBuffer),
  });
  const thumbnails = (quantity: string, maximum: number): GridState["_thumbnails"] => ({
    stack: "self",
    quantity,
    unit: "tokens",
    hidden: ["cls"],
    values: bytes(new Uint8Array(16).fill(255), "|u1"),
    maxima: bytes(Float32Array.of(maximum), "<f4"),
    strongest: bytes(Int32Array.of(1, 2), "<i4"),
  });

  test("are switched with its controls and named in caption and legend", async () => {
    const { mode: _, ...shared } = state();
    const model = fakeModel<GridState>({
      ...(shared as unknown as GridState),
      scale: "absolute",
      stack: "self",
      times_keys: false,
      metric: null,
      sort: "none",
      descending: true,
      filter: null,
      _metrics: null,
      quantity: "weights",
      _thumbnails: thumbnails("weights", 0.5),
    });
    const el = document.createElement("div");
    document.body.append(el);
    headGrid().render({ model, el, signal: ended.signal });
    await frame();
    await frame();
    const text = (selector: string) => el.querySelector(selector)?.textContent ?? "";
    expect(text(".attnw-grid-legend")).toContain("absolute");
    expect(text(".attnw-grid-caption")).not.toContain("do not sum");
    const select = [...el.querySelectorAll("select")].find((s) => s.value === "weights");
    if (!select) throw new Error("no choice of quantity");
    select.value = "gradients";
    select.dispatchEvent(new Event("change"));
    await frame();
    expect(model.get("quantity")).toBe("gradients");
    expect(el.querySelector("[role=grid]")?.getAttribute("aria-busy")).toBe("true");
    model.fromKernel({ _thumbnails: thumbnails("gradients", 0.00012) });
    await frame();
    expect(el.querySelector("[role=grid]")?.getAttribute("aria-busy")).toBe("false");
    expect(text(".attnw-grid-legend")).toContain("1.2e-4|∂L/∂a| · one scale for all heads");
    expect(text(".attnw-grid-caption")).toContain("rows do not sum to 1 · L: masked-LM 2.31");
    expect(el.querySelector("[role=gridcell]")?.getAttribute("aria-label")).toContain("1.2e-4");
  });
});

test("weights beside a word are shares in per cent, none below 1 %", () => {
  expect([0.591, 0.096, 0.0104].map((share) => weightText(share))).toEqual([
    "59\u00a0%",
    "10\u00a0%",
    "1\u00a0%",
  ]);
  expect([0.0099, 0, Number.NaN].map((share) => weightText(share))).toEqual(["", "", "masked"]);
});

test("a bar of colors of weights is in per cent", () => {
  expect(barPrinter("weights", "absolute")(1)).toBe("100\u00a0%");
  expect(barPrinter("weights", "linear")(0.315)).toBe("32\u00a0%");
  expect(barPrinter("norms", "absolute")(2.5)).toBe("2.5");
});
