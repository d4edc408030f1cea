import { render } from "lit-html";
import { expect, test } from "vitest";
import { gridHeight, leftWidth, planFor } from "../src/explorer/arrangement.js";
import { gridTitle } from "../src/explorer/grid_title.js";
import type { GridState } from "../src/head_grid/state.js";
import { state, thumbnails } from "./grid_state.js";

function said(grid: GridState): string {
  const el = document.createElement("div");
  render(
    gridTitle(undefined, grid, () => {}),
    el,
  );
  return (el.textContent ?? "").replace(/\s+/g, " ").trim();
}

test.each([
  [{}, "All 24 heads dark = much attention; rows look, columns are looked at"],
  [{ quantity: "norms" as const }, "dark = large norms; rows look"],
  [{ scale: "sqrt" as const }, "dark = much attention, each head on its own scale"],
  [{ versus: "other" as const }, "All 24 heads blue = more in A, orange = more in B"],
  [{ versus: "intact" as const }, "blue = more than in the intact model, orange = less"],
])("the title of all heads says what the colours of %o are", (change, words) => {
  const maps = { ...thumbnails("self", 4, 6), signed: "versus" in change };
  expect(said(state({ ...change, _thumbnails: maps }))).toContain(words);
});

test.each([6, 12, 24, 32])("%i columns of one width are made for one height", (columns) => {
  const heights = new Map<string, number>();
  for (let width = 320; width <= 2000; width += 7) {
    const key = `${planFor(width)} ${leftWidth(width, columns)}`;
    const height = gridHeight(width, columns);
    expect(heights.get(key) ?? height).toBe(height);
    heights.set(key, height);
  }
});
