import { expect, test } from "vitest";
import { linesOf, type TextState } from "../src/linked_text/scene.js";
import widget from "../src/linked_text/widget.js";
import { frame, mounted } from "./mounted.js";

const state = (change: Partial<TextState> = {}) =>
  ({
    selected: [],
    tokens: [],
    layer: 0,
    unit: "tokens",
    _error: "",
    _source: { model: "a model", note: "", loss: "" },
    _links: [
      {
        head: [1, 3, "self"],
        tokens: {
          tokens: [
            ["query", 7, "he"],
            ["key", 2, "<b>"],
          ],
          words: [["query", 5, "he"]],
        },
      },
      { head: [0, 2, "self"], tokens: { tokens: [], words: [] } },
    ],
    _paragraphs: [
      [
        ["See ", null],
        ["he", 0],
        [", or ", null],
        ["the word before", 1],
      ],
    ],
    ...change,
  }) as TextState;

test("a link sets the head and the tokens, and is marked", async () => {
  const { model, el } = await mounted(widget(), state());
  const [first, second] = el.querySelectorAll("button");
  expect(el.querySelector(".attnw-text-body p")?.textContent).toBe("See he, or the word before");
  expect(first?.title).toBe("L1 H3, from he to <b>");
  first?.click();
  await frame();
  expect(model.get("selected")).toEqual([[1, 3, "self"]]);
  expect(model.get("layer")).toBe(1);
  expect(model.get("tokens")).toEqual([
    ["query", 7],
    ["key", 2],
  ]);
  expect(first?.getAttribute("aria-pressed")).toBe("true");
  second?.click();
  await frame();
  expect(model.get("selected")).toEqual([[0, 2, "self"]]);
  expect(model.get("tokens")).toHaveLength(2);
  expect([first?.getAttribute("aria-pressed"), second?.getAttribute("aria-pressed")]).toEqual([
    "false",
    "true",
  ]);
});

test("between words a link locks words", async () => {
  const { model, el } = await mounted(widget(), state({ unit: "words" }));
  el.querySelector("button")?.click();
  await frame();
  expect(model.get("tokens")).toEqual([["query", 5]]);
});

test("lines break between words, and the words of a link are one piece", () => {
  const measure = (text: string) => 10 * text.length;
  const shown = (room: number) =>
    linesOf(state(), room, measure).lines.map(({ words }) => words.map(({ text }) => text));
  expect(shown(1000)).toEqual([["See", "he", ",", "or", "the word before"]]);
  const { lines } = linesOf(state(), 120, measure);
  expect(lines.map(({ words }) => words[0]?.x)).toEqual([0, 0, 0]);
  expect(shown(120)).toEqual([["See", "he", ",", "or"], ["the word"], ["before"]]);
});
