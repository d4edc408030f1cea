// @vitest-environment node
import { describe, expect, test } from "vitest";
import { nameBox } from "../src/head_scatter/head_numbers.js";
import type { Point } from "../src/head_scatter/map_points.js";
import { groupColor, groupLegend, groupShape, layerColor } from "../src/head_scatter/paint.js";
import {
  ASIDE,
  decodePoints,
  mapLayout,
  movedPoint,
  pointAt,
  sceneOf,
  toCanvas,
  within,
} from "../src/head_scatter/scene.js";
import type { MapState } from "../src/head_scatter/state.js";
import { tableRuler } from "../src/shared/labels.js";
import { THEMES } from "../src/shared/theme.js";
import { wireOf } from "./wire_of.js";

const at = (x: number, y: number, head = 0): Point => ({ head: [0, head, "self"], x, y, group: 0 });

/** Return points that look random and are the same in every run. */
function scatter(count: number): Point[] {
  let seed = 1;
  const next = () => {
    seed = (seed * 48271) % 2147483647;
    return seed / 2147483647;
  };
  return Array.from({ length: count }, (_, i) => at(300 * next(), 200 * next(), i));
}

function luminance(color: string): number {
  const parts = color.startsWith("#")
    ? [1, 3, 5].map((i) => Number.parseInt(color.slice(i, i + 2), 16))
    : (color.match(/\d+/g) ?? []).map(Number);
  const [r = 0, g = 0, b = 0] = parts.map((value) => {
    const c = value / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
const contrast = (color: string, dark: boolean) => {
  const a = luminance(color);
  const b = luminance(dark ? "#111111" : "#ffffff");
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
};

describe("layout", () => {
  test("decodes layer by layer", () => {
    const points = decodePoints({
      stack: "encoder",
      positions: wireOf(Float32Array.from([0, 1, 2, 3, 4, 5, 6, 7]), [2, 2, 2]),
      groups: [],
      group: wireOf(Int32Array.from([0, 1, 0, 1]), [2, 2]),
    });
    expect(points[2]).toEqual({ head: [1, 0, "encoder"], x: 4, y: 5, group: 0 });
  });

  test.each([320, 480, 900, 1200])("every point is inside at %s px, on one scale", (width) => {
    const plane = scatter(72);
    const layout = mapLayout(plane, width);
    const points = toCanvas(layout, plane);
    for (const { x, y } of points) {
      expect(x).toBeGreaterThanOrEqual(19);
      expect(x).toBeLessThanOrEqual(width - 19);
      expect(y).toBeGreaterThanOrEqual(19);
      expect(y).toBeLessThanOrEqual(layout.height - 19);
    }
    const a = points[0];
    const b = points[1];
    const c = plane[0];
    const d = plane[1];
    if (!a || !b || !c || !d) throw new Error("no points");
    const ratio = Math.hypot(a.x - b.x, a.y - b.y) / Math.hypot(c.x - d.x, c.y - d.y);
    expect(ratio).toBeCloseTo(layout.scale, 9);
    expect(layout.height).toBeLessThanOrEqual(Math.max(240, Math.min(560, width)));
  });

  test("up in the plane is up on the canvas; points in one place or one line are drawn", () => {
    const [low, high] = toCanvas(mapLayout([at(0, 0), at(0, 1)], 400), [at(0, 0), at(0, 1)]);
    expect(high?.y).toBeLessThan(low?.y ?? 0);
    for (const points of [[at(3, 3)], [at(0, 0), at(1, 0)], []]) {
      const layout = mapLayout(points, 400);
      for (const { x, y } of toCanvas(layout, points)) {
        expect(x).toBeGreaterThanOrEqual(0);
        expect(y).toBeLessThanOrEqual(layout.height);
      }
      expect(Number.isFinite(layout.height)).toBe(true);
    }
  });
});

describe("scene", () => {
  const heads = (places: [number, number][]): MapState => ({
    selected: [],
    layer: 0,
    _error: "",
    _source: { model: "", quantity: "", note: "" },
    _heads: {
      stack: "self",
      positions: wireOf(Float32Array.from(places.flat()), [1, places.length, 2]),
      groups: Array.from({ length: 5 }, (_, i) => ({ name: `behavior number ${i}`, slot: i })),
      group: wireOf(new Int32Array(places.length), [1, places.length]),
    },
  });
  const scene = (room: number, places: [number, number][]) => {
    const state = heads(places);
    const plane = state._heads ? decodePoints(state._heads) : [];
    return sceneOf(state, plane, {
      theme: THEMES.light,
      width: room,
      font: "Arial",
      ruler: tableRuler,
      density: 1,
    });
  };

  test("of two numbers in one place the later one is parted from the first", () => {
    const { touching, points } = scene(400, [
      [0, 0],
      [0.001, 0],
      [1, 0],
    ]);
    expect([...touching]).toEqual([points[1]]);
  });

  test("the name of a head covers no other head where there is room beside it", () => {
    // The second head is at the preferred position of the name.
    const places: [number, number][] = [
      [0, 0],
      [0.5, 0.2],
      [1, 1],
      [3, 4],
      [4, 0],
    ];
    const shown = scene(480, places);
    const [point, ...others] = shown.points;
    if (!point) throw new Error("no head");
    const { x0, x1, y0, y1 } = nameBox("L0 H0", point, 12, { ...shown, selected: [point] });
    const reach = shown.size.text / 2;
    for (const { x, y } of others)
      expect(x + reach <= x0 || x - reach >= x1 || y + reach <= y0 || y - reach >= y1).toBe(true);
    expect(x0).toBeGreaterThanOrEqual(0);
    expect(x1).toBeLessThanOrEqual(shown.layout.width);
    expect(y1).toBeLessThanOrEqual(shown.layout.height);
  });

  test.each([200, 480, 1200])("no name of the legend leaves %s px", (room) => {
    const names = Array.from({ length: 5 }, (_, i) => `behavior number ${i}`);
    const shown = scene(room, [[0, 0]]);
    expect(shown.beside).toBe(room >= 704);
    const legend = groupLegend(shown, names, shown.beside ? ASIDE : room, tableRuler);
    expect(legend.width).toBeLessThanOrEqual(room);
    expect(legend.height).toBe({ 200: 120, 480: 48, 1200: 120 }[room]);
  });
});

describe("pointer", () => {
  const points = [at(10, 10, 0), at(20, 10, 1), at(100, 100, 2)];

  test("the nearest point in reach is hit", () => {
    expect(pointAt(points, 16, 10)?.head[1]).toBe(1);
    expect(pointAt(points, 60, 60)).toBeUndefined();
  });

  test("a rectangle may be drawn from any corner", () => {
    const box = { x0: 110, y0: 110, x1: 15, y1: 5 };
    expect(within(points, box).map(({ head }) => head[1])).toEqual([1, 2]);
  });
});

describe("keys", () => {
  const points = [at(0, 0, 0), at(10, 1, 1), at(12, -30, 2), at(-5, 0, 3), at(0, 40, 4)];
  const go = (key: string, from: number) => movedPoint(key, points, points[from] as Point)?.head[1];

  test("arrows go to the nearest head in their direction, what is ahead before what is aside", () => {
    expect(go("ArrowRight", 0)).toBe(1);
    expect(go("ArrowLeft", 0)).toBe(3);
    expect(go("ArrowUp", 0)).toBe(2);
    expect(go("ArrowDown", 0)).toBe(4);
    expect(go("ArrowLeft", 3)).toBe(3);
    expect(go("x", 0)).toBeUndefined();
  });

  test("heads in one place are left one after the other", () => {
    const stacked = [at(5, 5, 0), at(5, 5, 1), at(5, 5, 2)];
    const step = (key: string, from: number) =>
      movedPoint(key, stacked, stacked[from] as Point)?.head[1];
    expect([step("ArrowRight", 0), step("ArrowRight", 1), step("ArrowRight", 2)]).toEqual([
      1, 2, 2,
    ]);
    expect([step("ArrowLeft", 2), step("ArrowUp", 1)]).toEqual([1, 0]);
  });

  test("every head can be reached from the first, and every arrow gets somewhere or stays", () => {
    const many = scatter(384);
    let point = many[0] as Point;
    const visited = new Set<number>();
    for (let i = 0; i < many.length; i++) {
      visited.add(point.head[1]);
      point = movedPoint("PageDown", many, point) as Point;
    }
    expect(visited.size).toBe(384);
    for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"])
      for (const from of many) expect(many).toContain(movedPoint(key, many, from));
    expect(movedPoint("End", many, point)).toBe(many.at(-1));
    expect(movedPoint("Home", many, point)).toBe(many[0]);
  });
});

describe("marks", () => {
  const themes = Object.values(THEMES);

  test("numbers of layers can be read in both themes, and go one way in lightness", () => {
    for (const theme of themes) {
      const steps = Array.from({ length: 24 }, (_, layer) => layerColor(theme, layer, 24));
      for (const color of steps) expect(contrast(color, theme.dark)).toBeGreaterThanOrEqual(4.5);
      for (let i = 4; i < 24; i += 4)
        expect(contrast(steps[i] ?? "", theme.dark)).toBeGreaterThan(
          contrast(steps[i - 4] ?? "", theme.dark),
        );
    }
    expect(layerColor(THEMES.light, 0, 1)).toBe(layerColor(THEMES.light, 0, 12));
  });

  test("24 behaviors differ in color or shape, and all marks stand out", () => {
    const mark = (i: number) => `${groupColor(THEMES.light, i)} ${groupShape(i)}`;
    expect(new Set([-1, ...Array(24).keys()].map(mark)).size).toBe(25);
    for (const theme of themes)
      for (let slot = -1; slot < 8; slot++)
        expect(contrast(groupColor(theme, slot), theme.dark)).toBeGreaterThanOrEqual(3);
  });

  test("where the reader's system chooses the colors, marks are in that of text", () => {
    const theme = { ...THEMES.dark, forced: true };
    const colors = [layerColor(theme, 3, 12), groupColor(theme, 2), groupColor(theme, -1)];
    expect(colors).toEqual(Array(3).fill(theme.text));
  });
});
