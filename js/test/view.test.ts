import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ViewState } from "../src/head_view/state.js";
import headView from "../src/head_view/widget.js";
import { fakeModel } from "./fake_model.js";
import { axes, weights } from "./four_tokens.js";
import { tileOf, viewState } from "./view_state.js";

const wire = (rows: number[][]) => ({
  shape: [rows.length, rows[0]?.length ?? 0],
  dtype: "<f4" as const,
  view: new DataView(Float32Array.from(rows.flat()).buffer),
});

const state = () =>
  viewState({
    _tile: tileOf(wire(weights)),
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

/** Return a view of `n` tokens. Token 80 attends most to token 7, then to token 6, and so on. */
function long(n: number): Partial<ViewState> {
  const text = Array.from({ length: n }, (_, i) => `t${i}`);
  const axis = { text, raw: text, special: text.map(() => ""), segments: text.map(() => 0) };
  const rows = text.map((_, q) => text.map((_, k) => (q === 80 && k > 0 && k < 8 ? k / 10 : 0.01)));
  return {
    _axes: { ...axes, query: axis, key: axis },
    _tile: tileOf(wire(rows)),
  };
}

describe("the view", () => {
  test("lines fade behind those of a locked token; words in place of lines stay legible", async () => {
    const mapOf = (onItself: number) =>
      tileOf(wire(weights.map((_, q) => weights.map((_, k) => (q === k ? onItself : 0.1)))));
    for (const [weight, isFaded] of [
      [0.7, true],
      [0.1, false],
    ] as const) {
      const { $ } = await show({ tokens: [["query", 1]], _tile: mapOf(weight) });
      const { classList } = $(".attnw-lines-figure .attnw-lines");
      expect(classList.contains("attnw-faded")).toBe(isFaded);
    }
  });

  test("names the head, and what the figure shows", async () => {
    const { $ } = await show();
    expect($(".attnw-root").dataset.lmSuppressShortcuts).toBe("true");
    expect($(".attnw-title").textContent).toBe("L1 H5: attention between tokens");
    expect($(".attnw-caption").textContent).toContain("Bert · L1 H5 (2-6) · attention weights");
    expect($(".attnw-caption").textContent).toContain("weights only");
    expect($(".attnw-lines-figure").getAttribute("aria-label")).toContain("cat → sat 83\u00a0%");
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
    model.fromKernel({ _tile: tileOf(wire(weights), { head: [2, 5, "self"] }) });
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
    expect($("[aria-live]").textContent).toBe(
      "cat → sat 83\u00a0% · [SEP] 6.9\u00a0% · [CLS] 5.0\u00a0%",
    );
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
    expect($("[data-control=keys]").getAttribute("aria-expanded")).toBe("true");
  });

  test("a matrix is zoomed with keys, buttons and the cursor, and the kernel hears of it once", async () => {
    const { model, $, press } = await show({ mode: "matrix", ...long(100) });
    await press("End");
    await press("+");
    await press("+");
    const [q0 = 0, q1 = 0, k0 = 0, k1 = 0] = model.get("window") ?? [];
    expect([q1, k0]).toEqual([100, 0]);
    expect(q1 - q0).toBeLessThan(70);
    expect(q1 - q0).toBe(k1 - k0);
    expect($(".attnw-caption").textContent).toContain(
      `queries ${q0} to 99 and keys 0 to ${k1 - 1} of 100 in sight`,
    );
    expect(model.sent).toEqual([]);
    await vi.waitFor(() => expect(model.sent).toEqual([{ window: [q0, q1, k0, k1] }]));
    await press("Home");
    expect(model.get("window")?.slice(0, 2)).toEqual([0, q1 - q0]);
    await press("-");
    expect(model.get("window")?.[1]).toBeGreaterThan(q1 - q0);
    await press("0");
    expect(model.get("window")).toBeNull();
    $("[aria-label='zoom in']").click();
    expect(model.get("window")).not.toBeNull();
    await frame();
    $("[aria-label='zoom out to all']").click();
    expect(model.get("window")).toBeNull();
  });

  test(
    "a rectangle that is dragged with Shift is zoomed to, a drag moves it, and neither locks; " +
      "two clicks show all again",
    async () => {
      const { model, $ } = await show({ mode: "matrix", ...long(100), tokens: [["key", 3]] });
      const box = $(".attnw-matrix-figure");
      const { x0, y0, cellWidth } = JSON.parse($("canvas.attnw-matrix").dataset.layout ?? "{}");
      const at = (row: number, col: number, more = {}) => ({
        bubbles: true,
        clientX: x0 + (col + 0.5) * cellWidth,
        clientY: y0 + (row + 0.5) * cellWidth,
        ...more,
      });
      box.dispatchEvent(new MouseEvent("pointerdown", at(20, 50, { shiftKey: true })));
      box.dispatchEvent(new MouseEvent("pointermove", at(30, 60)));
      expect($(".attnw-matrix-figure .attnw-zoom-frame").hidden).toBe(false);
      box.dispatchEvent(new MouseEvent("pointerup", at(30, 60)));
      box.dispatchEvent(new MouseEvent("click", at(30, 60)));
      expect($(".attnw-matrix-figure .attnw-zoom-frame").hidden).toBe(true);
      const [q0 = 0, q1 = 0, k0 = 0, k1 = 0] = model.get("window") ?? [];
      for (const [from, to, row] of [
        [q0, q1, 20],
        [k0, k1, 50],
      ] as const) {
        expect(from).toBeLessThanOrEqual(row);
        expect(to).toBeGreaterThanOrEqual(row + 10);
        expect(to - from).toBeLessThan(20);
      }
      expect(model.get("tokens")).toEqual([["key", 3]]);
      await frame();
      box.dispatchEvent(new MouseEvent("pointerdown", at(30, 30)));
      box.dispatchEvent(new MouseEvent("pointermove", at(60, 30)));
      box.dispatchEvent(new MouseEvent("pointerup", at(60, 30)));
      box.dispatchEvent(new MouseEvent("click", at(60, 30)));
      const [after = 0, end = 0] = model.get("window") ?? [];
      expect([after < q0, end - after]).toEqual([true, q1 - q0]);
      expect(model.get("tokens")).toEqual([["key", 3]]);
      await frame();
      box.dispatchEvent(new MouseEvent("click", at(30, 30, { detail: 1 })));
      expect(model.get("tokens")).not.toEqual([["key", 3]]);
      box.dispatchEvent(new MouseEvent("click", at(30, 30, { detail: 2 })));
      box.dispatchEvent(new MouseEvent("dblclick", at(30, 30, { detail: 2 })));
      expect([model.get("tokens"), model.get("window")]).toEqual([[["key", 3]], null]);
    },
  );

  test("a wheel zooms with Ctrl alone: without it the page scrolls", async () => {
    const { model, $ } = await show({ mode: "matrix", ...long(100) });
    const turn = (more = {}) => {
      const event = new Event("wheel", { cancelable: true });
      Object.assign(event, { deltaY: -100, clientX: 300, clientY: 300, ctrlKey: false, ...more });
      $(".attnw-matrix-figure").dispatchEvent(event);
      return event.defaultPrevented;
    };
    expect([turn(), model.get("window")]).toEqual([false, null]);
    expect(turn({ ctrlKey: true })).toBe(true);
    expect(model.get("window")).not.toBeNull();
  });

  test("a lock from the kernel is scrolled to, and its strongest are listed and gone to", async () => {
    const { model, $, el } = await show(long(100));
    const scroller = $(".attnw-lines-figure");
    expect($(".attnw-strongest").hidden).toBe(true);
    model.fromKernel({ tokens: [["query", 80]] });
    await frame();
    await frame();
    expect(scroller.scrollTop).toBeGreaterThan(700);
    expect($(".attnw-strongest-of").textContent).toBe("strongest from “t80”");
    const listed = [...el.querySelectorAll<HTMLElement>(".attnw-strongest-go")];
    expect(listed.map((each) => each.textContent)).toEqual(
      [7, 6, 5, 4, 3, 2, 1].map((key) => `t${key}${key}0\u00a0%`).concat(["t01.0\u00a0%"]),
    );
    expect($(".attnw-legend").textContent).toContain("thickness · absolute");
    expect($(".attnw-caption").textContent).toContain("absolute line thickness scale, 0 to 1");
    listed[1]?.click();
    await frame();
    expect(scroller.scrollTop).toBe(0);
    expect($("[aria-live]").textContent).toContain("t6 ←");
  });

  test("weights under 0.0005 are not listed after a larger one", async () => {
    const sharp = [[0.9998, 0.0001, 0.0001, 0], ...weights.slice(1)];
    const { el } = await show({
      _tile: tileOf(wire(sharp)),
      mode: "matrix",
      tokens: [["query", 0]],
    });
    const listed = [...el.querySelectorAll<HTMLElement>(".attnw-strongest-go")];
    expect(listed.map((each) => each.textContent)).toEqual(["[CLS]100\u00a0%"]);
  });

  test("keys of a select stay its own", async () => {
    const { model, $, press } = await show();
    await press("m", $("select"));
    expect(model.get("mode")).toBe("lines");
  });

  test("hiding is offered for what is there, and stated", async () => {
    const { model, $ } = await show();
    expect($("[data-hide=first]").parentElement?.hidden).toBe(true);
    $<HTMLInputElement>("[data-hide=cls]").click();
    await frame();
    expect(model.sent).toEqual([{ hidden: ["cls"] }]);
    expect($(".attnw-caption").textContent).toContain("hidden: [CLS] (");
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
