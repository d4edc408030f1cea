// @vitest-environment node
import { expect, test } from "vitest";
import { isolated, isRtl, plain } from "../src/shared/bidi.js";
import { drawToken, labelOf } from "../src/shared/labels.js";
import type { Pen } from "../src/shared/pen.js";
import { textWidth } from "../src/shared/text_width.js";
import type { Axis } from "../src/shared/types.js";

const axisOf = (text: string[]): Axis => ({
  text,
  raw: text,
  special: text.map(() => ""),
  segments: text.map(() => 0),
});

test("Hebrew and Arabic are written from right to left, also after marks and digits", () => {
  for (const text of ["שלום", "مرحبا", "##ון", "2 ق", "“ش”"]) expect(isRtl(text)).toBe(true);
  for (const text of ["cat", "河 1/3", "…2/3", "7", "", "cat שלום"])
    expect(isRtl(text)).toBe(false);
});

test("a right-to-left token is isolated in texts, and takes no further room", () => {
  const label = labelOf(axisOf(["שלום", "cat"]), 0);
  expect(label).toBe("\u2067שלום\u2069");
  expect(plain(label)).toBe("שלום");
  expect(labelOf(axisOf(["שלום", "cat"]), 1)).toBe("cat");
  expect(textWidth(label, 12)).toBe(textWidth("שלום", 12));
  expect(plain(3)).toBe(3);
});

test("the number of a part of a right-to-left character stands behind the character", () => {
  const label = labelOf(axisOf(["ש 1/2", "…2/2"]), 0);
  expect(label).toBe("\u2067ש\u2069 1/2");
  expect(plain(label)).toBe("ש 1/2");
  expect(isolated("…2/2")).toBe("…2/2");
  expect(isolated("東 1/3")).toBe("東 1/3");
});

/** Return the texts that a pen draws, with their positions. */
function drawn(text: string, align: "left" | "right") {
  const calls: [string, number][] = [];
  const pen = {
    globalAlpha: 1,
    measureText: (part: string) => ({ width: 10 * [...plain(part)].length }),
    fillText: (part: string, x: number) => calls.push([part, x]),
  };
  drawToken(pen as unknown as Pen, text, 100, 0, align, 500);
  return Object.fromEntries(calls);
}

test("the mark of a wordpiece stands where its word is read from", () => {
  expect(drawn("##s", "left")).toEqual({ "##": 100, s: 120 });
  expect(drawn(isolated("##ון"), "left")).toEqual({ "##": 120, "\u2067ון\u2069": 100 });
  // With right alignment, the mark is next to the edge of the column.
  expect(drawn(isolated("##ון"), "right")).toEqual({ "##": 80, "\u2067ון\u2069": 80 });
});

test("a shortened right-to-left token keeps its beginning", () => {
  const label = isolated("אבגדהוזחטיכלמנסעפצקרשת".repeat(4));
  const [text = ""] = Object.keys(drawn(label, "left")).filter(Boolean);
  expect(plain(text).startsWith("אבג")).toBe(true);
  expect(plain(text).endsWith("…")).toBe(true);
  expect(text.endsWith("\u2069")).toBe(true);
});
