// @vitest-environment node
import { describe, expect, test } from "vitest";
import { linesInView } from "../src/head_view/lines/lines_choose.js";
import {
  alongAt,
  EASED,
  hitLines,
  linesLayout,
  rowCenter,
  rowsInSight,
  scrollTo,
  scrollToMiddle,
} from "../src/head_view/lines/lines_layout.js";
import {
  ANGLE,
  hitMatrix,
  labelStep,
  matrixLayout,
  pixelSize,
  ruleStep,
} from "../src/head_view/matrix/matrix_layout.js";
import { completeParts, type VisibleMap } from "../src/head_view/source/visible_map.js";
import { drawToken, labelOf, shorten } from "../src/shared/labels.js";

function square(n: number, weight: (q: number, k: number) => number): VisibleMap {
  const indices = [...Array(n).keys()];
  return {
    rows: indices,
    cols: indices,
    parts: completeParts(
      Float32Array.from({ length: n * n }, (_, i) => weight(Math.floor(i / n), i % n)),
      { rows: indices, cols: indices },
    ),
    maximum: 1,
    hiddenShare: 0,
    filteredShare: 0,
  };
}

describe("lines", () => {
  const layout = linesLayout(900, 0, 80, 6, 6);

  test("fit the room at every width", () => {
    for (const room of [448, 640, 1000, 1400])
      for (const label of [20, 400]) {
        const { x0, x1, width, labelWidth } = linesLayout(room, 0, label, 30, 30);
        expect(width).toBeLessThanOrEqual(room);
        expect(x1 - x0).toBeGreaterThan(80);
        expect(labelWidth).toBeLessThanOrEqual(label);
      }
  });

  test("numbers stay before bars where the room gets narrow, so that a share can be read", () => {
    const of = (room: number) => linesLayout(room, 0, 90, 6, 6);
    expect(of(900).numberWidth).toBeGreaterThan(0);
    expect(of(900).barWidth).toBeGreaterThanOrEqual(20);
    expect(of(432)).toMatchObject({ numberWidth: 48, barWidth: 0 });
    expect(of(300)).toMatchObject({ numberWidth: 0, barWidth: 12 });
    // Bars can be compared between heads side by side, so they have priority.
    expect(linesLayout(432, 0, 90, 6, 6, { slim: true }).numberWidth).toBe(0);
    for (const room of [300, 360, 432]) {
      const { width, x0, x1 } = of(room);
      expect(width).toBeLessThanOrEqual(room);
      expect(x1 - x0).toBeGreaterThan(80);
    }
  });

  test("long columns scroll, and only rows in sight are drawn", () => {
    const long = linesLayout(900, 13 * 100, 80, 512, 512);
    expect(long.height).toBeLessThanOrEqual(560);
    const { start, end } = rowsInSight(long, "key");
    expect(start).toBeGreaterThan(97);
    expect(end - start).toBeLessThan(44);
    expect(linesLayout(900, 1e6, 80, 512, 512).scrollTop).toBe(long.fullHeight - long.height);
    expect(rowsInSight(layout, "query")).toEqual({ start: 0, end: 6 });
  });

  test("scrolling brings a row into sight and no further", () => {
    const long = linesLayout(900, 13 * 100, 80, 512, 512);
    expect(scrollTo(long, 105)).toBe(long.scrollTop);
    const up = linesLayout(900, scrollTo(long, 3), 80, 512, 512);
    expect(rowCenter(up, "query", 3)).toBeGreaterThan(up.pitch.query / 2);
    const down = linesLayout(900, scrollTo(long, 300), 80, 512, 512);
    expect(rowCenter(down, "query", 300) + down.pitch.query / 2).toBeLessThanOrEqual(down.height);
  });

  test("a lock is brought into the middle, unless it is in sight", () => {
    const long = linesLayout(900, 13 * 100, 80, 512, 512);
    expect(scrollToMiddle(long, 105)).toBe(long.scrollTop);
    const there = linesLayout(900, scrollToMiddle(long, 300), 80, 512, 512);
    expect(rowCenter(there, "query", 300)).toBeCloseTo(there.height / 2, -1);
    expect(scrollToMiddle(long, 0)).toBe(0);
    expect(scrollToMiddle(long, 511)).toBe(long.fullHeight - long.height);
  });

  test("rows come closer until forty are seen whole, in each size of letters", () => {
    const of = (n: number, size?: number) => linesLayout(900, 0, 80, n, n, size ? { size } : {});
    for (const n of [1, 6, 25, 30, 40]) {
      expect(of(n).height).toBe(of(n).fullHeight);
      expect(of(n).height).toBeLessThanOrEqual(560);
      expect(of(n).pitch.key).toBeGreaterThanOrEqual(13);
    }
    expect([of(6).pitch.key, of(40).pitch.key, of(6, 11).pitch.key, of(6, 17).pitch.key]).toEqual([
      18, 13, 17, 26,
    ]);
    for (const size of [11, 12, 17]) expect(of(500, size).pitch.key).toBeGreaterThan(size);
    expect(linesLayout(900, 0, 80, 60, 60, { whole: true }).height).toBe(of(60).fullHeight);
  });

  test("a curve starts and ends at its tokens", () => {
    expect(alongAt(EASED, 0)).toBe(0);
    expect(alongAt(EASED, 1)).toBe(1);
    expect(alongAt(EASED, 0.5)).toBeCloseTo(0.5);
    // The line is level where it leaves a token and steepest in the middle.
    expect(alongAt(EASED, 0.1)).toBeLessThan(0.1);
  });

  test("the pointer finds tokens on both sides, and lines by their curves", () => {
    const map = square(6, (q, k) => (q === 0 && k === 5 ? 1 : q === 3 && k === 3 ? 0.4 : 0));
    const lines = linesInView(map, { start: 0, end: 6 }, (w) => Math.round(255 * w));
    expect(hitLines(layout, layout.x0 - 20, rowCenter(layout, "query", 2), lines)).toEqual({
      query: 2,
    });
    expect(hitLines(layout, layout.x1 + 20, rowCenter(layout, "key", 4), lines)).toEqual({
      key: 4,
    });
    expect(hitLines(layout, 5, layout.fullHeight + 40, lines)).toEqual({});
    const u = 0.25;
    const x = layout.x0 + u * (layout.x1 - layout.x0);
    const from = rowCenter(layout, "query", 0);
    const to = rowCenter(layout, "key", 5);
    const y = from + alongAt(EASED, u) * (to - from);
    expect(hitLines(layout, x, y, lines)).toEqual({ query: 0, key: 5 });
    expect(hitLines(layout, x, rowCenter(layout, "query", 3) + 1, lines)).toEqual({
      query: 3,
      key: 3,
    });
    expect(hitLines(layout, x, rowCenter(layout, "key", 5), lines)).toEqual({});
  });
});

describe("matrix", () => {
  const request = { room: 900, rows: 6, cols: 6, rowLabel: 60, colLabel: 60, dpr: 1 };

  test("with hardly any room beside long labels cells are small and never negative", () => {
    for (const room of [60, 100, 130, 240])
      for (const n of [1, 12, 300]) {
        const layout = matrixLayout({
          ...request,
          room,
          rows: n,
          cols: n,
          rowLabel: 300,
          colLabel: 300,
        });
        expect(layout.cellWidth).toBeGreaterThan(0);
        expect(layout.cellHeight).toBeGreaterThan(0);
        expect(layout.cols * layout.cellWidth).toBeGreaterThanOrEqual(Math.min(n, 96) * 0.5);
      }
  });

  test("fits the room, in whole device pixels if they take most of it", () => {
    for (const room of [448, 700, 1100])
      for (const n of [1, 6, 40, 512, 2048])
        for (const dpr of [1, 1.5, 2]) {
          const layout = matrixLayout({ ...request, room, rows: n, cols: n, dpr });
          expect(layout.width).toBeLessThanOrEqual(room);
          expect(layout.cellWidth).toBe(layout.cellHeight);
          const { width, across } = pixelSize(layout);
          expect(across).toBeLessThanOrEqual(Math.min(n, width));
          const device = layout.cellWidth * dpr;
          const isUneven = device < 1 || (device > 1.5 && device < 2);
          if (!isUneven) expect(device).toBeCloseTo(Math.round(device));
        }
  });

  test("cells of nearly two pixels use all of the room", () => {
    const layout = matrixLayout({ ...request, room: 340, rows: 127, cols: 127 });
    expect(layout.cellWidth).toBeGreaterThan(1.5);
    expect(layout.cellWidth).toBeLessThan(2);
    expect(layout.width).toBeGreaterThan(330);
  });

  test("a short axis beside a long one stays readable", () => {
    const layout = matrixLayout({ ...request, rows: 8, cols: 600 });
    expect(layout.cellHeight).toBe(8);
    expect(layout.cellWidth).toBe(1);
  });

  test("the pointer finds cells and both axes' labels", () => {
    const layout = matrixLayout(request);
    const { x0, y0, cellWidth, cellHeight } = layout;
    const map = square(6, () => 0.1);
    expect(hitMatrix(layout, map, x0 + 2.5 * cellWidth, y0 + 1.5 * cellHeight)).toEqual({
      query: 1,
      key: 2,
    });
    expect(hitMatrix(layout, map, x0 - 20, y0 + 4.5 * cellHeight)).toEqual({ query: 4 });
    const up = 30;
    const x = x0 + 3.5 * cellWidth + up / Math.tan(ANGLE);
    expect(hitMatrix(layout, map, x, y0 - up)).toEqual({ key: 3 });
    expect(hitMatrix(layout, map, x0 + 7 * cellWidth, y0 + 5)).toEqual({});
    expect(hitMatrix(layout, map, x0 + 5, y0 + 7 * cellHeight)).toEqual({});
  });

  test("where cells share a pixel the pointer finds the one that is shown", () => {
    const n = 2048;
    const layout = matrixLayout({ ...request, rows: n, cols: n });
    const map = square(n, (q, k) => (q === 1001 && k === 501 ? 0.9 : 0.001));
    const { x0, y0, cellWidth, cellHeight } = layout;
    const { across } = pixelSize(layout);
    const pixel = (index: number) => Math.floor((index * across) / n) + 0.5;
    const found = hitMatrix(layout, map, x0 + pixel(501), y0 + pixel(1001));
    expect(cellWidth).toBe(cellHeight);
    expect(found).toEqual({ query: 1001, key: 501 });
  });

  test("labels are thinned and small cells ruled", () => {
    expect(labelStep(20, 11)).toBe(1);
    expect(labelStep(6, 11)).toBe(2);
    expect(labelStep(1, 11)).toBe(20);
    expect([ruleStep(12), ruleStep(6), ruleStep(1)]).toEqual([0, 5, 0]);
  });
});

describe("labels", () => {
  const measure = (text: string) => 10 * [...text].length;

  test("are cut only where they do not fit, between letters", () => {
    expect(shorten(measure, "cat", 30)).toBe("cat");
    expect(shorten(measure, "unfortunate", 50)).toBe("unfo…");
    expect(shorten(measure, "🙂🙂🙂🙂", 30)).toBe("🙂🙂…");
  });

  test("blank tokens show their spelling", () => {
    const text = [" ", "", " ", "a"];
    const raw = ["Ġ", "", " ", "a"];
    const axis = { text, raw, special: [], segments: [] };
    expect(text.map((_, i) => labelOf(axis, i))).toEqual(["Ġ", "␣", "␣", "a"]);
  });

  test("dim the wordpiece mark, and nothing else", () => {
    const drawn: [string, number][] = [];
    const context = {
      globalAlpha: 1,
      font: "test",
      measureText: (text: string) => ({ width: measure(text) }),
      fillText: (text: string) => drawn.push([text, context.globalAlpha]),
    };
    for (const text of ["##ing", "##"])
      drawToken(context as unknown as CanvasRenderingContext2D, text, 0, 0, "left", 500);
    expect(drawn.filter(([text]) => text)).toEqual([
      ["##", 0.5],
      ["ing", 1],
      ["##", 1],
    ]);
  });
});
