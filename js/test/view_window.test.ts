import { describe, expect, test } from "vitest";
import { type Plot, partByKey, stepped, windowGestures } from "../src/head_view/gestures.js";
import {
  hitMatrix,
  type MatrixLayout,
  matrixLayout,
} from "../src/head_view/matrix/matrix_layout.js";
import { matrixNotes } from "../src/head_view/matrix/matrix_paint.js";
import type { Scene } from "../src/head_view/scene.js";
import { completeParts, type VisibleMap } from "../src/head_view/source/visible_map.js";
import { partOf, positionOf, windowOf } from "../src/head_view/source/window_of.js";
import {
  around,
  centered,
  framed,
  isWhole,
  type MapPart,
  shifted,
  showing,
  whole,
  wholeOf,
  zoomed,
} from "../src/shared/window.js";

const indices = [...Array(500).keys()];
const map: VisibleMap = {
  rows: indices,
  cols: indices,
  parts: completeParts(new Float32Array(500 * 500).fill(0.1), { rows: indices, cols: indices }),
  maximum: 1,
  hiddenShare: 0,
  filteredShare: 0,
};
const layout = (part?: MapPart, n = 500, m = n): MatrixLayout =>
  matrixLayout({
    room: 900,
    rows: n,
    cols: m,
    rowLabel: 60,
    colLabel: 60,
    dpr: 1,
    ...(part && { part }),
  });
const part: MapPart = [10, 60, 0, 40];
const count = ([q0, q1, k0, k1]: MapPart) => [q1 - q0, k1 - k0];
const nearer = (at: MatrixLayout, times: number, place = { query: 100, key: 400 }) =>
  zoomed(at.size, at.part, times, place, at.room);

describe("a window", () => {
  test("counts tokens before any is hidden, and shows those that are left", () => {
    const some = { ...map, rows: [0, 2, 5, 6, 9], cols: [1, 3] };
    expect(partOf(some, [2, 6, 0, 2])).toEqual([1, 3, 0, 1]);
    expect(windowOf(some, [1, 3, 0, 1])).toEqual([2, 6, 1, 2]);
    expect(windowOf(some, [0.6, 2.6, 0, 1])).toEqual([2, 6, 1, 2]);
    expect(windowOf(some, [0, 5, 0, 2])).toBeNull();
    // A window without any visible token would show nothing.
    expect(count(partOf(some, [3, 5, 0, 4]))).toEqual([5, 2]);
    expect(count(partOf(some, [20, 30, 0, 4]))).toEqual([5, 2]);
    expect([5, 4].map((index) => positionOf(some.rows, index))).toEqual([2, -1]);
  });

  test("has the room of the whole matrix, and its cells fill it", () => {
    const all = layout();
    const near = layout(part);
    for (const name of ["width", "height", "x0", "y0"] as const) expect(near[name]).toBe(all[name]);
    expect(near.cellHeight).toBe(near.cellWidth);
    expect(near.rows * near.cellHeight).toBeLessThanOrEqual(500);
    expect(near.rows * near.cellHeight).toBeGreaterThan(450);
    const scene = { map } as Scene;
    expect(matrixNotes(near, scene)).toEqual([
      "zoomed: queries 10 to 59 and keys 0 to 39 of 500 in sight",
    ]);
    expect(matrixNotes(all, scene)).toEqual([]);
  });

  test("the pointer finds the cells that are in sight, also of a part that moves", () => {
    const at = layout(part);
    expect(hitMatrix(at, map, at.x0 + 2.5 * at.cellWidth, at.y0 + 1.5 * at.cellHeight)).toEqual({
      query: 11,
      key: 2,
    });
    expect(hitMatrix(at, map, at.x0 - 20, at.y0 + 49.5 * at.cellHeight)).toEqual({ query: 59 });
    const moving = layout([10.5, 60.5, 0, 40]);
    expect(hitMatrix(moving, map, moving.x0 - 20, moving.y0 + 0.75 * moving.cellHeight)).toEqual({
      query: 11,
    });
  });

  test.each([100, 500, 3600])("comes nearer about a place of %i tokens, and back to all", (n) => {
    const place = { query: 0.2 * n, key: 0.8 * n };
    let now = layout(undefined, n);
    const shares: number[] = [];
    for (let i = 0; i < 20; i++) {
      now = layout(nearer(now, 2, place), n);
      shares.push((place.query - now.part[0]) / now.rows);
      expect(now.part[2]).toBeLessThanOrEqual(place.key);
      expect(now.part[3]).toBeGreaterThan(place.key);
      // Cells of at least a pixel have an integer number of pixels and fill the space.
      if (now.cellWidth >= 1) expect(now.cellWidth % 1).toBe(0);
      expect(now.cols * now.cellWidth).toBeGreaterThan(0.75 * now.room.across);
    }
    for (const share of shares.slice(0, 3)) expect(share).toBeCloseTo(0.2, 1);
    expect(now.rows).toBeGreaterThanOrEqual(4);
    expect(now.rows).toBeLessThan(8);
    const plot = (): Plot => ({ ...now, left: 0, top: 0, width: 1, height: 1 });
    for (let i = 0; i < 20; i++) now = layout(stepped(plot(), -1, place), n);
    expect(isWhole(now.size, now.part)).toBe(true);
  });

  test("a rectangle is in sight, with what fits beside it", () => {
    const { size, room } = layout();
    const frame = framed(size, { query: 200, key: 100 }, { query: 230, key: 180 }, room);
    expect(frame[0]).toBeLessThanOrEqual(200);
    expect(frame[1]).toBeGreaterThanOrEqual(230);
    expect(frame[2]).toBeLessThanOrEqual(100);
    expect(frame[3]).toBeGreaterThanOrEqual(180);
    expect(Math.max(...count(frame))).toBeLessThan(100);
    expect(layout(frame).cellWidth).toBe(Math.floor(500 / 80));
    // At the edge, the part stays inside the map.
    expect(framed(size, { query: 0, key: 0 }, { query: 2, key: 2 }, room)[0]).toBe(0);
  });

  test("moves no further than the map goes, and than a target needs", () => {
    const { size } = layout();
    expect(shifted(size, part, { query: -100, key: 1000 })).toEqual([0, 50, 460, 500]);
    expect(showing(size, part, { query: 30, key: 5 })).toEqual(part);
    expect(showing(size, part, { query: 60 })).toEqual([11, 61, 0, 40]);
    expect(showing(size, part, { query: 4, key: 99 })).toEqual([4, 54, 60, 100]);
    expect(showing(size, [64, 128, 64, 128], { query: 32, key: 160 }, 32)).toEqual([
      32, 96, 128, 192,
    ]);
    expect(centered(size, [0, 10, 0, 10], { query: 100, key: 2 })).toEqual([95, 105, 0, 10]);
    expect(around(size, { query: 499, key: 0 })).toEqual([468, 500, 0, 32]);
    expect(around({ rows: 5, cols: 500 }, { query: 2, key: 100 })).toEqual([0, 5, 85, 117]);
    expect(whole([0.4, 10.4, 1.6, 11.6])).toEqual([0, 10, 2, 12]);
  });

  test("an oblong map is zoomed along its longer side first", () => {
    const next = nearer(layout(undefined, 8, 600), 2, { query: 4, key: 300 });
    expect(next[1] - next[0]).toBe(8);
    expect(next[3] - next[2]).toBeLessThan(400);
  });
});

/** Return a figure of `n` tokens on a plot of 400 pixels. */
function handled(n: number, start?: MapPart) {
  const box = document.createElement("div");
  document.body.append(box);
  const size = { rows: n, cols: n };
  const room = { across: 400, down: 400, density: 1 };
  let now = start ?? wholeOf(size);
  const shown: MapPart[] = [];
  const plot = (): Plot => ({ size, part: now, room, left: 0, top: 0, width: 400, height: 400 });
  const gestures = windowGestures(
    box,
    plot,
    (next) => {
      now = next;
      shown.push(next);
    },
    new AbortController().signal,
  );
  const send = (type: string, x: number, y: number, more: object = {}) => {
    const event = new MouseEvent(type, { clientX: x, clientY: y, bubbles: true, ...more });
    box.dispatchEvent(Object.assign(event, { pointerId: 1, ...more }));
    return event;
  };
  const wheel = (deltaY: number, more: object = {}) => {
    const event = new Event("wheel", { cancelable: true });
    Object.assign(event, { deltaY, deltaMode: 0, clientX: 200, clientY: 200, ...more });
    box.dispatchEvent(event);
    return event.defaultPrevented;
  };
  return { box, gestures, send, wheel, plot, shown, part: () => now, size };
}

describe.each([100, 3600])("hands on %i tokens", (n) => {
  const near: MapPart = [40, 60, 30, 50];

  test("move what is in sight, which rests on whole tokens", () => {
    const { send, part, gestures } = handled(n, near);
    send("pointerdown", 300, 300);
    send("pointermove", 270, 330);
    expect(gestures.dragging()).toBe(true);
    expect(part()).toEqual([38.5, 58.5, 31.5, 51.5]);
    send("pointerup", 270, 330);
    expect(part()).toEqual([39, 59, 32, 52]);
    send("pointermove", 0, 0);
    expect(part()).toEqual([39, 59, 32, 52]);
  });

  test("move nothing where all is in sight, and choose nothing but with a short way", () => {
    const { send, shown, box } = handled(n);
    let clicks = 0;
    box.addEventListener("click", () => clicks++);
    send("pointerdown", 300, 300);
    send("pointermove", 270, 330);
    send("pointerup", 270, 330);
    send("click", 270, 330);
    expect(clicks).toBe(0);
    send("pointerdown", 300, 300);
    send("pointermove", 302, 301);
    send("pointerup", 302, 301);
    send("click", 302, 301);
    expect([shown.every((part) => part[1] === n), clicks]).toEqual([true, 1]);
  });

  test("frame a part with Shift, until Escape", () => {
    const { send, shown, box, gestures, part } = handled(n);
    const frame = box.querySelector<HTMLElement>(".attnw-zoom-frame");
    const at = { shiftKey: true };
    send("pointerdown", 100, 100, at);
    send("pointermove", 200, 180, at);
    expect(frame?.hidden).toBe(false);
    expect(gestures.cancel()).toBe(true);
    expect([frame?.hidden, shown.length]).toEqual([true, 0]);
    send("pointerdown", 100, 100, at);
    send("pointermove", 200, 180, at);
    send("pointerup", 200, 180, at);
    expect(part()[0]).toBeLessThanOrEqual(n / 4);
    expect(part()[3]).toBeGreaterThanOrEqual(n / 2);
    expect(part()[1] - part()[0]).toBeLessThan(n / 3);
  });

  test("pinch it nearer", () => {
    const { send, part } = handled(n);
    send("pointerdown", 100, 200, { pointerId: 1 });
    send("pointerdown", 200, 200, { pointerId: 2 });
    send("pointermove", 300, 200, { pointerId: 2 });
    expect((part()[1] - part()[0]) / n).toBeCloseTo(0.5, 1);
  });

  test("turn a wheel with Ctrl; alone it scrolls the page", () => {
    const { wheel, part } = handled(n);
    expect([wheel(-100), part()[1]]).toEqual([false, n]);
    expect(wheel(-100, { ctrlKey: true })).toBe(true);
    expect((part()[1] - part()[0]) / n).toBeCloseTo(0.55, 1);
    // Small movements of a trackpad add up.
    const before = part()[1] - part()[0];
    for (let i = 0; i < 60; i++) wheel(-1, { ctrlKey: true });
    expect(part()[1] - part()[0]).toBeLessThan(before);
  });

  test("press keys", () => {
    const { plot, size } = handled(n, near);
    const by = (key: string, shiftKey = false) => partByKey({ key, shiftKey }, plot());
    expect(count(by("+") as MapPart)).toEqual([10, 10]);
    expect(count(by("-") as MapPart)).toEqual([40, 40]);
    expect(by("0")).toEqual(wholeOf(size));
    expect(by("ArrowLeft", true)).toEqual([40, 60, 25, 45]);
    expect([by("ArrowLeft"), by("x")]).toEqual([undefined, undefined]);
  });
});
