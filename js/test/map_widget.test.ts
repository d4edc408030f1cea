import { expect, test } from "vitest";
import type { MapState } from "../src/head_scatter/state.js";
import map from "../src/head_scatter/widget.js";
import { frame, leave, mounted } from "./mounted.js";
import { wireOf } from "./wire_of.js";

const GROUPS = [
  { name: "to [SEP]", slot: 1 },
  { name: "<b>other</b>", slot: -1 },
];

/** Return two layers of three heads on a horizontal line, half of them in each behavior. */
function state(change: Partial<MapState> = {}): MapState {
  const places = Float32Array.from([0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0]);
  return {
    selected: [],
    layer: 0,
    _error: "",
    _source: { model: "BertModel", quantity: "distances", note: "metric MDS · stress 0.1" },
    _heads: {
      stack: "self",
      positions: wireOf(places, [2, 3, 2]),
      groups: GROUPS,
      group: wireOf(Int32Array.from([0, 0, 0, 1, 1, 1]), [2, 3]),
    },
    ...change,
  };
}

async function show(change: Partial<MapState> = {}) {
  const { model, el, find } = await mounted(map(), state(change));
  const press = async (key: string, keys: KeyboardEventInit = {}) => {
    find("[role=listbox]").dispatchEvent(
      new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...keys }),
    );
    await frame();
  };
  const canvas = () => find<HTMLCanvasElement>("canvas.attnw-map");
  const layout = () => JSON.parse(canvas().dataset.layout ?? "{}");
  const point = (type: string, x: number, y = 0, keys: PointerEventInit = {}) => {
    const { scale, x0, y0 } = layout();
    const place = { clientX: x0 + scale * x, clientY: y0 - y, button: 0, bubbles: true };
    canvas().dispatchEvent(new PointerEvent(type, { pointerId: 1, ...place, ...keys }));
  };
  const drag = async (from: number, to: number, keys: PointerEventInit = {}) => {
    point("pointerdown", from, 9, keys);
    point("pointermove", (from + to) / 2, 0, keys);
    point("pointermove", to, -9, keys);
    point("pointerup", to, -9, keys);
    await frame();
  };
  return { model, el, find, press, point, drag };
}

test("arrows go to the nearest head, Enter and Space select, Escape clears", async () => {
  const { model, find, press } = await show();
  await press("ArrowRight");
  await press("ArrowRight");
  await press("Enter");
  expect(model.sent).toEqual([{ selected: [[0, 2, "self"]] }]);
  expect(find("[aria-live]").textContent).toBe("layer 0 head 2 selected");
  const option = find("[role=option]");
  expect(find("[role=listbox]").getAttribute("aria-activedescendant")).toBe(option.id);
  expect(option.getAttribute("aria-label")).toBe("layer 0 head 2, to [SEP], selected");
  expect([option.getAttribute("aria-posinset"), option.getAttribute("aria-setsize")]).toEqual([
    "3",
    "6",
  ]);
  await press("PageDown");
  await press(" ", { shiftKey: true });
  expect(model.get("selected")).toEqual([
    [0, 2, "self"],
    [1, 0, "self"],
  ]);
  await press(" ", { shiftKey: true });
  expect(model.get("selected")).toEqual([[0, 2, "self"]]);
  await press("Escape");
  expect(model.get("selected")).toEqual([]);
  expect(find("[aria-live]").textContent).toBe("no head selected");
});

test("a click selects the head under the pointer, with Shift adds it, elsewhere does nothing", async () => {
  const { model, point } = await show();
  const click = async (x: number, y: number, keys: PointerEventInit = {}) => {
    point("pointerdown", x, y, keys);
    point("pointerup", x, y, keys);
    await frame();
  };
  await click(4, 3);
  await click(1, 0, { shiftKey: true });
  await click(1.5, 90);
  expect(model.get("selected")).toEqual([
    [1, 1, "self"],
    [0, 1, "self"],
  ]);
  expect(model.get("layer")).toBe(0);
});

test("a rectangle selects what is in it; the shown head stays shown", async () => {
  const { model, drag } = await show({ selected: [[0, 1, "self"]] });
  await drag(0.5, 3.5);
  expect(model.get("selected")).toEqual([
    [0, 2, "self"],
    [1, 0, "self"],
    [0, 1, "self"],
  ]);
  expect(model.sent).toHaveLength(1);
  await drag(3.5, 4.5, { shiftKey: true });
  expect(model.get("selected")).toHaveLength(4);
});

test("Escape lets go of a rectangle first; a finger scrolls the page", async () => {
  const { model, press, point, drag } = await show({ selected: [[0, 0, "self"]] });
  point("pointerdown", 1.5, 9);
  point("pointermove", 5, -9);
  await press("Escape");
  point("pointerup", 5, -9);
  await frame();
  await drag(1.5, 5.5, { pointerType: "touch" });
  expect(model.get("selected")).toEqual([[0, 0, "self"]]);
});

test("an empty rectangle is said and changes nothing", async () => {
  const { model, find, drag } = await show({ selected: [[0, 0, "self"]] });
  await drag(1.2, 1.8);
  expect(model.sent).toEqual([]);
  expect(find("[aria-live]").textContent).toBe("no head there");
});

test("a behavior of the legend selects its heads; its name is text", async () => {
  const { model, el, find } = await show();
  const buttons = [...el.querySelectorAll<HTMLButtonElement>(".attnw-map-group")];
  expect(buttons.map((button) => button.textContent)).toEqual(["to [SEP]3", "<b>other</b>3"]);
  buttons[1]?.click();
  await frame();
  expect(model.get("selected")).toHaveLength(3);
  expect(find(".attnw-map-readout").textContent).toBe("selected 3 heads: L1 H0, L1 H1, L1 H2");
  expect(el.querySelector("b")).toBeNull();
});

test("colors stand for behaviors, or for layers without any; the caption says which", async () => {
  const { model, find } = await show();
  expect(find(".attnw-map-groups").hidden).toBe(false);
  expect(find(".attnw-map-scale").hidden).toBe(true);
  expect(find(".attnw-map-caption").textContent).toContain("colors and shapes: behaviors");
  const plain = state();
  if (plain._heads) plain._heads.groups = [];
  model.fromKernel({ _heads: plain._heads });
  await frame();
  expect(find(".attnw-map-groups").hidden).toBe(true);
  expect(find(".attnw-map-scale").hidden).toBe(false);
  expect(find(".attnw-map-caption").textContent).toBe(
    "Map of attention heads · BertModel · distances · numbers and colors: layers, small numbers: heads, from 0 · " +
      "6 heads · metric MDS · stress 0.1",
  );
});

test("brackets step the layer, and question mark lists the keys", async () => {
  const { model, find, press } = await show({ selected: [[0, 2, "self"]] });
  await press("]");
  expect(model.sent).toEqual([{ layer: 1, selected: [[1, 2, "self"]] }]);
  expect(find(".attnw-keys").hidden).toBe(true);
  await press("?");
  expect(find(".attnw-keys").hidden).toBe(false);
  expect(find("[aria-label='show the keys']").getAttribute("aria-expanded")).toBe("true");
});

test("Escape hides the keys before it clears the selection", async () => {
  const { model, find, press } = await show({ selected: [[0, 2, "self"]] });
  await press("?");
  await press("Escape");
  expect(find(".attnw-keys").hidden).toBe(true);
  expect(find("[aria-label='show the keys']").getAttribute("aria-expanded")).toBe("false");
  expect(model.sent).toEqual([]);
  await press("Escape");
  expect(model.sent).toEqual([{ selected: [] }]);
});

test("an error stands in the widget's place; leaving removes every listener", async () => {
  const { model, el, find } = await show({ _error: "no <b>place</b>" });
  expect(find("[role=alert]").textContent).toBe("no <b>place</b>");
  leave();
  model.fromKernel({ selected: [[0, 0, "self"]] });
  expect(el.childElementCount).toBe(0);
});

test("before the positions arrive, and with heads of another stack, nothing breaks", async () => {
  const { model, press, find } = await show({ _heads: null, selected: [[9, 9, "cross"]] });
  await press("ArrowRight");
  await press("Enter");
  expect(model.sent).toEqual([]);
  expect(find("[role=listbox]").getAttribute("aria-activedescendant")).toBeNull();
});
