import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { shownStep, stepNote } from "../src/head_view/aside/generation_steps.js";
import type { Steps, ViewState } from "../src/head_view/state.js";
import headView from "../src/head_view/widget.js";
import { fakeModel } from "./fake_model.js";
import { axes, weights } from "./four_tokens.js";
import { tileOf, viewState } from "./view_state.js";
import { wireOf } from "./wire_of.js";

/** Generation steps: the model generated two of the four tokens. */
const STEPS: Steps = {
  first: 1,
  count: 2,
  chosen: [0.5, 0.25],
  rivals: [[["dog", 0.125]], [[".", 0.0625]]],
  problem: "",
};

const state = (patch: Partial<ViewState> = {}) =>
  viewState({
    _tile: tileOf(wireOf(Float32Array.from(weights.flat()), [4, 4])),
    _steps: STEPS,
    ...patch,
  });

let ended = new AbortController();
beforeEach(() => {
  ended = new AbortController();
});
afterEach(() => ended.abort());

const frame = () => vi.waitFor(() => new Promise((done) => requestAnimationFrame(() => done(0))));

async function show(patch: Partial<ViewState> = {}) {
  const model = fakeModel<ViewState>(state(patch));
  const el = document.createElement("div");
  document.body.append(el);
  headView().render({ model, el, signal: ended.signal });
  await frame();
  await frame();
  const steps = el.querySelector<HTMLElement>(".attnw-steps");
  const slider = el.querySelector<HTMLInputElement>(".attnw-steps input");
  if (!steps || !slider) throw new Error("no slider");
  const slide = async (to: number) => {
    slider.value = String(to);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await frame();
    await frame();
  };
  const answers = () =>
    [...steps.querySelectorAll("li")].map((item) => item.textContent?.trim().split(/\s+/));
  return { model, steps, slider, slide, answers };
}

test("the slider locks the query that a token was written from, and keeps locked keys", async () => {
  const { model, slider, slide, steps } = await show({ tokens: [["key", 0]] });
  expect([slider.max, slider.value]).toEqual(["2", "0"]);
  expect(steps.textContent).toContain("Move the slider");
  await slide(2);
  expect(model.get("tokens")).toEqual([
    ["key", 0],
    ["query", 2],
  ]);
  await slide(0);
  expect(model.get("tokens")).toEqual([["key", 0]]);
});

test("the chosen token and its rivals stand beside the slider with their probabilities", async () => {
  const { slider, slide, steps, answers } = await show();
  expect(answers()).toEqual([]);
  await slide(1);
  expect(answers()).toEqual([
    [axes.query.text[2], "50", "%"],
    ["dog", "13", "%"],
  ]);
  expect(steps.querySelector("output")?.textContent).toBe("1 of 2");
  expect(slider.getAttribute("aria-valuetext")).toBe(
    `generated token 1 of 2: ${axes.query.text[2]} 50\u00a0%, rivals dog 13\u00a0%`,
  );
});

test("a lock in the figure moves the slider", async () => {
  const { model, slider } = await show();
  model.set("tokens", [["query", 2]]);
  model.save_changes();
  await frame();
  await frame();
  expect(slider.value).toBe("2");
});

test("without probabilities the reason stands beside the slider", async () => {
  const problem = "the model was closed";
  const { slide, steps, answers } = await show({
    _steps: { ...STEPS, chosen: [], rivals: [], problem },
  });
  await slide(1);
  expect(steps.textContent).toContain(problem);
  expect(answers()).toEqual([]);
});

test("texts that no model wrote have no slider", async () => {
  const { steps } = await show({ _steps: null });
  expect(steps.hidden).toBe(true);
});

test("steps belong to tokens of the text that the model wrote", () => {
  const at = (patch: Partial<ViewState>) => state({ tokens: [["query", 2]], ...patch });
  expect(shownStep(at({}))).toBe(2);
  expect(stepNote(at({}))).toBe(
    `generated token 2 of 2: ${axes.query.text[3]} 25\u00a0%, rivals “.” 6.3\u00a0%`,
  );
  expect(shownStep(at({ tokens: [["query", 0]] }))).toBe(0);
  expect(shownStep(at({ tokens: [["query", 3]] }))).toBe(0);
  expect(shownStep(at({ tokens: [["key", 2]] }))).toBe(0);
  expect(shownStep(at({ _axes: { ...axes, unit: "words" } }))).toBe(0);
  expect(stepNote(at({ _axes: { ...axes, stack: "encoder" } }))).toBe("");
  expect(stepNote(at({ _steps: null }))).toBe("");
});
