// @vitest-environment node
import { expect, test } from "vitest";
import {
  type ArcPath,
  arcBetweenLines,
  arcLevels,
  arcShapes,
  flatArc,
  halfArc,
  opacityOf,
  paintArc,
  roundArc,
  roundHeight,
  stem,
  widthOf,
} from "../src/shared/arc.js";
import { SvgPen } from "../src/shared/picture/svg_pen.js";

/** Return the path of an arc's line without an arrowhead. */
const lineText = (arc: ArcPath) => arcShapes(arc, { color: "#123456", width: 1 })[0]?.attributes.d;

test("an arc lies above those that it spans", () => {
  const levels = (...ends: string[]) =>
    arcLevels(ends.map((pair) => [Number(pair[0]), Number(pair[1])] as const));
  expect(levels("03", "21", "32")).toEqual([2, 1, 1]);
  expect(levels()).toEqual([]);
  // Short arcs come first, and the root's arcs lie above all arcs that they span.
  expect(levels("20", "21", "32", "64", "65", "36")).toEqual([2, 1, 1, 2, 1, 3]);
});

test("a flat arc goes up, over and down, to the left and to the right", () => {
  const left = "M50 100L50 77Q50 70 43 70L17 70Q10 70 10 77L10 100";
  expect(lineText(flatArc([50, 100], [10, 100], 30))).toBe(left);
  expect(lineText(halfArc([50, 70], [10, 100]))).toBe("M50 70L17 70Q10 70 10 77L10 100");
  const right = "M10 100L10 77Q10 70 17 70L43 70Q50 70 50 77L50 100";
  expect(lineText(flatArc([10, 100], [50, 100], 30))).toBe(right);
  // Both corners fit even between close words.
  const near = "M10 100L10 74Q10 70 14 70L14 70Q18 70 18 74L18 100";
  expect(lineText(flatArc([10, 100], [18, 100], 30))).toBe(near);
});

test("a line ends within its arrow head, which points at the word", () => {
  const cases: [arc: ArcPath, line: string, head: string][] = [
    [stem([10, 0], [10, 30]), "M10 0L10 26", "M6.5 24L13.5 24L10 30"],
    [stem([10, 40], [10, 10]), "M10 40L10 14", "M6.5 16L13.5 16L10 10"],
    [roundArc([0, 20], [40, 16], 30, -1), "M0 20C0 60 40 60 40 20", "M36.5 22L43.5 22L40 16"],
    [arcBetweenLines([0, 0], [40, 60]), "M0 0C0 30 40 30 40 56", "M36.5 54L43.5 54L40 60"],
  ];
  for (const [arc, line, head] of cases) {
    const shapes = arcShapes(arc, { color: "#123456", width: 1, hasArrow: true });
    expect(shapes.map(({ attributes }) => attributes.d)).toEqual([line, head]);
  }
});

test("a pen and elements draw the same arc", () => {
  const arcs = [
    flatArc([50, 100], [10, 104], 30),
    halfArc([0, 30], [40, 5]),
    roundArc([0, 20], [40, 20], 12, 1),
  ];
  for (const arc of arcs) {
    const look = { color: "#123456", width: 3, opacity: 0.5, isDashed: true, hasArrow: true };
    const pen = new SvgPen([]);
    paintArc(pen, arc, look);
    const drawn = pen.body;
    const [line, head] = arcShapes(arc, look);
    expect(drawn).toContain(`d="${line?.attributes.d}"`);
    expect(drawn).toContain(`d="${head?.attributes.d}"`);
    for (const name of ["stroke", "stroke-width", "stroke-opacity", "stroke-dasharray"])
      expect(drawn).toContain(`${name}="${line?.attributes[name]}"`);
    expect(drawn).toContain(`fill-opacity="${head?.attributes["fill-opacity"]}"`);
    expect(pen.globalAlpha).toBe(1);
  }
});

test("a longer arc is higher, up to the room for it", () => {
  const heights = [0, 20, 80, 400, 1600].map((length) => roundHeight(length));
  expect(heights).toEqual([...heights].sort((a, b) => a - b));
  expect(new Set(heights).size).toBe(heights.length);
  expect(roundHeight(-400)).toBe(roundHeight(400));
  expect(roundHeight(1600, 24)).toBe(24);
  // The height of the curve is three quarters of the height of its control points.
  const [[[, control] = [0, 0]] = []] = roundArc([0, 100], [400, 100], 30, 1).steps;
  expect(100 - 0.75 * (100 - control)).toBeCloseTo(70);
});

test("the width is linear in the weight, and the system's colors are not faded", () => {
  expect([0, 0.25, 1, 1.2].map((weight) => widthOf(weight))).toEqual([0, 2.5, 10, 10]);
  expect(widthOf(0.01, 0.75)).toBe(0.75);
  expect([opacityOf({ forced: false }), opacityOf({ forced: true })]).toEqual([0.8, 1]);
});
