// @vitest-environment node
import { expect, test } from "vitest";
import { bounded, MOST_DRAWN } from "../src/shared/bounded.js";
import { caption, captionText } from "../src/shared/caption.js";
import { shortName } from "../src/shared/head_names.js";
import { labelOf, shorten, tableRuler } from "../src/shared/labels.js";
import { SvgPen } from "../src/shared/picture/svg_pen.js";
import { textWidth, wrapped } from "../src/shared/text_width.js";

const LONG = 1_000_000;
const word = "m".repeat(LONG);
const words = "a L1 H2 bc ".repeat(LONG / 10);

test("a long text is cut between two characters, and a short one stays", () => {
  expect(bounded("short")).toBe("short");
  expect(bounded(word)).toHaveLength(MOST_DRAWN);
  expect(bounded(word).endsWith("m…")).toBe(true);
  // A surrogate pair is kept or dropped as a unit.
  expect(bounded("😀".repeat(LONG), 10)).toBe("😀😀😀😀…");
});

test("names, tokens, labels and notes of a megabyte are cut wherever a figure says them", () => {
  const longCaption = caption("figure", { model: word, head: word, notes: [word, "", words] });
  expect(captionText(longCaption).length).toBeLessThan(5 * MOST_DRAWN);
  const axis = { text: [word, " ".repeat(LONG)], raw: [word, word], special: ["", ""] };
  expect(labelOf(axis as never, 0)).toHaveLength(MOST_DRAWN);
  expect(labelOf(axis as never, 1)).toHaveLength(MOST_DRAWN);
  const name = shortName([0, 1, "self"], { labels: [[[0, 1, "self"], word]] });
  expect(name.length).toBeLessThan(MOST_DRAWN + 20);
});

test("what is measured and wrapped of a text does not grow with its length", () => {
  const lengths: number[] = [];
  const measure = (text: string) => {
    lengths.push(text.length);
    return text.length * 7;
  };
  for (const text of [word, words]) {
    const lines = wrapped(text, 700, measure);
    expect(lines.join("").length).toBeLessThanOrEqual(8 * MOST_DRAWN);
    expect(lines.every((line) => line.length <= 100)).toBe(true);
    expect(shorten(measure, text, 70)).toHaveLength(10);
  }
  expect(lengths.length).toBeLessThan(50 * MOST_DRAWN);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(8 * MOST_DRAWN);
  // The width is extrapolated from the beginning of the text.
  expect(textWidth(word, 10)).toBeCloseTo(LONG * textWidth("m", 10), 0);
  expect(shorten(tableRuler("12px Arial"), word, 100).length).toBeLessThan(20);
});

test("a pen of pictures writes the beginning of a text", () => {
  const pen = new SvgPen([]);
  pen.fillText(word, 0, 0);
  pen.strokeText(word, 0, 0);
  expect(pen.body.length).toBeLessThan(3 * MOST_DRAWN);
});

test("a space that breaks no line is as wide as a space", () => {
  expect(textWidth("59\u00a0%", 12)).toBe(textWidth("59 %", 12));
});
