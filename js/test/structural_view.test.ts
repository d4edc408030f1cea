import { expect, test } from "vitest";
import { matricesLayout, matrixPixels, pairAt } from "../src/dependency_arcs/distances_paint.js";
import { pageModel } from "../src/dependency_arcs/page.js";
import { drawPicture } from "../src/dependency_arcs/picture.js";
import { captionOf, sceneOf, tableOf } from "../src/dependency_arcs/scene.js";
import type { ArcsState, DrawnSentence } from "../src/dependency_arcs/state.js";
import arcs from "../src/dependency_arcs/widget.js";
import { lookup } from "../src/shared/color.js";
import { AXIS_LABEL_SIZE, labelFont, tableRuler } from "../src/shared/labels.js";
import { THEMES } from "../src/shared/theme.js";
import { drawnCats } from "./drawn_cats.js";
import { frame, mounted } from "./mounted.js";
import { wireOf } from "./wire_of.js";

/**
 * Return "Cats eat fish" with a predicted tree: the first word depends on the second as annotated,
 * the third on the first, and "fish" is the predicted root.
 */
function drawn(layer = 2): DrawnSentence {
  return drawnCats({
    head: null,
    predicted: null,
    structure: {
      layer,
      root: 2,
      links: wireOf(Int32Array.from([0, 1, 1, 0, 2, 0]), [2, 3]),
      found: wireOf(Int32Array.from([1, 0, 0]), [3]),
      gold: wireOf(Int32Array.from([0, 1, 2, 1, 0, 1, 2, 1, 0]), [3, 3]),
      distances: wireOf(Float32Array.from([0, 1.5, 0.5, 1.5, 0, 4, 0.5, 4, 0]), [3, 3]),
      depths: wireOf(Float32Array.from([1, 0.75, 0.25]), [3]),
    },
  });
}

const state = (change: Partial<ArcsState> = {}): ArcsState => ({
  selected: [],
  layer: 2,
  _error: "",
  relation: "all",
  sentence: 0,
  _drawn: drawn(),
  _measured: null,
  _jump: {},
  _jumped: {},
  word: null,
  _source: {
    model: "BertModel",
    note: "UUAS 60.0 %",
    count: 9,
    layers: 4,
    answerer: { kind: "structural probe", name: "structural probe", layers: [1, 2] },
    relations: ["all", "nsubj", "obj"],
  },
  ...change,
});

const sceneWith = (change: Partial<ArcsState> = {}) => {
  const scene = sceneOf(state(change));
  if (!scene) throw new Error("nothing is drawn");
  return scene;
};

test(
  "links have no direction, the word taken for the root has an arc, and words are right " +
    "or wrong",
  () => {
    const { shown, title, rightness } = sceneWith();
    expect(shown).toEqual([
      { governor: 1, dependent: 0, weight: 0.2, right: true, isLink: true },
      { governor: 0, dependent: 2, weight: 0.2, right: false, isLink: true },
      { governor: -1, dependent: 2, weight: 0.2, right: false },
    ]);
    expect(title).toBe("structural probe · layer 2 · all relations · annotated and predicted arcs");
    expect(rightness).toBe("right on 1 of 3 words here");
    const ofSubjects = sceneWith({ relation: "nsubj" });
    expect(ofSubjects.shown.map(({ right }) => right)).toEqual([true]);
    expect(ofSubjects.rightness).toBe("right on 1 of 1 word here");
    expect(captionOf(sceneWith())).toMatchObject({
      head: "structural probe, layer 2",
      scale: "linear, 0 to 4.0 in both matrices",
    });
    expect(tableOf(sceneWith()).rows).toEqual([
      ["1 Cats", "nsubj", "2 <b>eat</b>", "2 <b>eat</b>, 3 fish", "right", "1.0"],
      ["2 <b>eat</b>", "root", "", "1 Cats", "wrong", "0.8"],
      ["3 fish", "obj", "2 <b>eat</b>", "1 Cats, root", "wrong", "0.3"],
    ]);
  },
);

test("matrices stand beside each other, or above where their cells would be too small", () => {
  const measure = () => 40;
  const wide = matricesLayout(["a", "b", "c"], 640, measure);
  expect(wide).toMatchObject({ cell: 18, labels: 46 });
  expect(wide.corners[0]?.[1]).toBe(wide.corners[1]?.[1]);
  const words = Array.from({ length: 30 }, () => "word");
  const narrow = matricesLayout(words, 480, measure);
  expect(narrow.corners[0]?.[0]).toBe(narrow.corners[1]?.[0]);
  expect(narrow.width).toBeLessThanOrEqual(480);
  // Labels that would overlap their neighbors are left out, and nothing exceeds the available
  // width.
  const many = matricesLayout(
    Array.from({ length: 400 }, () => "word"),
    480,
    measure,
  );
  expect(many.labels).toBe(0);
  expect(many.width).toBeLessThanOrEqual(480);
  const [[left = 0, top = 0] = [], [second = 0] = []] = wide.corners;
  expect(pairAt(wide, left + 1, top + 19)).toEqual([1, 0]);
  expect(pairAt(wide, second + 37, top + 1)).toEqual([0, 2]);
  expect(pairAt(wide, left - 1, top)).toBeUndefined();
});

test("both matrices have one scale, whose zero is the ground", () => {
  const distances = sceneWith().answers?.distances;
  if (!distances) throw new Error("no distances");
  const [gold, predicted] = matrixPixels(distances, 3, THEMES.light);
  const colors = lookup(false);
  expect([...(gold?.words ?? [])].slice(0, 3)).toEqual([0, 64, 128].map((byte) => colors[byte]));
  expect(predicted?.words[5]).toBe(colors[255]);
});

test("the picture has both figures, and says the held word's distances", () => {
  const request = {
    theme: THEMES.light,
    width: 640,
    density: 1,
    blank: false,
    dense: false,
    brief: false,
    caption: false,
  };
  const { sheet } = drawPicture(state({ word: 0 }), request);
  expect(sheet.figures).toHaveLength(2);
});

async function show() {
  const widget = await mounted(arcs(), state());
  const canvas = widget.find<HTMLCanvasElement>(".attnw-arcs-matrices .attnw-drawn canvas");
  const words = widget.find<HTMLElement>("[role=listbox]");
  const send = async (node: Element, event: Event) => {
    node.dispatchEvent(event);
    await frame();
  };
  const press = (key: string) =>
    send(words, new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  return {
    ...widget,
    words,
    canvas,
    send,
    press,
    readout: () => widget.find(".attnw-arcs-readout").textContent,
  };
}

test("a cell tells of two words and is held by its row; so do the keys", async () => {
  const { model, find, words, canvas, send, press, readout } = await show();
  expect(canvas.getAttribute("aria-label")).toBe(
    "annotated distances and predicted distances between 3 words",
  );
  // Point at the last column of the last row of the second matrix.
  const measure = tableRuler(labelFont("Arial", false, AXIS_LABEL_SIZE));
  const { cell, corners } = matricesLayout(["Cats", "<b>eat</b>", "fish"], 640, measure);
  const [clientX = 0, clientY = 0] = (corners[1] ?? []).map((corner) => corner + 2.5 * cell);
  const at = { clientX, clientY, bubbles: true };
  await send(canvas, new MouseEvent("pointermove", at));
  expect(words.querySelector(".attnw-arcs-active")?.textContent).toBe("fish");
  expect(readout()).toContain("Click a word for its distances");
  await send(canvas, new MouseEvent("click", at));
  expect(readout()).toContain("fish: obj of <b>eat</b> · linked to Cats, root");
  expect(model.get("word")).toBe(2);
  await send(canvas, new MouseEvent("pointerleave"));
  await press("Escape");
  expect(model.get("word")).toBeNull();
  expect(readout()).toContain("Click a word for its distances");

  await press("Home");
  await press("Enter");
  expect(model.get("word")).toBe(0);
  expect(readout()).toContain("predicted (annotated) distances: fish 0.5 (2) · <b>eat</b> 1.5 (1)");
  await press("End");
  expect(readout()).toContain("fish – Cats: 2 edges apart, predicted 0.5");
  expect(find("[data-label=layer] select")).toHaveProperty("value", "2");
  expect(find<HTMLElement>(".attnw-arcs-shading").textContent).toBe("");
});

test("the layer is chosen among those that were probed; a page holds them all", async () => {
  const { model, find } = await mounted(arcs(), state());
  const select = find<HTMLSelectElement>("[data-label=layer] select");
  expect([...select.options].map(({ text }) => text)).toEqual(["1", "2"]);
  select.value = "1";
  select.dispatchEvent(new Event("change", { bubbles: true }));
  expect(model.get("layer")).toBe(1);

  const own = { probe: { 1: drawn(1), 2: drawn(2) }, notes: { 1: "UUAS 50.0 %", 2: "" } };
  const held = pageModel({ state: state(), own, shapes: { self: [4, 2] } } as never, {});
  held.set("layer", 1);
  expect(held.get("_drawn")?.structure?.layer).toBe(1);
  expect(held.get("_source").note).toBe("UUAS 50.0 %");
});
