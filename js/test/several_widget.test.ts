import { describe, expect, test } from "vitest";
import type { ViewState } from "../src/head_view/state.js";
import headView from "../src/head_view/widget.js";
import { peekOut } from "../src/shared/peek.js";
import type { Head } from "../src/shared/types.js";
import { weights } from "./four_tokens.js";
import { frame, mounted } from "./mounted.js";
import { severalState } from "./two_heads.js";
import { stack } from "./view_state.js";

const first: Head = [1, 2, "self"];
const second: Head = [2, 5, "self"];
const show = (patch: Partial<ViewState> = {}) =>
  mounted(headView(), severalState({ _stacks: [stack], ...patch }));
const press = async (at: HTMLElement, key: string, shiftKey = false) => {
  at.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true }));
  await frame();
};
const click = async (at: HTMLElement, init: MouseEventInit = {}) => {
  at.dispatchEvent(new MouseEvent("click", { bubbles: true, ...init }));
  await frame();
};

describe("several heads on a page", () => {
  test("side by side: a figure and a name each; a name shows only its head", async () => {
    const { model, el, find } = await show();
    expect(find(".attnw-title").textContent).toBe("L1 H2, L2 H5: attention between tokens");
    const names = [...el.querySelectorAll<HTMLElement>(".attnw-name")];
    expect(names.map((name) => name.getAttribute("aria-label"))).toEqual([
      "only L1 H2",
      "only L2 H5",
    ]);
    expect(el.querySelectorAll(".attnw-panel .attnw-lines-figure:not([hidden])")).toHaveLength(2);
    expect(find(".attnw-caption").textContent).toContain("absolute line thickness scale, 0 to 1");
    await click(names[0] as HTMLElement);
    expect(model.sent).toEqual([{ selected: [first], layer: 1 }]);
  });

  test("a lock is one for all, and the arrow keys move in all", async () => {
    const { model, find } = await show();
    const box = find(".attnw-beside");
    await press(box, "ArrowDown");
    await press(box, "ArrowDown");
    expect(find(".attnw-readout").textContent).toBe(
      "cat → L1 H2: sat 83\u00a0% · L2 H5: cat 42\u00a0%",
    );
    await press(box, "Enter");
    expect(model.sent).toEqual([{ tokens: [["query", 1]] }]);
  });

  test(
    "s goes from one head to heads side by side and overlaid, a to all of the layer; " +
      "both are controls",
    async () => {
      const { model, find } = await show({ arrangement: "overlay" });
      await press(find(".attnw-lines-figure"), "a");
      expect(model.sent.pop()).toEqual({ shown_heads: "layer" });
      expect(find<HTMLInputElement>("[data-control='all heads of the layer']").checked).toBe(true);
      await press(find(".attnw-lines-figure"), "s");
      expect(model.sent.pop()).toEqual({ arrangement: "one" });
      const choice = find<HTMLSelectElement>("[data-control=heads]");
      expect([...choice.options].map((option) => option.text)).toEqual([
        "one",
        "side by side",
        "overlaid",
      ]);
      choice.value = "beside";
      choice.dispatchEvent(new Event("change"));
      expect(model.sent.pop()).toEqual({ arrangement: "beside" });
    },
  );

  test("a chip adds or takes away its head, twice or with Shift it is alone", async () => {
    const { model, el, find } = await show({ arrangement: "overlay" });
    const chip = (name: string) =>
      [...el.querySelectorAll<HTMLElement>(".attnw-chips button")].find(
        (one) => one.textContent === name,
      ) as HTMLElement;
    expect(el.querySelectorAll(".attnw-chips [aria-pressed=true]")).toHaveLength(2);
    expect(find(".attnw-swatch:not([hidden])").style.backgroundColor).not.toBe("");
    await click(chip("L1 H2"));
    expect(model.sent.pop()).toEqual({ selected: [second] });
    await click(chip("L2 H5"));
    expect(model.sent).toEqual([]);
    await click(chip("L2 H3"));
    expect(model.sent.pop()).toEqual({ selected: [second, [2, 3, "self"]] });
    await click(chip("L2 H5"), { detail: 2 });
    expect(model.sent.pop()).toEqual({ selected: [second] });
    await click(chip("L2 H4"), { shiftKey: true });
    expect(model.sent.pop()).toEqual({ selected: [[2, 4, "self"]] });
  });

  test("what is not there yet leaves the last picture", async () => {
    const { model, find } = await show();
    model.fromKernel({ shown_heads: "layer" });
    await frame();
    expect(find(".attnw-progress").hidden).toBe(false);
    expect(find(".attnw-caption").textContent).toContain("L1 H2 (2-3), L2 H5 (3-6)");
  });
});

describe("a head that a linked figure points at", () => {
  const values = Uint8Array.from(weights.flat(), (value) =>
    Math.round(255 * Math.sqrt(value / 0.831)),
  );
  const peeked = {
    head: [0, 7, "self"] as Head,
    quantity: "weights",
    unit: "tokens",
    hidden: [],
    rows: 4,
    cols: 4,
    values,
    maximum: 0.831,
  };

  test("is shown from the bytes on the page without a message, and leaves again", async () => {
    const { model, find } = await show({ _circle: "a" });
    expect(peekOut("another", peeked)).toBe(false);
    expect(peekOut("a", peeked)).toBe(true);
    await frame();
    expect([find(".attnw-title").textContent, find(".attnw-view-note").textContent]).toEqual([
      "L0 H7: attention between tokens",
      "peek",
    ]);
    expect(find(".attnw-caption").textContent).toMatch(/L0 H7 \(1-8\) .* · peek · .*rounded/);
    expect(find(".attnw-lines-figure").getAttribute("aria-label")).toContain("cat → sat 83\u00a0%");
    expect(find(".attnw-beside").hidden).toBe(true);
    peekOut("a", null);
    await frame();
    expect(find(".attnw-title").textContent).toBe("L1 H2, L2 H5: attention between tokens");
    expect(find(".attnw-beside").hidden).toBe(false);
    expect(model.sent).toEqual([]);
  });

  test("has its hidden tokens left out, without a share that the page does not know", async () => {
    const { find } = await show({ _circle: "a" });
    const bytes = Uint8Array.from([0, 255, 128, 0]);
    peekOut("a", { ...peeked, hidden: ["cls", "sep"], rows: 2, cols: 2, values: bytes });
    await frame();
    expect(find(".attnw-lines-figure").getAttribute("aria-label")).toContain(
      "cat → sat 83\u00a0%, sat → cat 21\u00a0%",
    );
    expect(find(".attnw-caption").textContent).toContain("hidden: [CLS] [SEP] · rounded");
  });

  test("of blocks of tokens is a matrix that says so, and locks nothing", async () => {
    const { model, find } = await show({ _circle: "a", tokens: [["query", 3]] });
    const bytes = Uint8Array.from([0, 255, 128, 0]);
    peekOut("a", { ...peeked, rows: 2, cols: 2, values: bytes });
    await frame();
    expect(find(".attnw-matrix-figure").hidden).toBe(false);
    expect(find(".attnw-caption").textContent).toContain(
      "peek: the strongest of 2 × 2 blocks of tokens",
    );
    await press(find(".attnw-matrix-figure"), "ArrowDown");
    await press(find(".attnw-matrix-figure"), "Enter");
    expect(model.sent).toEqual([]);
  });

  test("of other tokens is not shown", async () => {
    const { find } = await show({ _circle: "a" });
    expect(peekOut("a", { ...peeked, head: [0, 7, "cross"] })).toBe(false);
    expect(peekOut("a", { ...peeked, unit: "words" })).toBe(false);
    await frame();
    expect(find(".attnw-view-note").textContent).toBe("");
  });
});
