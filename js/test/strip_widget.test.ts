import { expect, test } from "vitest";
import { type StripState, sceneOf } from "../src/metric_strip/scene.js";
import { GAP, stripLayout } from "../src/metric_strip/strip_table.js";
import strip from "../src/metric_strip/widget.js";
import { tableRuler } from "../src/shared/labels.js";
import { frame, leave, mounted } from "./mounted.js";
import { wireOf } from "./wire_of.js";

const metrics = (stack: string): StripState["_metrics"] => ({
  stack,
  titles: ["entropy", "<b>loss</b>"],
  values: wireOf(Float32Array.from([1, 2, 3, 4, -0.5, 0, 0, 0.25]), [2, 2, 2]),
  similar: wireOf(Int32Array.from([1, 0, 3, 2]), [4, 1]),
});

async function show(change: Partial<StripState> = {}) {
  const { model, el } = await mounted(strip(), {
    selected: [],
    layer: 0,
    _error: "",
    _metrics: metrics("self"),
    ...change,
  } as StripState);
  const cells = () =>
    [...el.querySelectorAll("tbody tr")].map((row) =>
      [...row.children].map((cell) => cell.textContent),
    );
  return { model, el, cells };
}

test("a row a metric: value, range and percentile of the shown head", async () => {
  const { model, el, cells } = await show({
    selected: [
      [0, 0, "self"],
      [1, 0, "self"],
    ],
  });
  expect(el.querySelector("caption")?.textContent).toBe("L1 H0");
  expect(cells()).toEqual([
    ["entropy", "3", "1 to 4", "67\u00a0%"],
    ["<b>loss</b>", "0", "−0.5 to 0.25", "50\u00a0%"],
  ]);
  expect(el.querySelectorAll("th[scope=row]")).toHaveLength(2);
  expect(el.querySelector(".attnw-strip-caption")?.textContent).toContain("2 selected heads");
  model.fromKernel({ selected: [[0, 1, "self"]] });
  await frame();
  expect(cells()[0]?.[1]).toBe("2");
});

test("values that differ by rounding are one value, without an order", () => {
  const mean = 1 / 15;
  const near = [mean, mean + 6e-9, mean - 4e-9, mean];
  const rowOf = (values: number[]) =>
    sceneOf({
      selected: [[0, 1, "self"]],
      _metrics: {
        stack: "self",
        titles: ["mean"],
        similar: wireOf(new Int32Array(4), [4, 1]),
        values: wireOf(Float32Array.from(values), [1, 2, 2]),
      },
    } as unknown as StripState)?.rows[0];
  const row = rowOf(near);
  expect(row?.percentile).toBe(50);
  expect([row?.low, row?.value]).toEqual([row?.high, row?.high]);
  const apart = rowOf([mean, mean + 1e-5, mean, mean]);
  expect([apart?.percentile, (apart?.high ?? 0) > (apart?.low ?? 1)]).toEqual([100, true]);
});

test("without a head it says what to do; an error takes its place", async () => {
  const { model, el } = await show();
  expect(el.querySelector<HTMLElement>(".attnw-strip-box")?.hidden).toBe(true);
  expect(el.textContent).toContain("Select a head");
  model.fromKernel({ _error: "no metrics" });
  await frame();
  expect(el.querySelector("[role=alert]")?.textContent).toBe("no metrics");
  leave();
  expect(el.childElementCount).toBe(0);
});

test("the table waits for the metrics of the head's stack", async () => {
  const { model, el, cells } = await show({ selected: [[0, 0, "self"]] });
  model.fromKernel({ selected: [[1, 1, "cross"]] });
  await frame();
  expect(el.querySelector("caption")?.textContent).toBe("L0 H0");
  model.fromKernel({ _metrics: metrics("cross") });
  await frame();
  expect(el.querySelector("caption")?.textContent).toBe("cross L1 H1");
  expect(cells()[0]?.[1]).toBe("4");
});

test.each([200, 320, 480, 1200, 3000])("columns and rows fill a table of %s px", (room) => {
  const shown = metrics("self");
  const long = `${"x".repeat(60)} ${"y ".repeat(40)}`;
  const state = {
    selected: [[1, 0, "self"]],
    layer: 1,
    _error: "",
  } as unknown as StripState;
  const scene = sceneOf({ ...state, _metrics: shown && { ...shown, titles: [long, "loss"] } });
  if (!scene) throw new Error("no scene");
  const { width, height, columns, rows } = stripLayout(scene, {
    width: room,
    font: "Arial",
    ruler: tableRuler,
    density: 1,
  });
  expect(columns.reduce((sum, column) => sum + column, 3 * GAP)).toBe(width);
  expect(width).toBeGreaterThanOrEqual(Math.min(room, 1184));
  expect(Math.min(...columns)).toBeGreaterThan(0);
  const [first, last] = rows;
  expect(first?.lines.join("").replaceAll(" ", "")).toBe(long.replaceAll(" ", ""));
  const measure = tableRuler("12px Arial");
  for (const line of first?.lines ?? []) expect(measure(line)).toBeLessThanOrEqual(columns[0]);
  expect(last?.y).toBe((first?.y ?? 0) + (first?.height ?? 0));
  expect(height).toBe((last?.y ?? 0) + (last?.height ?? 0));
});

test("the lines of a long name are read as one", async () => {
  const shown = metrics("self");
  const titles = ["a name that is far too long for its column at any width that there is", "loss"];
  const { el } = await show({
    selected: [[0, 0, "self"]],
    _metrics: shown && { ...shown, titles },
  });
  const name = el.querySelector("th[scope=row]");
  expect(name?.querySelectorAll("br").length).toBeGreaterThan(0);
  expect(el.querySelector("[data-caption]")?.textContent).toBe(
    "Metrics of one head · L0 H0 (1-1) · 2 metrics · each strip from the smallest value to " +
      "the largest · 4 heads · percentile: the share of the other heads with a smaller " +
      "value, ties by half",
  );
});
