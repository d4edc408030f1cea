// @vitest-environment node
import { describe, expect, test } from "vitest";
import { linesIn, stripWeights, WRITTEN, wordLines } from "../src/head_grid/answer_paint.js";
import {
  bytePixels,
  compose,
  drawHead,
  gridEnd,
  type SmallMaps,
  spans,
} from "../src/head_grid/grid_pixels.js";
import { placeOutside } from "../src/head_grid/grid_preview.js";
import { orderHeads } from "../src/head_grid/head_order.js";
import { paintGrid } from "../src/head_grid/paint.js";
import { drawPicture } from "../src/head_grid/picture.js";
import { sceneOf } from "../src/head_grid/scene.js";
import {
  canvasSize,
  cellAt,
  columnsInSight,
  corner,
  gridLayout,
  moved,
  rowsInSight,
} from "../src/shared/cells.js";
import { diverging, lookup } from "../src/shared/color.js";
import { levelOf, word } from "../src/shared/color_levels.js";
import { Sheet } from "../src/shared/picture/sheet.js";
import { SvgPen } from "../src/shared/picture/svg_pen.js";
import { THEMES } from "../src/shared/theme.js";
import { gridState } from "./grid_state.js";
import { stack } from "./view_state.js";

const table = lookup(false);
const LINE = 0xff123456;
const WISH = { sort: "none", descending: true } as const;

describe("layout", () => {
  test("144 heads fit 900 px, 24 x 20 heads at 480 px overflow with the smallest cells", () => {
    expect(canvasSize(gridLayout(900, 12, 12, false, 1))[0]).toBeLessThanOrEqual(900);
    expect(
      canvasSize(gridLayout(900, 12, 12, false, 1, "nothing", { highest: 376 }))[1],
    ).toBeLessThanOrEqual(376);
    const wide = gridLayout(480, 24, 20, false, 1);
    expect(wide.cell).toBe(22);
    expect(canvasSize(wide)[0]).toBeGreaterThan(480);
  });

  test.each([480, 800, 1200])(
    "no cell is far under 22 px, and what is shown at %s px is not higher than it has to be",
    (width) => {
      for (const [rows, cols] of [
        [6, 12],
        [12, 12],
        [24, 32],
        [48, 8],
      ] as const)
        for (const below of ["nothing", "bar", "name"] as const) {
          const layout = gridLayout(width, rows, cols, false, 1, below);
          const smallest = below === "name" ? 29 : 22;
          expect(Math.min(layout.cell, layout.tall)).toBeGreaterThanOrEqual(0.85 * smallest);
          const [across, down] = canvasSize(layout);
          if (layout.tall > smallest) expect([across <= width, down <= 780]).toEqual([true, true]);
        }
    },
  );

  test("a narrow figure has the smallest cells, and rows in sight are counted whole", () => {
    const layout = gridLayout(100, 24, 12, false, 1, "nothing", { highest: 392 });
    expect(layout.cell).toBe(22);
    const [, second] = corner(layout, [16, 0]);
    expect(rowsInSight(layout, 0, second)).toBe(16);
    expect(rowsInSight(layout, 12, second)).toBe(15);
    expect(rowsInSight(layout, 0, 10_000)).toBe(24);
  });

  test("columns in sight are counted whole", () => {
    const layout = gridLayout(480, 24, 32, false, 1);
    const [tenth] = corner(layout, [0, 10]);
    expect(columnsInSight(layout, 0, tenth)).toBe(10);
    expect(columnsInSight(layout, 12, tenth)).toBe(9);
    expect(columnsInSight(layout, 0, 10_000)).toBe(32);
  });

  test("no grid is wider than its figure by a few pixels", () => {
    for (let width = 200; width < 900; width++) {
      const [across] = canvasSize(gridLayout(width, 6, 12, false, 1));
      expect(across <= width || across > width + 15).toBe(true);
    }
  });

  test("where the height is short, cells are wider than high, for words; pictures are square", () => {
    const limits = { highest: 330, least: 8 };
    const low = gridLayout(546, 12, 12, false, 1, "nothing", limits);
    expect([low.cell, low.tall]).toEqual([39, 23]);
    const [across, down] = canvasSize(low);
    expect([across <= 546, down <= 330]).toEqual([true, true]);
    expect(cellAt(low, ...corner(low, [11, 11]))).toEqual([11, 11]);
    const few = gridLayout(2000, 12, 2, false, 1, "nothing", limits);
    expect(few.cell).toBeLessThanOrEqual(2.2 * few.tall);
    const square = gridLayout(546, 12, 12, false, 1, "nothing", { ...limits, widest: 1 });
    expect([square.cell, square.tall]).toEqual([23, 23]);
  });

  test("cells with words have three lines where there is room", () => {
    for (const [width, dpr] of [
      [412, 1],
      [435, 0.8],
      [452, 1.25],
    ] as const) {
      const layout = gridLayout(width, 6, 12, false, dpr, "nothing", {
        highest: 252,
        written: WRITTEN,
      });
      expect([linesIn(layout), canvasSize(layout)[1] <= 252]).toEqual([3, true]);
    }
    const low = { highest: 180, least: 8, written: WRITTEN };
    expect(gridLayout(435, 6, 12, false, 1, "nothing", low).tall).toBe(24);
    const strips = gridLayout(400, 6, 12, false, 1, "nothing", { highest: 252, written: WRITTEN });
    expect([strips.cell, strips.tall]).toEqual([27, 27]);
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
    expect(cellAt(layout, x + layout.cell + 1, y + layout.tall + 1)).toEqual([4, 7]);
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
  const picture = (values: number[], side: number, maxima: number[]): SmallMaps => ({
    stack: "self",
    unit: "tokens",
    hidden: [],
    rows: 1,
    cols: maxima.length,
    height: side,
    width: side,
    quantity: "weights",
    values: Uint8Array.from(values),
    maxima: Float32Array.from(maxima),
    strongest: new Int32Array(2 * maxima.length),
    maximum: Math.max(...maxima),
    disabled: [],
    times_keys: false,
    method: "uniform",
    versus: null,
    comparison_part: "difference",
    signed: false,
    common: null,
    changes: null,
    row: null,
  });

  test("of differences the one farthest from 0 survives, on a scale with gray in the middle", () => {
    const values = new Array(64 * 64).fill(128);
    values[0] = 200;
    values[1] = 1;
    const pixels = new Uint32Array(100);
    const colors = diverging(THEMES.light);
    const look = { table: colors, line: LINE, scale: "sqrt", end: 0.5 } as const;
    const maps = { ...picture(values, 64, [-0.5]), signed: true, maximum: 0.5 };
    drawHead(pixels, 10, 0, [10, 10], maps, [0, 0], look);
    expect(pixels[0]).toBe(colors[1]);
    expect(pixels[99]).toBe(colors[128]);
    expect([colors[1], colors[128], colors[255]]).toEqual([
      word("#8c3403"),
      word("#e9e9ec"),
      word("#124a9c"),
    ]);
    const forced = diverging({
      ...THEMES.dark,
      forced: true,
      background: "#000000",
      text: "#ffffff",
      accent: "#00ffff",
    });
    expect([forced[1], forced[128], forced[255]]).toEqual([
      word("#00ffff"),
      word("#000000"),
      word("#ffffff"),
    ]);
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
    const look = { table, line: LINE, scale: "absolute", end: 1 } as const;
    drawHead(pixels, size, 0, [size, size], picture(values, 64, [1]), [0, 0], look);
    expect(pixels).toContain(table[255]);
    const at = Math.floor((37.5 * size) / 64) * size + Math.floor((11.5 * size) / 64);
    expect(pixels[at]).toBe(table[255]);
  });

  test("a byte is the square root of a share; a scale of all heads multiplies by the head's maximum", () => {
    const index = (scale: "linear" | "sqrt" | "log", gain: number, byte: number) =>
      table.indexOf(bytePixels(table, scale, gain)[byte] ?? -1);
    expect(index("sqrt", 1, 128)).toBe(table.indexOf(table[128] ?? -1));
    expect(index("linear", 1, 128)).toBe(table.indexOf(table[64] ?? -1));
    expect(index("linear", 0.5, 255)).toBe(table.indexOf(table[128] ?? -1));
    expect(index("log", 0.001, 255)).toBe(0);
    expect(index("log", 1, 0)).toBe(0);
  });

  test.each([1, 0.6, 0.31, 0.05])(
    "a weight has the ink of its size in a head whose largest weight is %s",
    (largest) => {
      const ink = levelOf("absolute", 1);
      const look = { table, line: LINE, scale: "absolute", end: 1 } as const;
      for (const weight of [0.0005, 0.001, 0.004, 0.01, 0.03, 0.05]) {
        // Encode the weight as the kernel does.
        const byte = Math.round(255 * Math.sqrt(weight / largest));
        const pixels = new Uint32Array(1);
        drawHead(pixels, 1, 0, [1, 1], picture([byte], 1, [largest]), [0, 0], look);
        const drawn = table.indexOf(pixels[0] ?? 0);
        expect(Math.abs(drawn - ink(weight))).toBeLessThanOrEqual(1);
      }
    },
  );

  test("equal weights have equal ink in two heads, unless each head has its own scale", () => {
    const two = picture([255, 128, 255, 255], 2, [0.25]);
    const pair = { ...two, cols: 2, height: 1, maxima: Float32Array.of(0.8, 0.2) };
    const drawn = (head: number, byte: number, end: number | null) => {
      const pixels = new Uint32Array(1);
      const values = Uint8Array.from([0, 0, 0, 0]).fill(byte);
      const look = { table, line: LINE, scale: "absolute", end } as const;
      drawHead(pixels, 1, 0, [1, 1], { ...pair, values }, [0, head], look);
      return table.indexOf(pixels[0] ?? 0);
    };
    // 0.8 * (128 / 255)² and 0.2 * (255 / 255)² are both about 0.2.
    expect(Math.abs(drawn(0, 128, 1) - drawn(1, 255, 1))).toBeLessThanOrEqual(1);
    expect(drawn(1, 255, null)).toBe(255);
    expect(drawn(0, 128, null)).toBeLessThan(255);
  });

  test("the end of a grid's scale is 1 for weights, and one value for all heads of the rest", () => {
    const maps = picture([255], 1, [0.3]);
    expect(gridEnd("absolute", maps)).toBe(1);
    expect(gridEnd("sqrt", maps)).toBe(null);
    for (const other of [{ quantity: "norms" }, { signed: true }, { times_keys: true }])
      expect(gridEnd("absolute", { ...maps, ...other })).toBeCloseTo(0.3);
    expect(gridEnd("sqrt", { ...maps, signed: true })).toBeCloseTo(0.3);
  });

  test("the composed grid has maps edge to edge in their hairlines", () => {
    const layout = gridLayout(1, 1, 2, false, 1);
    const two = picture([255, 255], 1, [1, 0.25]);
    const order = orderHeads(1, 2, undefined, WISH);
    const { across, words } = compose(layout, two, order, {
      table,
      line: LINE,
      scale: "linear",
      end: 1,
    });
    const row = words.subarray(across, 2 * across);
    expect([row[0], row[1], row[22], row[23], row[24], row[25]]).toEqual([
      LINE,
      table[255],
      table[255],
      LINE,
      LINE,
      table[64],
    ]);
    expect(new Set(words.subarray(0, 24))).toEqual(new Set([LINE]));
    expect([22, 23].map((y) => words[y * across + 1])).toEqual([table[255], LINE]);
  });

  test("a place without a head has no hairline", () => {
    const order = { ...orderHeads(1, 2, undefined, WISH), heads: [0, -1] };
    const look = { table, line: LINE, scale: "linear", end: 1 } as const;
    const { across, words } = compose(
      gridLayout(1, 1, 2, false, 1),
      picture([255, 255], 1, [1, 1]),
      order,
      look,
    );
    expect(words.subarray(across + 24, 2 * across)).not.toContain(LINE);
  });
});

describe("preview", () => {
  const bounds = { left: 0, top: 0, right: 1000, bottom: 800 };
  const place = (grid: [number, number, number, number], x: number, y: number) => {
    const [left, top, right, bottom] = grid;
    const cell = { left: x, top: y, right: x + 40, bottom: y + 40 };
    return placeOutside({ left, top, right, bottom }, cell, 200, 230, bounds);
  };

  test("stands beside the grid, level with the cell, and stays in sight", () => {
    expect(place([20, 100, 780, 700], 300, 200)).toEqual([784, 200]);
    expect(place([20, 100, 780, 700], 300, 660)).toEqual([784, 570]);
  });

  test("stands under the grid where there is no room beside it, else over it, else at its left", () => {
    expect(place([20, 100, 980, 500], 300, 200)).toEqual([300, 504]);
    expect(place([20, 300, 980, 790], 900, 400)).toEqual([800, 66]);
    expect(place([300, 100, 980, 790], 500, 400)).toEqual([96, 400]);
  });

  test("a grid that leaves no room has it at the side where the pointer is not", () => {
    expect(place([0, 0, 1000, 800], 300, 200)).toEqual([800, 200]);
    expect(place([0, 0, 1000, 800], 700, 200)).toEqual([0, 200]);
  });
});

test("layers lie across in files as on pages, and down where cells would be too small", () => {
  const model = { ...stack, n_layers: 30, n_heads: 9, n_key_heads: 9 };
  const shown = gridState({ _stacks: [model] });
  const request = { theme: THEMES.light, density: 1, blank: true, dense: false };
  const columnsAt = (width: number) => {
    const { look } = new Sheet({ ...request, width, brief: false, caption: false });
    return sceneOf(shown, null, look).layout.cols;
  };
  expect([1070, 750, 640, 455].map(columnsAt)).toEqual([30, 30, 30, 30]);
  expect([380, 219].map(columnsAt)).toEqual([9, 9]);
});

test("a file of many heads fits the column of a paper", () => {
  const model = { ...stack, n_layers: 48, n_heads: 25, n_key_heads: 25 };
  const request = { theme: THEMES.light, density: 1, blank: true, dense: false, width: 219 };
  const state = gridState({ _stacks: [model] });
  const { sheet } = drawPicture(state, { ...request, brief: false, caption: false });
  expect(sheet.width).toBe(219);
});

test("a strip that is narrower than its words shows the largest weight of each column", () => {
  const row = Array.from({ length: 118 }, (_, i) => (i === 7 ? 1 : 0.01));
  const shown = [...row.keys()];
  const strip = stripWeights(row, shown, 20);
  expect(strip).toHaveLength(20);
  expect(strip.map((weight) => weight > 0.5).lastIndexOf(true)).toBe(1);
  expect(stripWeights([0.25, Number.NaN, 0.75], [0, 1, 2], 20)).toEqual([0.25, 0, 0.75]);
});

describe("a word in a cell", () => {
  // Letters are half as wide as their font size.
  const lines = (text: string, room: number, most: number) =>
    wordLines((part, size) => (part.length * size) / 2, text, room, most);

  test("stands in one line, in smaller type, and then in lines of about the same length", () => {
    expect(lines("ship", 36, 3)).toEqual({ lines: ["ship"], size: 11 });
    expect(lines("captain", 36, 3)).toEqual({ lines: ["captain"], size: 10 });
    expect(lines("mathematic", 36, 3)).toEqual({ lines: ["mathe", "matic"], size: 11 });
    expect(lines("mathematician", 36, 3)).toEqual({ lines: ["mathema", "tician"], size: 10 });
  });

  test("is cut only if no lines hold it, and keeps accents on their letters", () => {
    expect(lines("mathematician", 26, 1)).toEqual({ lines: ["mathe"], size: 10 });
    const accents = "e\u0301e\u0301e\u0301e\u0301";
    expect(lines(accents, 20, 3).lines).toEqual(["e\u0301e\u0301", "e\u0301e\u0301"]);
    expect(lines("x", 1, 2).lines.join("")).toBe("x");
  });
});

test("small cells: no number runs into the selected head's, and the mark leaves the map in sight", () => {
  const model = { ...stack, n_layers: 40, n_heads: 40, n_key_heads: 40 };
  const shown = gridState({ selected: [[29, 9, "self"]], _stacks: [model] });
  const request = { width: 460, theme: THEMES.light, density: 1, blank: true, dense: false };
  const { look } = new Sheet({ ...request, brief: false, caption: false });
  const scene = sceneOf(shown, null, look, { highest: 340, least: 8 });
  expect(scene.layout.cell).toBeLessThan(10);
  const pen = new SvgPen([]);
  paintGrid(pen, scene, undefined);
  const texts = [...pen.body.matchAll(/>([^<]+)<\/text>/g)].map(([, text]) => text);
  const columns = ["0", "5", "9", "15", "20", "25", "30", "35"];
  const rows = ["layer 0", "5", "10", "15", "20", "25", "29", "35"];
  expect(texts.sort()).toEqual([...columns, "head", ...rows].sort());
  const accents = [...pen.body.matchAll(/<path d="M([\d.]+) [\d.]+L([\d.]+)[^>]*#1565c0/g)];
  const sides = accents.map(([, from, to]) => Number(to) - Number(from));
  expect(sides).toEqual([3]);
});
