// @vitest-environment node
import { expect, test } from "vitest";
import { paintMatrixLabels } from "../src/head_view/matrix/matrix_labels.js";
import { labelStep, matrixLayout } from "../src/head_view/matrix/matrix_layout.js";
import type { Scene } from "../src/head_view/scene.js";
import { plain } from "../src/shared/bidi.js";
import type { Pen } from "../src/shared/pen.js";
import { THEMES } from "../src/shared/theme.js";

/** Return the row labels of a square matrix in drawing order. */
function labels(text: string[], locked: number[] = []) {
  const n = text.length;
  const axis = { text, raw: text, special: text.map(() => ""), segments: text.map(() => 0) };
  const indices = [...text.keys()];
  const at = matrixLayout({ room: 480, rows: n, cols: n, rowLabel: 60, colLabel: 60, dpr: 1 });
  const scene = {
    axes: { stack: "self", unit: "tokens", query: axis, key: axis },
    map: { rows: indices, cols: indices },
    theme: THEMES.light,
    font: "Arial",
    size: 12,
    locked: { query: new Set(locked), key: new Set() },
    active: {},
    highlighted: { query: new Set(), key: new Set() },
    labeled: { query: true, key: false },
    state: {},
  } as unknown as Scene;
  const written: [string, number][] = [];
  const pen = {
    measureText: (part: string) => ({ width: 6 * [...plain(part)].length }),
    fillText: (part: string, _: number, y: number) => part && written.push([plain(part), y]),
    strokeRect: () => undefined,
    fillRect: () => undefined,
  };
  paintMatrixLabels(pen as unknown as Pen, at, scene);
  const order = [...written].sort((a, b) => a[1] - b[1]);
  return { at, texts: order.map(([part]) => part), places: order.map(([, y]) => y) };
}

test("of a character in several tokens, the first is labeled where not all labels fit", () => {
  const bytes = ["the", ...["東", "京", "大", "学"].flatMap((of) => [`${of} 1/3`, "…2/3", "…3/3"])];
  const text = Array.from({ length: 6 }, () => bytes).flat();
  const { at, texts, places } = labels(text);
  const step = labelStep(at.cellHeight, 11);
  expect(step).toBeGreaterThan(1);
  const isPart = (part: string) => part.startsWith("…");
  expect(texts.filter(isPart)).toEqual([]);
  expect(texts.length).toBeGreaterThan(text.length / (2 * step));
  expect(labels(bytes).texts).toEqual(bytes);
  const gaps = places.slice(1).map((y, i) => y - (places[i] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(step * at.cellHeight - 0.01);
});

test("other labels stand at even distances, and a locked token always has its own", () => {
  const text = Array.from({ length: 80 }, (_, i) => `t${i}`);
  const { at, texts } = labels(text);
  const step = labelStep(at.cellHeight, 11);
  expect(texts).toEqual(text.filter((_, i) => i % step === 0));
  expect(labels(text, [7]).texts).toContain("t7");
});
