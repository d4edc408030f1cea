import { expect, test } from "vitest";
import { arrange } from "../src/relation_table/layout.js";
import { drawPicture } from "../src/relation_table/picture.js";
import { decodeRelations, sceneOf } from "../src/relation_table/scene.js";
import type { TableState } from "../src/relation_table/state.js";
import table from "../src/relation_table/widget.js";
import { captionText } from "../src/shared/caption.js";
import { canvasSize } from "../src/shared/cells.js";
import { tableRuler } from "../src/shared/labels.js";
import { UNATTACHED } from "../src/shared/look.js";
import { frame, leave, mounted } from "./mounted.js";
import { withOtherTexts } from "./relation_numbers.js";
import { request, tableState } from "./relation_state.js";

async function show(change: Partial<TableState> = {}) {
  const { model, el, find } = await mounted(table(), tableState(change));
  const names = () => [...el.querySelectorAll("tbody th")].map((cell) => cell.textContent);
  const row = (name: string) =>
    [...el.querySelectorAll<HTMLButtonElement>("tbody button")].find(
      ({ textContent }) => textContent === name,
    );
  const press = async (target: Element, key: string, keys: KeyboardEventInit = {}) => {
    target.dispatchEvent(
      new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...keys }),
    );
    await frame();
  };
  const type = async (selector: string, value: string, event = "input") => {
    const field = find<HTMLInputElement>(selector);
    field.value = value;
    field.dispatchEvent(new Event(event, { bubbles: true }));
    await frame();
  };
  return { model, el, find, names, row, press, type };
}

test("a real table: caption, headings with their order, a row a relation", async () => {
  const { el, find, names } = await show();
  expect(find("caption").textContent).toBe("3 of 3 rows · by n, largest first");
  expect(names()).toEqual(["all", "det", "<b>obj</b>"]);
  expect(el.querySelector("tbody th b")).toBeNull();
  expect(el.querySelectorAll("th[scope=col]")).toHaveLength(7);
  expect([...el.querySelectorAll("[aria-sort]")].map((cell) => cell.textContent)).toEqual(["n▼"]);
  const cells = [...(el.querySelectorAll("tbody tr")[1]?.children ?? [])];
  expect(cells.map((cell) => cell.textContent)).toEqual([
    "det",
    "20",
    "L1 H0",
    "dependentgovernor to dependent",
    "90, interval 70–97",
    "50 offset +1",
    "40* significant",
  ]);
});

test("a row chooses its relation, direction and head in one message; Escape takes it back", async () => {
  const { model, find, row, press } = await show();
  row("det")?.click();
  await frame();
  const head = [1, 0, "self"];
  const direction = "governor to dependent";
  expect(model.sent).toEqual([{ relation: "det", direction, selected: [head], layer: 1 }]);
  expect(row("det")?.getAttribute("aria-pressed")).toBe("true");
  expect(find("[aria-live]").textContent).toBe("det: layer 1 head 0 selected");
  expect(find(".attnw-rel-readout").textContent).toContain("L1 H0: 90\u00a0% of 20 words");
  await press(find("table"), "Escape");
  expect(model.get("relation")).toBe("all");
  expect(model.get("selected")).toEqual([]);
});

test("a relation and a head that the kernel chose are taken back together", async () => {
  const { model, find, press } = await show();
  model.fromKernel({ relation: "det", selected: [[1, 0, "self"]], layer: 1 });
  await frame();
  await press(find("table"), "Escape");
  expect([model.get("relation"), model.get("selected")]).toEqual(["all", []]);
});

test("arrows move between rows, one of which Tab reaches", async () => {
  const { el, row, press } = await show();
  row("all")?.focus();
  await press(row("all") as Element, "ArrowDown");
  expect(document.activeElement).toBe(row("det"));
  await press(row("det") as Element, "End");
  expect(document.activeElement).toBe(row("<b>obj</b>"));
  expect(el.querySelectorAll("tbody button[tabindex='0']")).toHaveLength(1);
});

test("headings sort, the row that has the keyboard keeps it", async () => {
  const { model, el, names, row } = await show();
  row("det")?.focus();
  el.querySelector<HTMLButtonElement>("thead button")?.click();
  await frame();
  expect(model.sent).toEqual([{ sort: "relation", descending: false }]);
  expect(names()).toEqual(["<b>obj</b>", "all", "det"]);
  expect(el.querySelector("[aria-sort]")?.getAttribute("aria-sort")).toBe("ascending");
});

test("the count filters rows; typing is no command", async () => {
  const { model, find, names, press, type } = await show();
  await type("input[type=number]", "20");
  expect(names()).toEqual(["all", "det"]);
  await press(find("input[type=number]"), "?");
  await press(find("input[type=number]"), "d");
  expect(find("dl").hidden).toBe(true);
  await type("input[type=number]", "2000");
  expect(find(".attnw-rel-nothing").hidden).toBe(false);
  await type("input[type=number]", "");
  expect(model.get("min_count")).toBe(2000);
});

test("the map is a grid: arrows move, Enter selects, Shift adds", async () => {
  const { model, find, press } = await show({ relation: "det", selected: [[0, 0, "self"]] });
  const grid = find("[role=grid]");
  expect(grid.getAttribute("aria-label")).toContain("every head on det");
  await press(grid, "ArrowRight");
  const cell = find("[role=gridcell]");
  expect(cell.getAttribute("aria-label")).toContain("layer 0 head 1, 10\u00a0% of 20 words");
  await press(grid, "Enter");
  await press(grid, "ArrowDown");
  await press(grid, " ", { shiftKey: true });
  expect(model.get("selected")).toEqual([
    [0, 1, "self"],
    [1, 1, "self"],
  ]);
  await press(grid, "d");
  expect(model.get("direction")).toBe("governor to dependent");
  await press(grid, "[");
  expect(model.get("layer")).toBe(0);
});

test("what the kernel sets is shown; an error takes the place; leaving removes all", async () => {
  const { model, el, find, row } = await show();
  model.fromKernel({ relation: "det" });
  await frame();
  expect(row("det")?.getAttribute("aria-pressed")).toBe("true");
  model.fromKernel({ _error: "no <b>table</b>" });
  await frame();
  expect(find("[role=alert]").textContent).toBe("no <b>table</b>");
  leave();
  model.fromKernel({ relation: "all" });
  expect(el.childElementCount).toBe(0);
});

test("before the numbers arrive nothing breaks", async () => {
  const { press, find, names } = await show({ _numbers: null });
  await press(find("[role=grid]"), "Enter");
  expect(names()).toEqual([]);
});

test("texts stand where the layout says; the caption is the picture's word for word", async () => {
  // A picture has the row of all words only if it has no other row.
  const state = tableState({ relation: "det", selected: [[1, 0, "self"]], min_count: 50 });
  const { find, el } = await show(state);
  const found = state._numbers ? decodeRelations(state._numbers) : undefined;
  const { caption, sheet } = drawPicture(state, request(UNATTACHED + 16));
  expect(find(".attnw-rel-caption").textContent).toBe(captionText(caption));
  const { table: layout, heat } = arrange(sceneOf(state, found), {
    width: UNATTACHED,
    font: "sans-serif",
    ruler: tableRuler,
    density: 1,
  });
  const widths = [...el.querySelectorAll<HTMLElement>("col")].map(({ style }) => style.width);
  expect(widths).toEqual(Object.values(layout.columns).map(({ whole }) => `${whole}px`));
  expect(find("table").style.width).toBe(`${layout.width}px`);
  const bars = find(".attnw-rel-bars canvas");
  const place = (bars.parentElement as HTMLElement).style;
  const rows = el.querySelectorAll("tbody tr").length;
  expect([bars.style.width, bars.style.height]).toEqual([`${layout.bar}px`, `${25 * rows}px`]);
  expect([place.left, place.top]).toEqual([
    `${layout.columns.accuracy.left}px`,
    `${layout.top + 25}px`,
  ]);
  expect(JSON.parse(find(".attnw-rel-map").dataset.layout ?? "")).toEqual(heat);
  expect(sheet.figures.map(({ width, height }) => [width, height])).toEqual([
    [layout.width, layout.height],
    canvasSize(heat),
  ]);
  expect(el.querySelectorAll(".attnw-drawn")).toHaveLength(2);
});

test("the page has the accuracy on other texts between accuracy and offset", async () => {
  const { find, el } = await show(tableState({ _numbers: withOtherTexts() }));
  const headings = [...el.querySelectorAll("thead th span:first-child")].map(
    ({ textContent }) => textContent,
  );
  expect(headings.slice(4, 7)).toEqual(["accuracy %", "on EWT %", "offset %"]);
  const cells = [...find("tbody tr").querySelectorAll("td")].map(({ textContent }) => textContent);
  expect(cells).toHaveLength(headings.length - 1);
  expect(cells[4]).toBe("30.0");
  expect(find(".attnw-rel-name").title).toContain("on EWT: 30.0");
  expect(find(".attnw-rel-name").title).toContain("best offset there 20.0");
});
