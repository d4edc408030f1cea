import { expect, test } from "vitest";
import type { Guess } from "../src/explorer/sentence/guess.js";
import type { SentenceSize } from "../src/explorer/sentence/layout.js";
import { lineText } from "../src/explorer/sentence/line.js";
import type { Reading } from "../src/explorer/sentence/reading.js";
import {
  areNeedsComplete,
  canAsk,
  needMarks,
  needsLine,
  needsOf,
  needsProblem,
  sizeWithNeeds,
} from "../src/explorer/sentence/word_needs.js";
import type { PredictionState } from "../src/prediction_view/state.js";
import { THEMES } from "../src/shared/theme.js";
import { wireOf } from "./wire_of.js";

const WORDS = ["[CLS]", "captain", "said", "that", "he", "left"];
const reading = {
  noun: "word",
  isOneText: true,
  axes: { key: { special: ["cls", "", "", "", "", ""] } },
  words: {
    key: WORDS.map((text, index) => ({ text, index })),
    query: WORDS.map((text, index) => ({ text, index })),
  },
} as unknown as Reading;
const guess = { task: "masked", word: "he", effects: undefined, links: "" } as unknown as Guess;

const NEEDS = {
  problem: "",
  position: 4,
  followed: "he",
  unit: "words",
  off: [],
  entries: [0, 1, 2, 3, 5],
  attention: wireOf(Float32Array.from([0.43, 0.05, 0.1, 0.07, 0.04]), [5]),
  need: wireOf(Float32Array.from([0.05, 0.07, -0.06, 0.33, 0.001]), [5]),
  compared: [false, true, true, true, true],
  probability: 0.73,
  agreement: 0.231,
  control: -0.014,
  heads: 72,
  masked: true,
};
const state = (needs: object | null = {}, change: object = {}): PredictionState =>
  ({
    unit: "words",
    _needs_asked: true,
    _needs: needs && { ...NEEDS, ...needs },
    _predictions: { position: 4, followed: "he", name: "he", off: [] },
    ...change,
  }) as unknown as PredictionState;

function needs(change: object = {}) {
  const found = needsOf(guess, state(change));
  if (!found) throw new Error("no needs");
  return found;
}

test("needs are those of the shown question, unit and heads, while they are asked for", () => {
  expect(needs()).toMatchObject({ answer: "he", probability: 0.73, isMasked: true });
  expect(needsOf(guess, state({}, { _needs_asked: false }))).toBeUndefined();
  expect(needsOf(undefined, state())).toBeUndefined();
  expect(needsOf(guess, state(null))).toBeUndefined();
  for (const other of [
    { position: 3 },
    { followed: "she" },
    { unit: "tokens" },
    { off: [[1, 3, "self"]] },
  ])
    expect(needsOf(guess, state(other)), JSON.stringify(other)).toBeUndefined();
  const refused = state({ problem: "shorten the text", entries: undefined });
  expect(needsOf(guess, refused)).toBeUndefined();
  expect(needsProblem(refused)).toBe("shorten the text");
});

test("words are asked for in one text, of models that predict words", () => {
  expect(canAsk(reading, guess)).toBe(true);
  expect(canAsk({ ...reading, isOneText: false }, guess)).toBe(false);
  expect(canAsk(reading, { ...guess, task: "class" })).toBe(false);
  expect(canAsk(undefined, guess)).toBe(false);
  expect(canAsk(reading, { ...guess, links: "he→that cut in L2 H11" })).toBe(false);
});

test("the line names the pass, the largest values, and the agreement with its control", () => {
  expect(lineText(needsLine(reading, guess, needs()))).toBe(
    "Up: where “he”, masked, looks, mean of all 72 heads; most at [CLS] (43\u00a0%). " +
      "Down: what he (73\u00a0%) loses without that link; most without “that” (−33 points). " +
      "Between words the orders do not agree: 0.23 (with the attention of the other words: −0.01).",
  );
  const causal = needs({ masked: false, agreement: 0.7, control: null });
  const line = lineText(needsLine(reading, { ...guess, task: "next" }, causal));
  expect(line).toContain("Up: where “he” looks");
  expect(line).toMatch(/Between words the orders agree: 0\.70\.$/);
  const one = needs({ need: wireOf(Float32Array.from([0, 0, 0, 0.01, 0]), [5]) });
  expect(lineText(needsLine(reading, guess, one))).toContain("without “that” (−1 point).");
  const few = needs({ agreement: null, need: wireOf(new Float32Array(5), [5]) });
  const text = lineText(needsLine(reading, guess, few));
  expect(text).toContain("it loses half a point nowhere. Too few words to compare the orders.");
});

test("words arrive one by one, and orders are compared when all are known", () => {
  const measured = { need: wireOf(Float32Array.of(0.05, Number.NaN, 0.33, Number.NaN, 0), [5]) };
  const partial = needs({ ...measured, agreement: null, control: null });
  expect(lineText(needsLine(reading, guess, partial))).toBe(
    "Up: where “he”, masked, looks, mean of all 72 heads; most at [CLS] (43\u00a0%). " +
      "Down: what he (73\u00a0%) loses without that link; 3 of 5 words so far.",
  );
  const boxAt = (entry: number) => ({ x: 60 * entry, y: 40, width: 50, height: 27 });
  const bars = needMarks(partial, boxAt, 44, THEMES.light).filter((mark) => "bar" in mark);
  expect(bars.filter(({ bar }) => bar.y > 40).length).toBe(3);
  expect(areNeedsComplete(state(measured))).toBe(false);
  expect(areNeedsComplete(state(null))).toBe(false);
  expect(areNeedsComplete(state())).toBe(true);
  expect(areNeedsComplete(state({ problem: "shorten the text" }))).toBe(true);
});

test("bars have one scale in both directions, and large values have numbers", () => {
  const size: SentenceSize = { font: 20, lines: 1, hasArcs: true, head: 46, leading: 1.5 };
  const { scale, size: barred } = sizeWithNeeds(size, needs());
  expect([scale, barred.hasArcs]).toEqual([44, false]);
  expect(sizeWithNeeds({ ...size, lines: 2 }, needs()).scale).toBe(22);
  expect(sizeWithNeeds({ ...size, lines: 9 }, needs()).scale).toBe(12);
  const boxAt = (entry: number) => ({ x: 60 * entry, y: 40, width: 50, height: 27 });
  const marks = needMarks(needs(), boxAt, scale, THEMES.light);
  const bars = marks.filter((mark) => "bar" in mark);
  const [above, below] = [0, 1].map((side) =>
    bars.filter(({ bar }) => bar.y > 40 === (side === 1)),
  );
  expect(above?.map(({ bar }) => bar.height)[0]).toBeCloseTo(44 * 0.43);
  expect(below?.map(({ bar }) => bar.height)[3]).toBeCloseTo(44 * 0.33);
  expect(below?.map(({ isHollow }) => isHollow)).toEqual([false, false, true, false, false]);
  expect(above?.[0]?.color).not.toBe(above?.[1]?.color);
  const texts = marks.flatMap((mark) => ("text" in mark ? mark.text : []));
  expect(texts).toEqual(["43\u00a0%", "−5", "−7", "10\u00a0%", "+6", "7\u00a0%", "−33"]);
});
