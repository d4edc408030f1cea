import { expect, test } from "vitest";
import type { HangingArc } from "../src/dependency_arcs/arcs_layout.js";
import { predictedArcs } from "../src/dependency_arcs/paint.js";
import { drawPicture } from "../src/dependency_arcs/picture.js";
import type { ArcsState } from "../src/dependency_arcs/state.js";
import arcs from "../src/dependency_arcs/widget.js";
import { captionText } from "../src/shared/caption.js";
import { THEMES } from "../src/shared/theme.js";
import { drawnCats } from "./drawn_cats.js";
import { frame, leave, mounted } from "./mounted.js";

const state = (change: Partial<ArcsState> = {}): ArcsState => ({
  selected: [[1, 2, "self"]],
  layer: 1,
  _error: "",
  relation: "all",
  direction: "dependent to governor",
  sentence: 0,
  _drawn: drawnCats(),
  _measured: { correct: 300, n: 1000, baseline: 0.25, offset: -2 },
  _jump: {},
  _jumped: {},
  _source: {
    model: "BertModel",
    note: "",
    count: 9,
    layers: 4,
    relations: ["all", "nsubj", "obj"],
  },
  ...change,
});

async function show(change: Partial<ArcsState> = {}) {
  const { model, el, find } = await mounted(arcs(), state(change));
  const words = find<HTMLElement>("[role=listbox]");
  const press = async (key: string, keys: KeyboardEventInit = {}, target: Element = words) => {
    target.dispatchEvent(
      new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...keys }),
    );
    await frame();
  };
  const point = async (word: number, type = "pointerover") => {
    const span = words.querySelectorAll("[role=option]")[word];
    span?.dispatchEvent(new MouseEvent(type, { bubbles: true }));
    await frame();
  };
  const pick = async (name: string, value: string) => {
    const label = [...el.querySelectorAll("label")].find((l) => l.textContent?.startsWith(name));
    const select = label?.querySelector("select") as HTMLSelectElement;
    select.value = value;
    select.dispatchEvent(new Event("change", { bubbles: true }));
    await frame();
  };
  const readout = () => find(".attnw-arcs-readout").textContent;
  return { model, el, find, words, press, point, pick, readout };
}

test("the sentence is text; annotated arcs above, right and wrong ones below", async () => {
  const { el, find, words } = await show();
  expect(words.textContent).toBe("Cats <b>eat</b> fish ");
  expect(el.querySelector("b")).toBeNull();
  const labels = [...el.querySelectorAll(".attnw-arcs-above text")].map((n) => n.textContent);
  expect(labels).toEqual(["root", "nsubj", "obj"]);
  expect(el.querySelectorAll(".attnw-arcs-below .attnw-right")).toHaveLength(1);
  expect(el.querySelectorAll(".attnw-arcs-below .attnw-wrong")).toHaveLength(1);
  expect(find(".attnw-arcs-above").getAttribute("aria-label")).toContain("3 words");
  expect(find(".attnw-arcs-below").getAttribute("aria-label")).toContain("1 right, 1 wrong");
  expect(find(".attnw-arcs-title").textContent).toBe(
    "L1 H2 · all relations · dependent to governor · right on 1 of 2 words here · " +
      "30.0\u00a0% of 1,000 in the treebank (best offset −2: 25.0\u00a0%)",
  );
});

test("spaces are those that were written", async () => {
  const { words } = await show({ _drawn: drawnCats({ spaces: [true, false, true] }) });
  expect(words.textContent).toBe("Cats <b>eat</b>fish ");
});

test("pointing at a word reads its attention, and sends nothing", async () => {
  const { model, el, point, readout } = await show();
  await point(2);
  expect(readout()).toContain("fish: obj of <b>eat</b> · predicted Cats with 25\u00a0%, wrong");
  expect(readout()).toContain("attends to Cats 25\u00a0% · <b>eat</b> 13\u00a0% · itself 0\u00a0%");
  expect(readout()).toContain("is attended to by <b>eat</b> 75\u00a0% · Cats 13\u00a0%");
  const heights = [...el.querySelectorAll(".attnw-arcs-bar")].map((n) => n.getAttribute("height"));
  expect(heights).toEqual(["22.0", "11.0", "0"]);
  expect(el.querySelectorAll(".attnw-arcs-own")).toHaveLength(2);
  expect(model.sent).toEqual([]);
});

test("the keyboard moves between words, holds one and lets it go", async () => {
  const { find, words, press, readout } = await show();
  await press("ArrowRight");
  await press("ArrowRight");
  const active = () => words.getAttribute("aria-activedescendant");
  expect(active()).toBe(words.querySelectorAll("[role=option]")[1]?.id);
  expect(find("[aria-live]").textContent).toContain("<b>eat</b>: root; attends to fish 75\u00a0%");
  await press("Enter");
  expect(words.querySelectorAll("[aria-selected=true]")).toHaveLength(1);
  await press("Escape");
  expect(active()).toBeNull();
  expect(readout()).toContain("Point at a word");
});

test("a relation is chosen by list or by its label, and leaves the other arcs unnamed", async () => {
  const { model, el, pick, find } = await show();
  await pick("relation", "obj");
  expect(model.sent).toEqual([{ relation: "obj" }]);
  const labels = () => [...el.querySelectorAll(".attnw-arcs-above text")].map((n) => n.textContent);
  expect(labels()).toEqual(["obj"]);
  expect(el.querySelectorAll(".attnw-arcs-below g")).toHaveLength(1);
  find(".attnw-arcs-above text").dispatchEvent(new MouseEvent("click", { bubbles: true }));
  await frame();
  expect(model.get("relation")).toBe("all");
});

test("the direction chooses the predicted arcs", async () => {
  const { el, press } = await show();
  expect(el.querySelectorAll(".attnw-arcs-below g")).toHaveLength(2);
  await press("d");
  expect(el.querySelectorAll(".attnw-arcs-below .attnw-right")).toHaveLength(1);
});

test("sentences are stepped through, and jumped to by number", async () => {
  const { model, find, press } = await show();
  await press("PageDown");
  expect(model.sent).toEqual([{ sentence: 1 }]);
  expect(find<HTMLElement>(".attnw-progress").hidden).toBe(false);
  model.fromKernel({ _drawn: drawnCats({ sentence: 1 }) });
  await frame();
  expect(find<HTMLElement>(".attnw-progress").hidden).toBe(true);
  await press("PageUp");
  await press("PageUp");
  expect(model.get("sentence")).toBe(0);
  const number = find<HTMLInputElement>("input[type=number]");
  number.value = "40";
  number.dispatchEvent(new Event("change", { bubbles: true }));
  expect(model.get("sentence")).toBe(8);
});

test("r and w ask for sentences on which the head is right and wrong", async () => {
  const { model, find, press } = await show();
  await press("w");
  expect(model.sent).toEqual([{ _jump: { n: 1, outcome: "wrong", step: 1 } }]);
  await press("r");
  expect(model.sent).toHaveLength(1);
  model.fromKernel({ _jumped: { n: 1, found: false } });
  await frame();
  expect(find("[aria-live]").textContent).toBe("No other sentence has such a word.");
  await press("R", { shiftKey: true });
  expect(model.sent[1]).toEqual({ _jump: { n: 2, outcome: "right", step: -1 } });
  model.fromKernel({ _jumped: { n: 2, found: false, left: 1200 } });
  await frame();
  expect(find("[aria-live]").textContent).toContain("1,200 sentences left");
});

test("the table lists every arc when it is opened", async () => {
  const { el, find } = await show();
  const details = find<HTMLDetailsElement>("details");
  expect(el.querySelectorAll("tbody tr")).toHaveLength(0);
  details.open = true;
  details.dispatchEvent(new Event("toggle"));
  const rows = [...el.querySelectorAll("tbody tr")].map((row) =>
    [...row.children].map((cell) => cell.textContent),
  );
  expect(rows).toEqual([
    ["1 Cats", "nsubj", "2 <b>eat</b>", "2 <b>eat</b>", "0.5", "right"],
    ["2 <b>eat</b>", "root", "", "", "", ""],
    ["3 fish", "obj", "2 <b>eat</b>", "1 Cats", "0.25", "wrong"],
  ]);
});

test("without a head the tree stands alone and the widget says what to do", async () => {
  const drawn = drawnCats({ head: null, predicted: null });
  const { model, el, press } = await show({ selected: [], _drawn: drawn });
  expect(el.textContent).toContain("Select a head");
  expect(el.querySelectorAll(".attnw-arcs-below g")).toHaveLength(0);
  await press("w");
  expect(model.sent).toEqual([]);
});

test("what cannot be drawn is said, errors take the place, leaving removes all", async () => {
  const { model, el, find } = await show();
  const none = { words: [], relations: [], governors: drawnCats({}).governors };
  none.governors = { shape: [0], dtype: "<i4", view: new DataView(new ArrayBuffer(0)) };
  model.fromKernel({ _drawn: drawnCats({ ...none, predicted: null, problem: "too <b>long</b>" }) });
  await frame();
  expect(el.textContent).toContain("too <b>long</b>");
  expect(find<HTMLElement>(".attnw-arcs-body").hidden).toBe(true);
  model.fromKernel({ _error: "closed" });
  await frame();
  expect(find("[role=alert]").textContent).toBe("closed");
  leave();
  model.fromKernel({ relation: "obj" });
  expect(el.childElementCount).toBe(0);
});

test("before the sentence arrives nothing breaks", async () => {
  const { model, find } = await mounted(arcs(), state({ _drawn: null, _measured: null }));
  for (const key of ["ArrowRight", "["]) {
    const pressed = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
    find(".attnw-arcs-body").dispatchEvent(pressed);
    await frame();
  }
  expect(model.get("layer")).toBe(0);
});

test("page and picture are captioned alike, and list the same numbers", async () => {
  const shown = state();
  const { el, find } = await show(shown);
  const { sheet, caption, table } = drawPicture(shown, {
    width: 480,
    theme: THEMES.light,
    density: 1,
    blank: false,
    dense: false,
    brief: false,
    caption: false,
  });
  expect(find(".attnw-arcs-caption").textContent).toBe(captionText(caption));
  const details = find<HTMLDetailsElement>("details");
  details.open = true;
  details.dispatchEvent(new Event("toggle"));
  const cells = (selector: string) => [...el.querySelectorAll(selector)].map((n) => n.textContent);
  expect(cells("thead th")).toEqual(table.columns);
  expect(cells("tbody tr > *")).toEqual(table.rows.flat());
  // The words on the page and in the picture have boxes of equal size.
  const stage = find(".attnw-drawn");
  const height = ["above", "below"].map((name) =>
    Number(find(`.attnw-arcs-${name}`).getAttribute("height")),
  );
  expect(sheet.figures).toEqual([
    {
      x: 8,
      y: expect.any(Number),
      width: Number.parseInt(stage.style.width, 10),
      height: (height[0] ?? 0) + 20 + (height[1] ?? 0),
    },
  ]);
});

test("where the system chooses the colors, arcs have all of them", () => {
  const arc: HangingArc = {
    governor: 0,
    dependent: 1,
    weight: 0.04,
    right: false,
    x0: 10,
    x1: 50,
    depth: 25,
    edge: undefined,
  };
  const look = (forced: boolean) => {
    const [group] = predictedArcs([arc], { ...THEMES.light, forced });
    const [line] = Array.isArray(group?.inside) ? group.inside : [];
    return [line?.attributes["stroke-opacity"], line?.attributes["stroke-width"]];
  };
  expect(look(false)).toEqual([0.8, 0.75]);
  expect(look(true)).toEqual([1, 0.75]);
});
