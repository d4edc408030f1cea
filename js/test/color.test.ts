// @vitest-environment node
import { describe, expect, it } from "vitest";
import { endOfScale, inverse, lookup, transfer } from "../src/shared/color.js";
import { levelOf, lineLevelOf, thickness } from "../src/shared/color_levels.js";
import { quoted } from "../src/shared/labels.js";
import { aligned, alignedWeights, counted, digits } from "../src/shared/numbers.js";
import { SCALES } from "../src/shared/types.js";

function luminance(word: number): number {
  const channel = (shift: number) => {
    const c = ((word >> shift) & 255) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(0) + 0.7152 * channel(8) + 0.0722 * channel(16);
}

describe("the color scale", () => {
  it("starts at the background and goes one way in lightness", () => {
    for (const dark of [false, true]) {
      const table = lookup(dark);
      expect(table[0]).toBe(dark ? 0xff111111 : 0xffffffff);
      const steps = [...table].map(luminance);
      const sign = dark ? 1 : -1;
      for (let i = 8; i < 256; i += 8)
        expect(sign * ((steps[i] ?? 0) - (steps[i - 8] ?? 0))).toBeGreaterThan(0);
    }
  });
  it("ends at 3:1 and more against the background", () => {
    for (const dark of [false, true]) {
      const low = luminance(lookup(dark)[0] ?? 0);
      const high = luminance(lookup(dark)[255] ?? 0);
      const ratio = (Math.max(low, high) + 0.05) / (Math.min(low, high) + 0.05);
      expect(ratio).toBeGreaterThan(3);
    }
  });
  it("maps shares to places and back", () => {
    for (const scale of SCALES) {
      expect(transfer(scale)(1)).toBe(1);
      expect(transfer(scale)(0)).toBe(0);
      for (const share of [0.01, 0.3, 0.9])
        expect(inverse(scale)(transfer(scale)(share))).toBeCloseTo(share, 12);
    }
  });
});

describe("absolute ink", () => {
  it("is the same function of the weight whatever else is shown", () => {
    for (const largest of [0.05, 0.3, 1]) {
      const level = levelOf("absolute", endOfScale("absolute", "weights", largest));
      expect([0, 0.05, 0.19, 0.59, 1].map(level)).toEqual([0, 42, 94, 186, 255]);
    }
  });
  it("has lines whose thickness is linear in the weight", () => {
    const level = lineLevelOf("absolute", 1);
    for (const weight of [0.03, 0.1, 0.5, 1])
      expect(thickness(level(weight))).toBeCloseTo(8 * weight, 1);
    const signed = lineLevelOf("absolute", 0.5, true);
    expect([-0.5, -0.25, 0, 0.5].map((x) => Math.round(thickness(signed(x), true)))).toEqual([
      8, 4, 0, 8,
    ]);
  });
  it("of other quantities ends at the largest value of the heads shown", () => {
    expect(endOfScale("absolute", "norms", 3.2)).toBe(3.2);
    expect(endOfScale("sqrt", "weights", 0.3)).toBe(0.3);
  });
});

describe("digits", () => {
  it("shows three significant ones", () => {
    expect([0.83149, 0.05, 0.0012345, 1, 0].map(digits)).toEqual([
      "0.831",
      "0.05",
      "0.00123",
      "1",
      "0",
    ]);
    expect(digits(0.0001)).toBe("<0.0005");
  });

  it("stand under each other", () => {
    expect([0.559, 0.000598, 0.0002, 0, 1].map(alignedWeights(1))).toEqual([
      "0.559",
      "0.001",
      "<0.0005",
      "0.000",
      "1.000",
    ]);
    expect([0.0213, 0.002, 0.00001].map(alignedWeights(0.0213))).toEqual([
      "0.0213",
      "0.0020",
      "<0.00005",
    ]);
    expect([0.0004].map(alignedWeights(0.0004))).toEqual(["<0.0005"]);
    expect([12.34, 1, -3].map(aligned(12.34))).toEqual(["12.3", "1.0", "−3.0"]);
  });
});

describe("words in a line", () => {
  it("are in their number, and punctuation is in quotes", () => {
    expect([counted(1, "token"), counted(0, "arc"), counted(1200, "word")]).toEqual([
      "1 token",
      "0 arcs",
      "1,200 words",
    ]);
    expect(["and", ".", "##ly", "[SEP]", "—"].map(quoted)).toEqual([
      "and",
      "“.”",
      "##ly",
      "[SEP]",
      "“—”",
    ]);
  });
});
