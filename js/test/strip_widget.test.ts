import { afterEach, expect, test } from "vitest";
import type { StripState } from "../src/model/head_types.js";
import strip from "../src/widgets/metric_strip.js";
import { fakeModel } from "./fake_model.js";
import { wireOf } from "./wire_of.js";

const metrics = (stack: string): StripState["_metrics"] => ({
  stack,
  titles: ["entropy", "<b>loss</b>"],
  values: wireOf(Float32Array.from([1, 2, 3, 4, -0.5, 0, 0, 0.25]), [2, 2, 2]),
  similar: wireOf(Int32Array.from([1, 0, 3, 2]), [4, 1]),
});

const frame = () => new Promise((resolve) => setTimeout(resolve, 60));
let controller = new AbortController();
afterEach(() => {
  controller.abort();
  controller = new AbortController();
});

async function show(change: Partial<StripState> = {}) {
  const model = fakeModel<StripState>({
    ...{ selected: [], layer: 0, _error: "", _metrics: metrics("self") },
    ...change,
  });
  const el = document.createElement("div");
  document.body.append(el);
  strip().render({ model, el, signal: controller.signal });
  await frame();
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
  expect(el.querySelector("caption")?.textContent).toBe("L1 H0 · 2-1");
  expect(cells()).toEqual([
    ["entropy", "3", "1 to 4", "67 %"],
    ["<b>loss</b>", "0", "−0.5 to 0.25", "50 %"],
  ]);
  expect(el.querySelectorAll("th[scope=row]")).toHaveLength(2);
  expect(el.querySelector(".attnw-strip-caption")?.textContent).toContain("2 selected heads");
  model.fromKernel({ selected: [[0, 1, "self"]] });
  await frame();
  expect(cells()[0]?.[1]).toBe("2");
});

test("without a head it says what to do; an error takes its place", async () => {
  const { model, el } = await show();
  expect(el.querySelector<HTMLElement>(".attnw-strip-box")?.hidden).toBe(true);
  expect(el.textContent).toContain("Select a head");
  model.fromKernel({ _error: "no metrics" });
  await frame();
  expect(el.querySelector("[role=alert]")?.textContent).toBe("no metrics");
  controller.abort();
  expect(el.childElementCount).toBe(0);
});

test("the table waits for the metrics of the head's stack", async () => {
  const { model, el, cells } = await show({ selected: [[0, 0, "self"]] });
  model.fromKernel({ selected: [[1, 1, "cross"]] });
  await frame();
  expect(el.querySelector("caption")?.textContent).toBe("L0 H0 · 1-1");
  model.fromKernel({ _metrics: metrics("cross") });
  await frame();
  expect(el.querySelector("caption")?.textContent).toBe("cross L1 H1 · 2-2");
  expect(cells()[0]?.[1]).toBe("4");
});
