// @vitest-environment node
import { expect, test } from "vitest";
import { arrange, heatFits, heatLayout } from "../src/relation_table/layout.js";
import { drawPicture } from "../src/relation_table/picture.js";
import {
  captionOf,
  decodeRelations,
  readout,
  sceneOf,
  tableOf,
} from "../src/relation_table/scene.js";
import type { TableState } from "../src/relation_table/state.js";
import { captionText } from "../src/shared/caption.js";
import { canvasSize } from "../src/shared/cells.js";
import { tableRuler } from "../src/shared/labels.js";
import { numbers, withOtherTexts } from "./relation_numbers.js";
import { request, tableState } from "./relation_state.js";
import { wireOf } from "./wire_of.js";

const scene = (change: Partial<TableState> = {}, brief = false) => {
  const state = tableState(change);
  return sceneOf(state, state._numbers ? decodeRelations(state._numbers) : undefined, brief);
};
const at = (room: number, gutter = 0, change: Partial<TableState> = {}) =>
  arrange(scene(change), { width: room, font: "Arial", ruler: tableRuler, density: 1 }, gutter);
/** Return `count` relations of ten words each, on which no head is right. */
const many = (count: number): Partial<TableState> => {
  const zeros = (length: number) => new Int32Array(length);
  const relations = ["all", ...Array.from({ length: count - 1 }, (_, i) => `rel${i + 1}`)];
  return {
    _numbers: {
      stack: "self",
      relations,
      counts: wireOf(zeros(count).fill(10), [count]),
      baseline: wireOf(zeros(count), [count]),
      offsets: wireOf(zeros(count).fill(1), [count]),
      best: wireOf(zeros(3 * count), [count, 3]),
      correct: wireOf(zeros(2 * count), [1, 1, 2, count]),
      p_values: wireOf(new Float32Array(2 * count).fill(1), [1, 1, 2, count]),
    },
  };
};

test("columns follow one another and fit; bars go first, then intervals", () => {
  for (const room of [272, 304, 360, 400, 447, 448, 559, 560, 640, 959, 960, 1200, 2000]) {
    const { table, aside } = at(room);
    expect(table.width).toBeLessThanOrEqual(room);
    let end = 0;
    for (const name of table.shown) {
      const { left, right, whole } = table.columns[name];
      expect(left).toBeGreaterThanOrEqual(end);
      expect(right).toBeGreaterThan(left);
      end += whole;
      expect(right).toBeLessThanOrEqual(end);
    }
    expect(end).toBe(table.width);
    expect([table.interval > 0, table.bar > 0]).toEqual([room >= 416, room >= 448]);
    expect(table.shown.length).toBe(room >= 300 ? 7 : 6);
    expect(aside > 0).toBe(room >= 960);
    if (aside) expect(table.width + 24 + aside).toBe(room);
    expect(Object.values(table.columns).flatMap(Object.values).every(Number.isInteger)).toBe(true);
  }
  expect(at(2000).table.bar).toBe(200);
  expect([at(400).table.size, at(300).table.size]).toEqual([12, 11]);
  expect(at(464, 15).table.width).toBeLessThanOrEqual(449);
});

test("a name that does not fit is cut short, the table is not, and the map moves below", () => {
  const table = numbers();
  table.relations[1] = "x".repeat(60);
  const narrow = at(320, 0, { _numbers: table }).table;
  expect([narrow.width, narrow.names[0], narrow.shown.includes("baseline")]).toEqual([
    320,
    "all",
    false,
  ]);
  expect(narrow.names[1]).toMatch(/^x+…$/);
  expect(narrow.lines.join(" ")).toContain("offset %: accuracy less gain");
  expect(at(1000, 0, { _numbers: table })).toMatchObject({ aside: 0 });
  expect(at(1000, 0, { _numbers: table }).table.interval).toBeGreaterThan(0);
});

test("cells of the map are as large as there is room, at least 8 pixels", () => {
  expect(heatLayout(384, 12, 12, 1)).toMatchObject({ cell: 27, gap: 2, rows: 12, cols: 12 });
  expect(heatLayout(2000, 12, 12, 1).cell).toBe(30);
  expect(heatLayout(100, 32, 32, 2).cell).toBe(8);
  expect(heatFits(384, 12)).toBe(true);
  expect(heatFits(384, 64)).toBe(false);
  expect(canvasSize(heatLayout(384, 12, 12, 1))[0]).toBeLessThanOrEqual(384);
});

test("what is said names rows, wishes and order", () => {
  expect(scene().said).toBe("3 of 3 rows · by n, largest first");
  const wishes = { min_count: 2000, descending: false };
  expect(scene({ ...wishes, sort: "head" }).said).toBe(
    "0 of 3 rows · at least 2,000 words · by best head, first layer first",
  );
});

test("a picture has the first twenty relations and the chosen one, and as many as asked for", () => {
  expect(scene(many(26)).rows).toHaveLength(26);
  const kept = scene({ ...many(26), relation: "rel25" }, true);
  expect(kept.rows).toHaveLength(21);
  expect(kept.rows.at(-1)?.relation).toBe("rel25");
  expect(kept.said).toContain("21 of 26 rows · the first 20 and the chosen one");
  expect(scene(many(26), true).said).toContain("20 of 26 rows · the first 20 · by");
  expect(scene(many(20), true).said).toContain("19 of 20 rows · by");
  expect(scene({ ...many(26), picture_rows: 30 }, true).rows).toHaveLength(25);
  expect(scene({ ...many(26), picture_rows: 3 }, true).said).toContain(
    "3 of 26 rows · the first 3",
  );
  expect(tableOf(scene(many(26))).rows).toHaveLength(20);
});

test("the caption names the stack, the heads, the scale and how to read bars", () => {
  const _numbers = { ...numbers(), stack: "encoder" };
  const caption = captionOf(
    scene({ _numbers, selected: [[1, 0, "encoder"]], relation: "det" }),
    true,
  );
  expect(caption.figure).toBe("Best head of each relation, encoder attention");
  expect(caption.head).toBe("encoder L1 H0 (2-1)");
  expect(caption.scale).toBe("map: linear color scale, 0 to 10.0\u00a0%");
  expect(captionText(caption)).toContain("bar: accuracy, with its interval");
  expect(captionText(captionOf(scene(), false))).not.toContain("bar:");
  const cell = scene({ _numbers, selected: [[1, 0, "self"]], relation: "det" });
  expect([readout(cell), readout(cell, [0, 1])]).toEqual([
    "",
    expect.stringContaining("encoder L0 H1: 10\u00a0% of 20 words"),
  ]);
});

test("a picture draws every row's texts; names stay text, dots and frames stand on their heads", () => {
  const direction = "governor to dependent";
  const state = tableState({ relation: "det", direction, selected: [[1, 0, "self"]] });
  const { sheet, table } = drawPicture(state, request(null));
  const texts = [...sheet.pen.body.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text);
  expect(texts).toContain("&lt;b&gt;obj&lt;/b&gt;");
  for (const text of ["L1 H0", "dependent", "90", "70–97", "+1", "*", "every head on det"])
    expect(texts).toContain(text);
  expect(sheet.pen.body.match(/A[\d.]+ [\d.]+ 0 1 1/g)).toHaveLength(2);
  expect(table.rows[0]).toEqual(["det", 20, "L1 H0", direction, "90", "70–97", "+1", "50", "40*"]);
});

test("without numbers, and without rows, a picture says so", () => {
  for (const change of [{ _numbers: null }, { min_count: 9999 }]) {
    const { sheet, table } = drawPicture(tableState(change), request(480));
    expect(sheet.pen.body).toContain("No relation is left");
    expect(table.rows).toEqual([]);
    expect(sheet.width).toBe(480);
  }
});

test("a picture has a relation once, with its subtypes, and the map of a chosen relation only", () => {
  const relations = many(4);
  if (relations._numbers) relations._numbers.relations = ["all", "nsubj", "nsubj (all)", "obj"];
  const drawn = (change: Partial<TableState> = {}) => scene({ ...relations, ...change }, true);
  expect(drawn().rows.map(({ relation }) => relation)).toEqual(["nsubj (all)", "obj"]);
  expect(drawn().heat).toBeUndefined();
  const chosen = drawn({ relation: "nsubj" });
  expect(chosen.rows.map(({ relation }) => relation)).toEqual(["nsubj", "nsubj (all)", "obj"]);
  expect(chosen.heat).toBeDefined();
});

test("the largest gains come first, and before all others the significant ones", () => {
  const by = (descending: boolean) =>
    scene({ sort: "gain", descending }).rows.map(({ relation }) => relation);
  const p = numbers();
  const gains = scene({ sort: "gain" }).rows.map(({ gain, p: value }) => [value <= 0.05, gain]);
  const sure = gains.filter(([isSure]) => isSure).length;
  expect(gains.slice(0, sure).every(([isSure]) => isSure)).toBe(true);
  expect(by(true)).toHaveLength(p.relations.length);
  expect(scene({ sort: "gain" }).said).toContain("by the gain, largest first, significant gains");
});

test("accuracies on other texts have a column at every width, and a note", () => {
  const change = { _numbers: withOtherTexts() };
  for (const room of [272, 304, 360, 400, 448, 560, 640, 960]) {
    const { table } = at(room, 0, change);
    expect(table.shown).toContain("other_texts");
    expect(table.width).toBeLessThanOrEqual(room);
    expect(table.headings.other_texts).toBe(room >= 640 ? "on EWT %" : "EWT");
  }
  const found = scene(change);
  const { columns, rows } = tableOf(found);
  const index = columns.indexOf("on EWT %");
  const texts = rows.map((row) => [row[0], row[index]]);
  expect(texts).toEqual([
    ["all", "30.0"],
    ["det", "75"],
    ["<b>obj</b>", "–"],
  ]);
  const said = captionText(captionOf(found, true));
  expect(said).toContain("heads are chosen and scored on the same words");
  expect(said).toContain("EWT: accuracy of the same head on UD English EWT, 2,001 sentences");
  const other = scene();
  expect(other.columns).not.toContain("other_texts");
  expect(tableOf(other).columns).not.toContain("on EWT %");
  expect(captionText(captionOf(other, true))).not.toContain("EWT");
  expect(scene({ ...change, sort: "other_texts" }).rows.map(({ relation }) => relation)).toEqual([
    "det",
    "all",
    "<b>obj</b>",
  ]);
});
