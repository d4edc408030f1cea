import { describe, expect, test } from "vitest";
import { hitMatrix, type MatrixLayout, matrixLayout } from "../src/head_view/matrix_layout.js";
import { matrixNotes } from "../src/head_view/matrix_paint.js";
import {
  framed,
  inSightOf,
  moved,
  showing,
  stepped,
  windowOf,
} from "../src/head_view/matrix_window.js";
import type { InSight } from "../src/head_view/targets.js";
import type { VisibleMap } from "../src/head_view/visible_map.js";

const indices = [...Array(500).keys()];
const map: VisibleMap = {
  rows: indices,
  cols: indices,
  values: new Float32Array(500 * 500).fill(0.1),
  maximum: 1,
  hiddenShare: 0,
  filteredShare: 0,
  renormalised: false,
};
const layout = (inSight?: InSight, n = 500): MatrixLayout =>
  matrixLayout({
    room: 900,
    rows: n,
    cols: n,
    rowLabel: 60,
    colLabel: 60,
    dpr: 1,
    ...(inSight && { inSight }),
  });
const part: InSight = { query: { start: 10, end: 60 }, key: { start: 0, end: 40 } };
const count = ({ query, key }: InSight) => [query.end - query.start, key.end - key.start];

describe("a window", () => {
  test("counts tokens before any is hidden, and shows those that are left", () => {
    const some = { ...map, rows: [0, 2, 5, 6, 9], cols: [1, 3] };
    expect(inSightOf(some, [2, 6, 0, 2])).toEqual({
      query: { start: 1, end: 3 },
      key: { start: 0, end: 1 },
    });
    expect(windowOf(some, { query: { start: 1, end: 3 }, key: { start: 0, end: 1 } })).toEqual([
      2, 6, 1, 2,
    ]);
    expect(windowOf(some, { query: { start: 0, end: 5 }, key: { start: 0, end: 2 } })).toBeNull();
    // A window without any of them would show nothing.
    expect(count(inSightOf(some, [3, 5, 0, 4]))).toEqual([5, 2]);
    expect(count(inSightOf(some, [20, 30, 0, 4]))).toEqual([5, 2]);
  });

  test("has the room of the whole matrix, and its cells fill it", () => {
    const whole = layout();
    const zoomed = layout(part);
    for (const name of ["width", "height", "x0", "y0"] as const)
      expect(zoomed[name]).toBe(whole[name]);
    expect(zoomed.cellHeight).toBe(zoomed.cellWidth);
    expect(zoomed.rows * zoomed.cellHeight).toBeLessThanOrEqual(500);
    expect(zoomed.rows * zoomed.cellHeight).toBeGreaterThan(450);
    expect(matrixNotes(zoomed, map)).toEqual([
      "zoomed: queries 10 to 59 and keys 0 to 39 of 500 in sight",
    ]);
    expect(matrixNotes(whole, map)).toEqual([]);
  });

  test("the pointer finds the cells that are in sight", () => {
    const at = layout(part);
    expect(hitMatrix(at, map, at.x0 + 2.5 * at.cellWidth, at.y0 + 1.5 * at.cellHeight)).toEqual({
      query: 11,
      key: 2,
    });
    expect(hitMatrix(at, map, at.x0 - 20, at.y0 + 49.5 * at.cellHeight)).toEqual({ query: 59 });
  });

  test("a step nearer keeps its place under the pointer, and steps back come to the whole", () => {
    const place = { query: 100, key: 400 };
    let now = layout();
    const shares: number[] = [];
    for (let i = 0; i < 20; i++) {
      now = layout(stepped(now, 1, place));
      shares.push((place.query - now.inSight.query.start) / now.rows);
      expect(now.inSight.key.start).toBeLessThanOrEqual(place.key);
      expect(now.inSight.key.end).toBeGreaterThan(place.key);
    }
    for (const share of shares.slice(0, 5)) expect(share).toBeCloseTo(0.2, 1);
    expect(now.rows).toBeGreaterThanOrEqual(4);
    expect(now.rows).toBeLessThan(8);
    for (let i = 0; i < 20; i++) now = layout(stepped(now, -1, place));
    expect(windowOf(map, now.inSight)).toBeNull();
  });

  test("a rectangle is in sight, with what fits beside it", () => {
    const found = framed(layout(), { query: 200, key: 100 }, { query: 230, key: 180 });
    expect(found.query.start).toBeLessThanOrEqual(200);
    expect(found.query.end).toBeGreaterThanOrEqual(230);
    expect(found.key.start).toBeLessThanOrEqual(100);
    expect(found.key.end).toBeGreaterThanOrEqual(180);
    expect(Math.max(...count(found))).toBeLessThan(100);
    expect(layout(found).cellWidth).toBe(Math.floor(500 / 80));
    // At the edge it stays within the map.
    expect(framed(layout(), { query: 0, key: 0 }, { query: 2, key: 2 }).query.start).toBe(0);
  });

  test("moves no further than the map goes, and than a target needs", () => {
    expect(moved(layout(part), { query: -100, key: 1000 })).toEqual({
      query: { start: 0, end: 50 },
      key: { start: 460, end: 500 },
    });
    expect(showing(layout(part), { query: 30, key: 5 })).toEqual(part);
    expect(showing(layout(part), { query: 60 })).toEqual({
      ...part,
      query: { start: 11, end: 61 },
    });
    expect(showing(layout(part), { query: 4, key: 99 }).query.start).toBe(4);
    expect(showing(layout(part), { query: 4, key: 99 }).key.end).toBe(100);
  });

  test("an oblong map is zoomed along its longer side first", () => {
    const long = matrixLayout({
      room: 900,
      rows: 8,
      cols: 600,
      rowLabel: 60,
      colLabel: 60,
      dpr: 1,
    });
    const next = stepped(long, 1, { query: 4, key: 300 });
    expect(count(next)).toEqual([8, 300]);
  });
});
