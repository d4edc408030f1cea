import { render } from "lit-html";
import { expect, test, vi } from "vitest";
import { headStrip } from "../src/explorer/head_strip/head_strip.js";
import { paintWithScale } from "../src/explorer/head_strip/strip_paint.js";
import {
  barHeight,
  HALF,
  NAME_HEIGHT,
  SCALE_WIDTH,
  STRIP_HEIGHT,
  scaleTexts,
  stripScene,
  stripText,
} from "../src/explorer/head_strip/strip_scene.js";
import type { AnswerEffects } from "../src/explorer/sentence/answer_effects.js";
import { tableRuler } from "../src/shared/labels.js";
import type { Look } from "../src/shared/look.js";
import { SvgPen } from "../src/shared/picture/svg_pen.js";
import { THEMES } from "../src/shared/theme.js";
import type { Head } from "../src/shared/types.js";

const LOOK: Look = {
  theme: THEMES.light,
  width: 600,
  font: "sans-serif",
  ruler: tableRuler,
  density: 1,
};

/** Return effects on "he", which has 73 %, of some heads; all other heads have none. */
function effectsOf(
  [layers, heads]: [number, number],
  changes: Record<number, number>,
  change: Partial<AnswerEffects> = {},
): AnswerEffects {
  const values = new Float32Array(layers * heads);
  for (const [at, value] of Object.entries(changes)) values[Number(at)] = value;
  return {
    stack: "self",
    layers,
    heads,
    method: "uniform",
    followed: "he",
    name: "he",
    probability: 0.73,
    areOthersOff: false,
    values,
    ofAnswer: new Map([["he", values]]),
    ...change,
  };
}

const NONE: Head = [9, 9, "other"];
/** L2 H11 loses 37 points, L1 H8 20 points, and L1 H4 gains 6 points. */
const CAPTAIN = effectsOf([6, 12], { 35: -0.37, 20: -0.2, 16: 0.06 });

const namesIn = (effects: AnswerEffects, width: number, shown = NONE, isPointed = false) =>
  stripScene(effects, shown, isPointed, { width, look: LOOK }).names.map(
    ({ name, change }) => `${name} ${change}`,
  );

test("the three heads with the largest changes from two points on are named", () => {
  expect(namesIn(CAPTAIN, 512)).toEqual(["L2 H11 −37", "L1 H8 −20", "L1 H4 +6"]);
  expect(namesIn(effectsOf([6, 12], { 3: 0.019, 40: -0.021 }), 512)).toEqual(["L3 H4 −2"]);
});

test("a head under the pointer is named with its answer, before the others", () => {
  expect(namesIn(CAPTAIN, 512, [2, 11, "self"], true)[0]).toBe("L2 H11 he 73\u00a0% → 36\u00a0%");
  expect(namesIn(CAPTAIN, 512, [0, 0, "self"], true)[0]).toBe("L0 H0 he stays 73\u00a0%");
});

test("names touch neither bars of other heads nor the frame nor one another", () => {
  let seed = 1;
  const random = () => {
    seed = (seed * 16807) % 2147483647;
    return seed / 2147483647;
  };
  let count = 0;
  for (const [layers, heads, width] of [
    [6, 12, 512],
    [12, 12, 317],
    [30, 9, 540],
    [24, 32, 317],
  ] as const)
    for (let i = 0; i < 15; i++) {
      const changes: Record<number, number> = {};
      for (let k = 0; k < 12; k++)
        changes[Math.floor(random() * layers * heads)] = 0.8 * (random() - 0.5);
      const shown: Head = [Math.floor(random() * layers), Math.floor(random() * heads), "self"];
      const effects = effectsOf([layers, heads], changes);
      const scene = stripScene(effects, shown, i % 2 === 0, { width, look: LOOK });
      for (const { x, end, isAbove, bar } of scene.names) {
        count += 1;
        expect(x).toBeGreaterThanOrEqual(0);
        expect(end).toBeLessThanOrEqual(width);
        for (const other of scene.bars) {
          if (other.x + other.width <= x || other.x >= end || other === bar) continue;
          const side = other.change > 0;
          const height = side === isAbove ? barHeight(other.change, scene.reach) : 0;
          expect(height + NAME_HEIGHT).toBeLessThanOrEqual(HALF);
          expect(other).not.toBe(scene.present);
        }
        for (const other of scene.names)
          if (other.bar !== bar && other.isAbove === isAbove)
            expect(other.end <= x || other.x >= end).toBe(true);
      }
    }
  expect(count).toBeGreaterThan(80);
});

test("the scale ends at the largest change, rounded up to ten points", () => {
  const end = (value: number) => scaleTexts(effectsOf([6, 12], { 3: value }))[1];
  expect([0.004, -0.1, 0.101, -0.371, 0.4, 1].map(end)).toEqual(
    [10, 10, 20, 40, 40, 100].map((points) => `±${points} points`),
  );
  expect(scaleTexts(CAPTAIN)[0]).toBe("each head off");
  expect(scaleTexts({ ...CAPTAIN, areOthersOff: true })[0]).toBe("one more off");
  expect(stripText({ ...CAPTAIN, method: "zero" })).toContain("“he” without each head (zero)");
});

test("bars keep the order of layers, and layers without attention have none", () => {
  const values = new Float32Array(12).fill(0.1);
  values.fill(Number.NaN, 4, 8);
  const { bars, rules } = stripScene(effectsOf([3, 4], {}, { values }), NONE, false, {
    width: 300,
    look: LOOK,
  });
  expect(bars.map(({ head }) => head.slice(0, 2).join())).toEqual([
    ..."0,0 0,1 0,2 0,3 2,0 2,1 2,2 2,3".split(" "),
  ]);
  expect(bars.every((bar, i) => i === 0 || bar.x >= (bars[i - 1]?.x ?? 0))).toBe(true);
  expect(rules).toHaveLength(2);
  const many = stripScene(effectsOf([30, 9], {}), NONE, false, { width: 540, look: LOOK });
  expect(many.rules).toHaveLength(5);
  const last = many.bars.at(-1);
  expect((last?.x ?? 0) + (last?.width ?? 0)).toBeCloseTo(540);
});

test("a picture has the scale, the names, and a bar for each head", () => {
  const scene = stripScene(CAPTAIN, [2, 11, "self"], false, { width: 400, look: LOOK });
  const pen = new SvgPen([]);
  paintWithScale(pen, scene);
  const drawn = pen.body;
  for (const text of ["each head off", "±40 points", "L1 H8", "−20"]) expect(drawn).toContain(text);
  expect(drawn).toContain(THEMES.light.accent);
});

/** Mount a strip of the effects, and return its canvas and the calls of its actions. */
function shown(effects = CAPTAIN, width = 500 + SCALE_WIDTH) {
  const el = document.createElement("div");
  document.body.append(el);
  const [point, select] = [vi.fn(), vi.fn()];
  let now: Head = [1, 3, "self"];
  const strip = headStrip({
    point(head) {
      point(head);
      draw();
    },
    select(head) {
      select(head);
      now = head;
      draw();
    },
  });
  let of = { effects: effects as AnswerEffects | undefined, hasAnswers: true, isWaiting: false };
  function draw(change: Partial<typeof of> = {}) {
    of = { ...of, ...change };
    render(strip.view({ ...of, shown: now }, LOOK, width), el);
  }
  draw();
  const canvas = () => el.querySelector<HTMLCanvasElement>("canvas[role=slider]");
  const scene = stripScene(effects, now, false, { width: width - SCALE_WIDTH, look: LOOK });
  const middle = (at: number) => {
    const bar = scene.bars[at];
    return bar ? bar.x + bar.width / 2 : 0;
  };
  const fire = (type: string, options: PointerEventInit = {}) =>
    canvas()?.dispatchEvent(new PointerEvent(type, { bubbles: true, ...options }));
  const press = (key: string) =>
    canvas()?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  return { el, canvas, draw, point, select, middle, fire, press };
}

test("pointing shows a head, a click selects it, and leaving ends the preview", () => {
  const { canvas, point, select, middle, fire } = shown();
  fire("pointermove", { clientX: middle(35), pointerType: "mouse" });
  fire("pointermove", { clientX: middle(35) + 1, pointerType: "mouse" });
  expect(point.mock.calls).toEqual([[[2, 11, "self"]]]);
  expect(canvas()?.getAttribute("aria-valuetext")).toBe("L2 H11 off: he 73\u00a0% → 36\u00a0%");
  fire("click", { clientX: middle(35) });
  expect(select.mock.calls).toEqual([[[2, 11, "self"]]]);
  fire("pointerleave");
  expect(point.mock.lastCall).toEqual([null]);
});

test("a finger chooses its bar if bars are wide, and otherwise the nearest name", () => {
  const wide = shown();
  wide.fire("pointerdown", { pointerType: "touch" });
  wide.fire("pointermove", { clientX: wide.middle(30), pointerType: "touch" });
  wide.fire("click", { clientX: wide.middle(30) });
  expect(wide.point).not.toHaveBeenCalled();
  expect(wide.select.mock.lastCall).toEqual([[2, 6, "self"]]);
  const many = shown(effectsOf([30, 9], { 14: -0.27, 261: -0.2 }));
  many.fire("pointerdown", { pointerType: "touch" });
  many.fire("click", { clientX: many.middle(30) });
  expect(many.select.mock.lastCall).toEqual([[1, 5, "self"]]);
  many.fire("pointerdown", { pointerType: "mouse" });
  many.fire("click", { clientX: many.middle(30) });
  expect(many.select.mock.lastCall).toEqual([[3, 3, "self"]]);
});

test("keys move between heads and select one; other keys are left to the explorer", () => {
  const { canvas, point, select, press } = shown();
  expect(canvas()?.getAttribute("aria-valuenow")).toBe("15");
  expect(canvas()?.getAttribute("aria-valuemax")).toBe("71");
  expect(press("ArrowRight")).toBe(false);
  expect(point.mock.lastCall).toEqual([[1, 4, "self"]]);
  press("PageUp");
  expect(point.mock.lastCall).toEqual([[2, 4, "self"]]);
  press("End");
  expect(point.mock.lastCall).toEqual([[5, 11, "self"]]);
  press("ArrowRight");
  expect(point).toHaveBeenCalledTimes(3);
  expect(canvas()?.getAttribute("aria-valuetext")).toContain("L5 H11 off");
  press("Enter");
  expect(select.mock.calls).toEqual([[[5, 11, "self"]]]);
  press("Home");
  expect(press("x")).toBe(true);
  expect(select.mock.lastCall).toEqual([[0, 0, "self"]]);
  expect(press("m")).toBe(true);
  canvas()?.dispatchEvent(new Event("blur"));
  expect(point.mock.lastCall).toEqual([null]);
});

test("two keys before the next drawing move twice", () => {
  const el = document.createElement("div");
  document.body.append(el);
  const point = vi.fn();
  const strip = headStrip({ point, select: vi.fn() });
  const of = { effects: CAPTAIN, hasAnswers: true, isWaiting: false };
  render(strip.view({ ...of, shown: [1, 3, "self"] }, LOOK, 600), el);
  for (const key of ["ArrowRight", "PageUp"])
    el.querySelector("canvas")?.dispatchEvent(new KeyboardEvent("keydown", { key }));
  expect(point.mock.lastCall).toEqual([[2, 4, "self"]]);
});

test("while effects are computed the earlier bars stay, pale; without answers their place", () => {
  const { el, canvas, draw, point, middle, fire } = shown();
  fire("pointermove", { clientX: middle(35), pointerType: "mouse" });
  draw({ effects: undefined, isWaiting: true });
  expect(point.mock.lastCall).toEqual([null]);
  expect(canvas()).toBeNull();
  expect(el.querySelector(".attnw-ex-strip")?.getAttribute("aria-busy")).toBe("true");
  expect(el.querySelector("canvas")?.classList.contains("attnw-ex-stale")).toBe(true);
  draw({ hasAnswers: false, isWaiting: false });
  expect(el.querySelector(".attnw-ex-strip")?.children).toHaveLength(0);
  draw({ hasAnswers: true });
  expect(el.querySelector(".attnw-ex-strip")).toBeNull();
  draw({ hasAnswers: false });
  expect(el.querySelector(".attnw-ex-strip")).toBeNull();
  expect(STRIP_HEIGHT).toBe(34);
});
