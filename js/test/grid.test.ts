import { describe, expect, test } from "vitest";
import { lookup } from "../src/draw/colour.js";
import { canvasSize, cellAt, corner, gridLayout, moved } from "../src/draw/grid_layout.js";
import { orderHeads } from "../src/draw/grid_order.js";
import { bytePixels, compose, drawHead, type Picture, spans } from "../src/draw/grid_pixels.js";
import { headingAfter, placeBeside } from "../src/draw/grid_place.js";

const table = lookup(false);
const WISH = { sort: "none", descending: true, filter: null, outside: "dim" } as const;

describe("layout", () => {
  test("144 heads fit 900 px, 24 x 16 heads at 480 px overflow with the smallest cells", () => {
    expect(canvasSize(gridLayout(900, 12, 12, false, 1))[0]).toBeLessThanOrEqual(900);
    const wide = gridLayout(480, 24, 16, false, 1);
    expect(wide.cell).toBe(28);
    expect(canvasSize(wide)[0]).toBeGreaterThan(480);
  });

  test.each([1, 1.25, 1.5, 2, 3])("every corner is on a device pixel at %s", (dpr) => {
    const layout = gridLayout(717, 12, 12, true, dpr);
    for (const cell of [
      [0, 0],
      [3, 5],
      [11, 11],
    ] as const)
      for (const edge of corner(layout, cell))
        expect(edge * dpr).toBeCloseTo(Math.round(edge * dpr), 6);
  });

  test("a point finds its cell, gaps included, and labels are no cell", () => {
    const layout = gridLayout(900, 6, 12, false, 1);
    const [x, y] = corner(layout, [4, 7]);
    expect(cellAt(layout, x, y)).toEqual([4, 7]);
    expect(cellAt(layout, x + layout.cell + 1, y + layout.cell + 1)).toEqual([4, 7]);
    expect(cellAt(layout, layout.x0 - 1, y)).toBeUndefined();
    expect(cellAt(layout, x, corner(layout, [6, 0])[1])).toBeUndefined();
  });

  test("keys move within the grid", () => {
    const to = (key: string, ends = false) => moved(key, ends, [2, 3], 6, 12);
    expect(to("ArrowUp")).toEqual([1, 3]);
    expect(to("PageDown")).toEqual([5, 3]);
    expect(to("Home")).toEqual([2, 0]);
    expect(to("End", true)).toEqual([5, 11]);
    expect(moved("ArrowLeft", false, [0, 0], 6, 12)).toEqual([0, 0]);
    expect(to("x")).toBeUndefined();
  });
});

describe("pixels", () => {
  const picture = (values: number[], side: number, maxima: number[]): Picture => ({
    ...{ rows: 1, cols: maxima.length, height: side, width: side, quantity: "weights" },
    values: Uint8Array.from(values),
    maxima: Float32Array.from(maxima),
    strongest: new Int32Array(2 * maxima.length),
    maximum: Math.max(...maxima),
  });

  test("shrinking covers every source cell, enlarging takes the nearest", () => {
    expect([...spans(5, 2)]).toEqual([0, 2, 2, 4]);
    expect([...spans(2, 4)]).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
    expect([...spans(3, 3)]).toEqual([0, 0, 1, 1, 2, 2]);
  });

  test.each([7, 28, 63, 64, 100])("the only weight of 64 x 64 survives in %s pixels", (size) => {
    const values = new Array(64 * 64).fill(0);
    values[37 * 64 + 11] = 255;
    const pixels = new Uint32Array(size * size);
    const look = { table, scale: "sqrt", shared: false } as const;
    drawHead(pixels, size, 0, size, picture(values, 64, [1]), [0, 0], look);
    expect(pixels).toContain(table[255]);
    const at = Math.floor((37.5 * size) / 64) * size + Math.floor((11.5 * size) / 64);
    expect(pixels[at]).toBe(table[255]);
  });

  test("a byte is the square root of a share; a shared scale multiplies by the head's maximum", () => {
    const index = (scale: "linear" | "sqrt" | "log", gain: number, byte: number) =>
      table.indexOf(bytePixels(table, scale, gain)[byte] ?? -1);
    expect(index("sqrt", 1, 128)).toBe(table.indexOf(table[128] ?? -1));
    expect(index("linear", 1, 128)).toBe(table.indexOf(table[64] ?? -1));
    expect(index("linear", 0.5, 255)).toBe(table.indexOf(table[128] ?? -1));
    expect(index("log", 0.001, 255)).toBe(0);
    expect(index("log", 1, 0)).toBe(0);
  });

  test("the composed grid has cells edge to edge and background between", () => {
    const layout = gridLayout(1, 1, 2, false, 1);
    const two = picture([255, 255], 1, [1, 0.25]);
    const order = orderHeads(1, 2, undefined, WISH);
    const { width, pixels } = compose(layout, two, order, {
      ...{ table, scale: "linear", shared: true },
    });
    expect([pixels[0], pixels[27], pixels[28]]).toEqual([table[255], table[255], table[0]]);
    expect(pixels[30]).toBe(table[64]);
    expect(pixels[27 * width]).toBe(table[255]);
    expect(pixels[28 * width]).toBe(table[0]);
  });
});

describe("preview", () => {
  const bounds = { left: 0, top: 0, right: 1000, bottom: 1000 };
  const anchor = { left: 500, top: 500, right: 540, bottom: 540 };

  test("stands behind the way the pointer goes, off the cell's row and column", () => {
    expect(placeBeside(anchor, 200, 230, bounds, [1, 0])[0]).toBeLessThan(anchor.left - 199);
    expect(placeBeside(anchor, 200, 230, bounds, [-1, -1])).toEqual([544, 544]);
    expect(placeBeside(anchor, 200, 230, bounds, [0, 1])[1]).toBeLessThan(anchor.top - 229);
  });

  test("stays inside, whatever the way", () => {
    const corner = { left: 960, top: 0, right: 1000, bottom: 40 };
    expect(placeBeside(corner, 200, 230, bounds, [-1, 1])).toEqual([756, 44]);
  });

  test("the way along an axis lasts until it turns", () => {
    expect(headingAfter([1, 0], 0, 3)).toEqual([1, 1]);
    expect(headingAfter([1, 1], -2, 0)).toEqual([-1, 1]);
  });
});
